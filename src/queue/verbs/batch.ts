// The verbs of batches with a follow-up, and of jobs in other queues: the scripts of lua/batch.
import { parseJson } from '../codec/stored-value.js';
import { asStored, type Replied, type Sealed } from '../codec/sealed.js';
import {
  FOLLOW_UP_KINDS,
  type BatchMember,
  type BatchMemberStatus,
  type BatchRecord,
  type FollowUpKind,
  type JobReference,
  type MemberEnd,
} from '../model/batch.js';
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
} from '../replies/check-reply.js';
import { encodeJobOptions } from '../scripts/encode-job-options.js';
import type { AskedOptions } from '../store/asked-options.js';
import { aged, type EncodedJob } from '../store/enqueue-call.js';
import { followUpOf, refTo, splitRef } from '../store/job-ref.js';
import { UnexpectedReply } from '../store/store-call.js';
import { PLAIN_OPTIONS, by, each, fields, flag, number, optional, own, text, verb } from './verb.js';

/** The fields of a batch in the replies of `lua/batch/status.lua` and `list.lua`. */
const BATCH_FIELDS = 11 + 2 * FOLLOW_UP_KINDS.length;

/** The most bytes of results of one call, besides its first result. */
const MOST_BYTES = 1_048_576;

/** A follow-up in its stored form. */
export interface EncodedFollowUp {
  kind: FollowUpKind;
  /** Its queue and its id. Absent for the queue of the batch. */
  elsewhere?: JobReference;
  name: string;
  /** JSON. */
  payload: Sealed;
  options: AskedOptions;
}

/** A batch in its encoded form. */
export interface EncodedBatch {
  id: string;
  /** True if the caller chose the id, which is then known as long as the record. */
  hasOwnId: boolean;
  failFast: boolean;
  resultTtlMs: number;
  recordTtlMs: number;
  followUps: readonly EncodedFollowUp[];
}

/** A member that has not ended. */
export interface OpenMember {
  batch: string;
  /** The queue of the member. */
  queue: string;
  id: string;
  /** True if maintenance has not checked the batch when it should. */
  isUnchecked: boolean;
}

/** A running member that adds others to its batch. */
export interface BatchAdder {
  /** Its id, or for a job of another queue as refTo returns it. */
  member: string;
  /** The token of its claim, if it is a job of the batch's queue. Else ''. */
  token: string;
}

/** The reply of a batch about a job: a member, a possible one, or why it cannot join. */
const KNOWN_OUTCOMES = ['known', 'new', 'sealed', 'no-batch', 'lost'] as const;

export type KnownOutcome = (typeof KNOWN_OUTCOMES)[number];

/** The state of a job that others want to wait for: not ended (`open`), completed, or why they cannot. */
const DEPEND_OUTCOMES = ['open', 'completed', 'unknown', 'failed', 'cancelled', 'crowded'] as const;

export type DependOutcome = (typeof DEPEND_OUTCOMES)[number];

/** The plain texts of the end of a member. */
const PLAIN_END = { queue: true, batch: true, id: true, number: true, state: true } as const;

const retention = own((context) => context.retention);
const mostBytes = own(() => MOST_BYTES);
const places = by(placesOf, PLAIN_END);
/** The batch, who adds to it, and the members. A member of another queue is as refTo returns it. A sealed batch needs an adder. */
const joining = {
  id: text,
  adder: optional(fields({ member: text, token: text }), ['', '']),
  members: each(text),
};

