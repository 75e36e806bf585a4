import {
  FOLLOW_UP_KINDS,
  type BatchMember,
  type BatchMemberStatus,
  type BatchRecord,
  type MemberEnd,
} from '../../model/batch.js';
import {
  DEPEND_OUTCOMES,
  KNOWN_OUTCOMES,
  type BatchAdder,
  type BatchVerbs,
} from '../../store/verbs/batch-verbs.js';
import type { AskedOptions } from '../../store/asked-options.js';
import { aged, type EncodedJob } from '../../store/enqueue-call.js';
import { parseJson } from '../../codec/parse-json.js';
import { asStored, type Replied } from '../../codec/sealed.js';
import {
  fieldsOf,
  flagOf,
  behindLines,
  listOf,
  listsOf,
  oneOf,
  oneOfEach,
  rowsOf,
  textOf,
  wholeNumberOf,
  wholeNumbersOf,
} from '../../replies/check-reply.js';
import { UnexpectedReply } from '../../store/unexpected-reply.js';
import { followUpOf, refTo, splitRef } from '../../store/job-ref.js';
import { encodeJobOptions } from '../encode-job-options.js';
import { type CallContext, call } from '../script-call.js';

/** The fields of a batch in the replies of `lua/batch/status.lua` and `list.lua`. */
const BATCH_FIELDS = 11 + 2 * FOLLOW_UP_KINDS.length;

const NOBODY: BatchAdder = { member: '', token: '' };

/** The most bytes of results of one call, besides its first result. */
const MOST_BYTES = 1_048_576;

/** Returns the calls of `lua/batch`, one for each script; see BatchVerbs and the headers there. */
export function batchCalls({ keys, retention }: CallContext) {
  return {
    create({ id, hasOwnId, failFast, resultTtlMs, recordTtlMs, followUps }) {
      const each = followUps.flatMap(({ kind, name, payload, options, elsewhere }) => [
        kind,
        name,
        payload,
        elsewhere ? JSON.stringify(options) : encodeJobOptions(options),
        elsewhere ? refTo(elsewhere.queue, elsewhere.id) : '',
      ]);
      const args = [id, failFast ? '1' : '0', resultTtlMs, recordTtlMs, hasOwnId ? '1' : '0', ...each];
      return call('batchCreate', keys.standard, args, oneOf('created', 'exists'));
    },

    join: (id, members, { member, token } = NOBODY) =>
      call(
        'batchJoin',
        keys.standard,
        [id, member, token, ...members],
        oneOf('joined', 'stopped', 'sealed', 'no-batch', 'lost'),
      ),

    known: (id, members, { member, token } = NOBODY) =>
      call(
        'batchKnown',
        keys.standard,
        [id, member, token, ...members],
        oneOfEach(members.length, ...KNOWN_OUTCOMES),
      ),

    readers: (ids) =>
      call('batchReaders', keys.standard, ids, (reply) =>
        wholeNumbersOf(reply, ids.length).map((each) => each === 1),
      ),

    seal: (id) => call('batchSeal', keys.standard, [id], oneOf('sealed', 'posted', 'missing')),

    stop: (id) => call('batchStop', keys.standard, [id], oneOf('stopped', 'fired', 'missing')),

    status: (id) =>
      call('batchStatus', keys.standard, [id], (reply) =>
        reply === null ? null : decodeBatch(keys.queue, id, fieldsOf(reply, BATCH_FIELDS)),
      ),

    list: (offset, limit, ended = false) =>
      call('batchList', keys.standard, [offset, limit, ended ? '1' : '0'], (reply) =>
        listsOf(reply, 1 + BATCH_FIELDS).map(([id, ...fields]) => decodeBatch(keys.queue, textOf(id), fields)),
      ),

    openMembers: (batches, members) =>
      call('batchOpenMembers', keys.standard, [batches, members], (reply) =>
        rowsOf(reply, 3).map(([batch, member, late]) => ({
          batch: batch!,
          ...splitRef(keys.queue, member!),
          isUnchecked: late === '1',
        })),
      ),

    results: (id, offset, limit) =>
      call('batchResults', keys.standard, [id, offset, limit, MOST_BYTES], (reply) => {
        if (reply === null) {
          return null;
        }
        const [beyond, ...pairs] = listOf(reply);
        const members = rowsOf(pairs, 2).map(([member, outcome]) => decodeMember(keys.queue, member!, outcome!));
        return wholeNumberOf(beyond) > 0 ? { members, next: offset + members.length } : { members };
      }),

    outbox: (limit, except = []) =>
      call('batchOutbox', keys.standard, [limit, MOST_BYTES, ...except], (reply) =>
        rowsOf(reply, 2).map(([place, text]) => decodeEnd(place!, text!)),
      ),

    deliver(from, ends) {
      const args = ends.flatMap(({ batch, id, number, state, detail }) => [
        batch,
        refTo(from, id),
        number,
        state,
        detail,
      ]);
      return call('batchDeliver', keys.standard, args, (reply) => {
        const [changed, hasEnds] = listOf(reply);
        return { changed: wholeNumberOf(changed), hasEnds: flagOf(hasEnds) };
      });
    },

    acknowledge: (ends, fence?) =>
      call('batchAcknowledge', keys.standard, [fence ?? '', ...placesOf(ends)], wholeNumberOf),

    followUps(entries, leastFence = 0) {
      const args = [leastFence, MOST_BYTES, ...placesOf(entries)];
      return call('batchFollowUps', keys.standard, args, (reply) => {
        const [fence, ...rows] = listOf(reply);
        const pending = rowsOf(rows, 5).map(([position, ...fields]) => {
          const entry = entries[Number(position) - 1]!;
          return { entry, job: decodeFollowUp(entry.id, fields) };
        });
        return { fence: wholeNumberOf(fence), pending };
      });
    },

    ends(home, members) {
      const args = [home, MOST_BYTES, ...members.flatMap(({ batch, id }) => [batch, id])];
      return call('batchEnds', keys.standard, args, (reply) =>
        rowsOf(reply, 5).map(([batch, id, number, state, detail]) => ({
          queue: home,
          batch: batch!,
          id: id!,
          number: number!,
          state: state!,
          detail: asStored(detail!),
        })),
      );
    },

    depend(home, pairs) {
      const args = [home, ...pairs.flatMap(({ id, waiting }) => [id, waiting])];
      return call('batchDepend', keys.standard, args, oneOfEach(pairs.length, ...DEPEND_OUTCOMES));
    },

    cancel: (ids) => call('batchCancel', keys.standard, [...retention, ...ids], () => undefined),
  } satisfies BatchVerbs;
}

