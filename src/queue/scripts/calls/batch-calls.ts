import type { BatchMember, BatchMemberStatus, MemberEnd, BatchPage, BatchRecord } from '../../model/batch.js';
import { oneOfEach } from '../../replies/check-reply.js';
import { DEPEND_OUTCOMES, type DependOutcome } from '../../store/verbs/batch-verbs.js';
import { parseJson } from '../../codec/parse-json.js';
import { fieldsOf, listOf, listsOf, oneOf, rowsOf, textOf, wholeNumberOf } from '../../replies/check-reply.js';
import { UnexpectedReply } from '../../store/unexpected-reply.js';
import { refTo, splitRef } from '../../store/job-ref.js';
import type { BatchAdder, EncodedBatch, OpenMember } from '../../store/verbs/batch-verbs.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import { encodeJobOptions } from '../encode-job-options.js';
import { type CallContext, call } from '../script-call.js';

/** The fields of a batch in the replies of `lua/batch/status.lua` and `list.lua`. */
const BATCH_FIELDS = 11;

const NOBODY: BatchAdder = { member: '', token: '' };

/** The most bytes of results of one call, besides its first result. */
const MOST_BYTES = 1_048_576;

/** Returns the calls of `lua/batch`, one for each script; see the headers there. */
export function batchCalls({ keys, retention }: CallContext) {
  return {
    create({ id, failFast, resultTtlMs, followUps }: EncodedBatch): ScriptCall<'created' | 'exists'> {
      const each = followUps.flatMap(({ kind, name, payload, options }) => [
        kind,
        name,
        payload,
        encodeJobOptions(options),
      ]);
      const args = [id, failFast ? '1' : '0', resultTtlMs, ...each];
      return call('batchCreate', keys.standard, args, oneOf('created', 'exists'));
    },

    join(id: string, members: readonly string[], { member, token }: BatchAdder = NOBODY) {
      const args = [id, member, token, ...members];
      return call('batchJoin', keys.standard, args, oneOf('joined', 'stopped', 'sealed', 'no-batch', 'lost'));
    },

    known(id: string, members: readonly string[]): ScriptCall<('known' | 'new')[]> {
      return call('batchKnown', keys.standard, [id, ...members], oneOfEach(members.length, 'known', 'new'));
    },

    seal(id: string): ScriptCall<'sealed' | 'missing'> {
      return call('batchSeal', keys.standard, [id], oneOf('sealed', 'missing'));
    },

    stop(id: string): ScriptCall<'stopped' | 'fired' | 'missing'> {
      return call('batchStop', keys.standard, [id], oneOf('stopped', 'fired', 'missing'));
    },

    status(id: string): ScriptCall<BatchRecord | null> {
      return call('batchStatus', keys.standard, [id], (reply) =>
        reply === null ? null : decodeBatch(keys.queue, id, fieldsOf(reply, BATCH_FIELDS)),
      );
    },

    list(limit: number): ScriptCall<BatchRecord[]> {
      return call('batchList', keys.standard, [limit], (reply) =>
        listsOf(reply, 1 + BATCH_FIELDS).map(([id, ...fields]) => decodeBatch(keys.queue, textOf(id), fields)),
      );
    },

    openMembers(batches: number, members: number): ScriptCall<OpenMember[]> {
      return call('batchOpenMembers', keys.standard, [batches, members], (reply) =>
        rowsOf(reply, 3).map(([batch, member, late]) => ({
          batch: batch!,
          ...splitRef(keys.queue, member!),
          isUnchecked: late === '1',
        })),
      );
    },

    results(id: string, offset: number, limit: number): ScriptCall<BatchPage | null> {
      return call('batchResults', keys.standard, [id, offset, limit, MOST_BYTES], (reply) => {
        if (reply === null) {
          return null;
        }
        const [beyond, ...pairs] = listOf(reply);
        const members = rowsOf(pairs, 2).map(([member, outcome]) => decodeMember(keys.queue, member!, outcome!));
        return wholeNumberOf(beyond) > 0 ? { members, next: offset + members.length } : { members };
      });
    },

    outbox(limit: number): ScriptCall<MemberEnd[]> {
      return call('batchOutbox', keys.standard, [limit, MOST_BYTES], (reply) =>
        rowsOf(reply, 2).map(([place, text]) => decodeEnd(place!, text!)),
      );
    },

    deliver(from: string, ends: readonly MemberEnd[]): ScriptCall<number> {
      const args = ends.flatMap(({ batch, id, number, state, detail }) => [
        batch,
        refTo(from, id),
        number,
        state,
        detail,
      ]);
      return call('batchDeliver', keys.standard, args, wholeNumberOf);
    },

    acknowledge(ends: readonly MemberEnd[]): ScriptCall<number> {
      const args = ends.flatMap(({ queue, batch, id, number }) => [refTo(queue, refTo(batch, id)), number]);
      return call('batchAcknowledge', keys.standard, args, wholeNumberOf);
    },

    ends(home: string, members: readonly { batch: string; id: string }[]): ScriptCall<MemberEnd[]> {
      const args = [home, MOST_BYTES, ...members.flatMap(({ batch, id }) => [batch, id])];
      return call('batchEnds', keys.standard, args, (reply) =>
        rowsOf(reply, 5).map(([batch, id, number, state, detail]) => ({
          queue: home,
          batch: batch!,
          id: id!,
          number: number!,
          state: state!,
          detail: detail!,
        })),
      );
    },

    depend(home: string, pairs: readonly { id: string; waiting: string }[]): ScriptCall<DependOutcome[]> {
      const args = [home, ...pairs.flatMap(({ id, waiting }) => [id, waiting])];
      return call('batchDepend', keys.standard, args, oneOfEach(pairs.length, ...DEPEND_OUTCOMES));
    },

    cancel(ids: readonly string[]): ScriptCall<void> {
      return call('batchCancel', keys.standard, [...retention, ...ids], () => undefined);
    },
  };
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

function decodeEnd(place: string, text: string): MemberEnd {
  const [queue, batch, id] = place.split('\t');
  const [number, state, ...detail] = text.split('\n');
  if (
    queue === undefined ||
    batch === undefined ||
    id === undefined ||
    number === undefined ||
    state === undefined
  ) {
    throw new UnexpectedReply('the end of a member', [place, text]);
  }
  return { queue, batch, id, number, state, detail: detail.join('\n') };
}

function decodeBatch(queue: string, id: string, reply: readonly (string | number | null)[]): BatchRecord {
  const [open, created, sealed, stopped, fired, ended, ...counts] = reply;
  const [total, completed, failed, cancelled, removed] = Array.from({ length: 5 }, (_, i) =>
    Number(counts[i] ?? 0),
  );
  return {
    id,
    queue,
    state: ended ? 'ended' : fired ? 'fired' : sealed ? 'sealed' : 'open',
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