export const BATCHES = {
  create: verb('batchCreate', {
    args: {
      id: text,
      failFast: flag,
      resultTtlMs: number,
      recordTtlMs: number,
      hasOwnId: flag,
      followUps: each(by(followUpArguments, PLAIN_OPTIONS)),
    },
    repeat: 'same',
    reply: oneOf('created', 'exists'),
  }),

  join: verb('batchJoin', {
    args: joining,
    reply: oneOf('joined', 'stopped', 'sealed', 'no-batch', 'lost'),
  }),

  /** Returns which jobs are or were members, and which may join. It writes nothing. */
  known: verb('batchKnown', {
    args: joining,
    reply: (reply, { members }) => oneOfEach(members.length, ...KNOWN_OUTCOMES)(reply),
  }),

  /** Returns which of these jobs may still read the records of the jobs that they came after. */
  readers: verb('batchReaders', {
    args: { ids: each(text) },
    reply: (reply, { ids }) => wholeNumbersOf(reply, ids.length).map((isReader) => isReader === 1),
  }),

  /** Returns `posted` if it has fired, and the outbox has something for another queue. */
  seal: verb('batchSeal', { args: { id: text }, repeat: 'same', reply: oneOf('sealed', 'posted', 'missing') }),

  stop: verb('batchStop', { args: { id: text }, reply: oneOf('stopped', 'fired', 'missing') }),

  status: verb('batchStatus', {
    args: { id: text },
    reply: (reply, { id }, { keys }) =>
      reply === null ? null : decodeBatch(keys.queue, id, fieldsOf(reply, BATCH_FIELDS)),
  }),

  /** Returns unfinished batches. With `ended` it returns the latest ended ones. */
  list: verb('batchList', {
    args: { offset: number, limit: number, ended: optional(flag, '0') },
    reply: (reply, _, { keys }) =>
      listsOf(reply, 1 + BATCH_FIELDS).map(([id, ...rest]) => decodeBatch(keys.queue, textOf(id), rest)),
  }),

  /** Returns the oldest open members of some batches that have not fired. */
  openMembers: verb('batchOpenMembers', {
    args: { batches: number, members: number },
    reply: (reply, _, { keys }): OpenMember[] =>
      rowsOf(reply, 3).map(([batch, member, late]) => ({
        batch: batch!,
        ...splitRef(keys.queue, member!),
        isUnchecked: late === '1',
      })),
  }),

  results: verb('batchResults', {
    args: { id: text, offset: number, limit: number, mostBytes },
    reply(reply, { offset }, { keys }) {
      if (reply === null) {
        return null;
      }
      const [beyond, ...pairs] = listOf(reply);
      const members = rowsOf(pairs, 2).map(([member, outcome]) => decodeMember(keys.queue, member!, outcome!));
      return wholeNumberOf(beyond) > 0 ? { members, next: offset + members.length } : { members };
    },
  }),

  /** Returns some of the ends and follow-ups for other queues. @param given.except queues whose entries are left out */
  outbox: verb('batchOutbox', {
    args: { limit: number, mostBytes, except: optional(each(text), []) },
    reply: (reply) => rowsOf(reply, 2).map(([place, end]) => decodeEnd(place!, end!)),
  }),

  /**
   * Returns how many ends changed something. `hasEnds`: a batch has fired, and its follow-up may wait in the outbox there.
   *
   * @param given.from the queue of the members
   */
  deliver: verb('batchDeliver', {
    args: by(
      ({ from, ends }: { from: string; ends: readonly MemberEnd[] }) =>
        ends.flatMap(({ batch, id, number: place, state, detail }) => [
          batch,
          refTo(from, id),
          place,
          state,
          detail,
        ]),
      { from: true, ...PLAIN_END },
    ),
    reply(reply) {
      const [changed, hasEnds] = listOf(reply);
      return { changed: wholeNumberOf(changed), hasEnds: flagOf(hasEnds) };
    },
  }),

  /**
   * Removes entries from the outbox. Returns how many, or -1 if another sender of follow-ups has drawn a fence.
   *
   * @param given.fence of the sender of follow-ups
   */
  acknowledge: verb('batchAcknowledge', {
    args: { fence: optional(number), ends: places },
    reply: wholeNumberOf,
  }),

  /**
   * Draws the fence of a sender of follow-ups, and returns those of the entries that are still in the outbox. One has no job
   * before its batch has fired, and where the reply would be too long.
   *
   * @param given.leastFence the fence of another sender, which this one exceeds
   */
  followUps: verb('batchFollowUps', {
    args: { leastFence: optional(number, 0), mostBytes, entries: places },
    reply(reply, { entries }) {
      const [fence, ...rows] = listOf(reply);
      const pending = rowsOf(rows, 5).map(([position, ...row]) => {
        const entry = entries[Number(position) - 1]!;
        return { entry, job: decodeFollowUp(entry.id, row) };
      });
      return { fence: wholeNumberOf(fence), pending };
    },
  }),

  /** Returns the ends of members here of batches in the queue `home`: of those that are gone too. */
  ends: verb('batchEnds', {
    args: { home: text, mostBytes, members: each(fields({ batch: text, id: text })) },
    reply: (reply, { home }): MemberEnd[] =>
      rowsOf(reply, 5).map(([batch, id, place, state, detail]) => ({
        queue: home,
        batch: batch!,
        id: id!,
        number: place!,
        state: state!,
        detail: asStored(detail!),
      })),
  }),

  /** Notes that jobs of the queue `home` wait for jobs here. Returns how each of these is. */
  depend: verb('batchDepend', {
    args: { home: text, pairs: each(fields({ id: text, waiting: text })) },
    reply: (reply, { pairs }) => oneOfEach(pairs.length, ...DEPEND_OUTCOMES)(reply),
  }),

  /** Asks for the cancel of members here of a batch in another queue. */
  cancel: verb('batchCancel', { args: { retention, ids: each(text) }, reply: () => undefined }),
};

function followUpArguments({ kind, name, payload, options, elsewhere }: EncodedFollowUp): string[] {
  return [
    kind,
    name,
    payload,
    elsewhere ? JSON.stringify(options) : encodeJobOptions(options),
    elsewhere ? refTo(elsewhere.queue, elsewhere.id) : '',
  ];
}

/** Returns the field and the number of each entry of an outbox. */
function placesOf(entries: readonly MemberEnd[]): string[] {
  return entries.flatMap((entry) => [refTo(entry.queue, refTo(entry.batch, entry.id)), entry.number]);
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

function decodeEnd(place: string, end: Replied): MemberEnd {
  const [queue, batch, id] = place.split('\t');
  const [nth, state] = end.split('\n');
  if (queue === undefined || batch === undefined || id === undefined || nth === undefined || state === undefined) {
    throw new UnexpectedReply('the end of a member', [place, end]);
  }
  return { queue, batch, id, number: nth, state, detail: asStored(behindLines(end, 2)) };
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