/** Returns the field and the number of each entry of an outbox. */
function placesOf(entries: readonly MemberEnd[]): string[] {
  return entries.flatMap(({ queue, batch, id, number }) => [refTo(queue, refTo(batch, id)), number]);
}

/** Returns a follow-up as its queue gets it. Its delay counts from the end of the last member. */
function decodeFollowUp(id: string, [age, name, payload, options]: readonly Replied[]): EncodedJob | undefined {
  if (age === '') {
    return undefined;
  }
  return aged(
    { id, name: name!, payload: asStored(payload!), options: JSON.parse(options!) as AskedOptions },
    Number(age),
  );
}

function decodeMember(queue: string, member: string, outcome: string): BatchMember {
  const feed = outcome.indexOf('\n');
  const status = (feed < 0 ? 'open' : outcome.slice(0, feed)) as BatchMemberStatus;
  const detail = feed < 0 ? '' : outcome.slice(feed + 1);
  return {
    ...splitRef(queue, member),
    status,
    ...(status === 'completed' && detail !== '' && { result: parseJson(detail).value }),
    ...(status === 'failed' && { error: detail }),
  };
}

function decodeEnd(place: string, text: Replied): MemberEnd {
  const [queue, batch, id] = place.split('\t');
  const [number, state] = text.split('\n');
  if (
    queue === undefined ||
    batch === undefined ||
    id === undefined ||
    number === undefined ||
    state === undefined
  ) {
    throw new UnexpectedReply('the end of a member', [place, text]);
  }
  return { queue, batch, id, number, state, detail: asStored(behindLines(text, 2)) };
}

function decodeBatch(queue: string, id: string, reply: readonly (string | number | null)[]): BatchRecord {
  const [open, created, sealed, stopped, fired, ended, ...counts] = reply;
  const [total, completed, failed, cancelled, removed] = Array.from({ length: 5 }, (_, i) =>
    Number(counts[i] ?? 0),
  );
  const followUps = FOLLOW_UP_KINDS.flatMap((kind, i) => {
    const [place, waits] = counts.slice(5 + 2 * i);
    if (place === null || place === undefined) {
      return [];
    }
    return [followUpOf({ queue, id }, kind, { elsewhere: String(place), isOnItsWay: waits === 1 })];
  });
  return {
    id,
    queue,
    state: ended ? 'ended' : fired ? 'fired' : sealed ? 'sealed' : 'open',
    followUps,
    stopped: Boolean(stopped),
    total: total!,
    open: Number(open),
    completed: completed!,
    failed: failed!,
    cancelled: cancelled!,
    removed: removed!,
    createdAt: new Date(Number(created)),
    ...(sealed && { sealedAt: new Date(Number(sealed)) }),
    ...(fired && { firedAt: new Date(Number(fired)) }),
    ...(ended && { endedAt: new Date(Number(ended)) }),
  };
}
