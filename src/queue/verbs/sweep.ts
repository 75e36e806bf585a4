// The verbs that run by the clock, in bounded slices: the scripts of lua/sweep.
import { flagOf, listOf, oneOf, rowsOf, textOf, wholeNumberOf, wholeNumbersOf } from '../replies/check-reply.js';
import { EVICTED_TTL_MS, HISTORY_KEPT_MS, UNDECLARED_AGE_MS, WORKER_FORGOTTEN_MS } from '../runtime/lifetimes.js';
import { keyOf, type QueueKeys } from '../scripts/queue-keys.js';
import type { ReclaimedJob } from '../store/call-outcomes.js';
import { splitRef } from '../store/job-ref.js';
import type { Place } from '../validation/key-table.js';
import { by, each, fields, flag, inKeys, number, optional, own, text, verb } from './verb.js';

/** Looks at a queue without a gap between them, by the clock of the store, in ms. */
export interface Watched {
  fromMs: number;
  toMs: number;
  /** How long ago the caller met an outage of the store, in ms. Undefined if it met none. */
  sinceOutageMs?: number;
}

/** The turns of the processes that ask for a right which another one has. */
export interface AskingTurns {
  /** The length of a turn, in ms. In each turn one process asks. */
  readonly intervalMs: number;
  /** The most turns until the next one of a process. */
  readonly most: number;
}

/** The reply to a process that asks for the right to maintain a set of queues. */
export interface HoldReply {
  readonly hasRight: boolean;
  /** The ms until the process's turn to ask again. 0 if the process has the right, or gave it back. */
  readonly turnInMs: number;
  /** True if the process has the right, and no other one waits for its turn to ask. */
  readonly isAlone: boolean;
  /** The time of the server, in ms, if the process has the right and found nothing where it looks. */
  readonly idleAtMs?: number;
}

/** The result of a tidy. */
export interface TidyReply {
  /** True if more is left to tidy. */
  more: boolean;
  /** How many dead letters `deadLetterCap` deleted since the last report. */
  dropped: number;
  /** The remembered ids of ended jobs and their bound, if they are near it. Reported once an hour. */
  remembered?: { ids: number; bound: number };
  /** True if records of ended jobs are kept that may have been read. */
  looksAtKept: boolean;
  /** True if jobs have streams, some of which may be gone. */
  looksAtStreams: boolean;
}

/** An open member in another queue than its batch. */
export interface ElsewhereMember {
  batch: string;
  /** The queue of the member. */
  queue: string;
  id: string;
  /** True if its batch was stopped, so it must be cancelled. */
  isStopped: boolean;
}

const retention = own((context) => context.retention);
const historyMs = own(() => HISTORY_KEPT_MS);

export const SWEEP = {
  /**
   * Takes or keeps the right to maintain a set of queues. If another process has it, the reply says when to ask again.
   *
   * @param given.lengthMs how long the process keeps the right; 0 gives it back
   * @param given.looked the calls of the queues, and their places, where the holder looks for work with the same call. All
   *   are on its server, in a Cluster in its slot. Undefined if it does not look
   */
  hold: verb('sweepHold', {
    keys: ({ maintainers }, { looked }) => [
      maintainers,
      ...(looked?.queues ?? []).flatMap((queue) =>
        looked!.places.map((place) => keyOf((queue as { key: string; keys: QueueKeys }).keys, place)),
      ),
    ],
    args: {
      set: text,
      process: text,
      lengthMs: number,
      turns: fields({ intervalMs: number, most: number }),
      looked:
        optional(
          inKeys<{ readonly queues: readonly { readonly key: string }[]; readonly places: readonly Place[] }>(),
        ),
    },
    reply(reply): HoldReply {
      const [right, turnInMs, alone, idleAtMs] = wholeNumbersOf(reply, 4);
      return {
        hasRight: right === 1,
        turnInMs: turnInMs!,
        isAlone: alone === 1,
        ...(idleAtMs! > 0 && { idleAtMs: idleAtMs! }),
      };
    },
  }),

  /**
   * @param given.gapMs a gap between sweeps that means the store was away
   * @param given.waitMs how long to wait after such a gap
   * @param given.everyMs how often the caller maintains the queue; undefined if it only reclaims
   * @param given.watched the caller's unbroken looks at the queue, which show that the store was not away
   */
  reclaim: verb('sweepReclaim', {
    args: {
      retention,
      limit: number,
      gapMs: number,
      waitMs: number,
      everyMs: optional(number),
      watched: optional(
        by(({ fromMs, toMs, sinceOutageMs }: Watched) => [fromMs, toMs, sinceOutageMs ?? '']),
        ['', '', ''],
      ),
      historyMs,
    },
    reply(reply) {
      const [more, ...claims] = listOf(reply);
      return { reclaimed: decodeReclaimed(claims), more: flagOf(more) };
    },
  }),

  /**
   * Reclaims a slice of the claims of a worker whose process has ended, before they expire.
   *
   * @param given.cursor that of the last reply, '0' to begin; the reply '0' means that all claims were read
   * @param given.limit about how many claims to read
   */
  reclaimWorker: verb('sweepReclaimWorker', {
    args: { retention, worker: text, cursor: text, limit: number, historyMs },
    reply(reply) {
      const [next, ...claims] = listOf(reply);
      return { cursor: textOf(next), reclaimed: decodeReclaimed(claims) };
    },
  }),

  /** Returns how many were moved. */
  promote: verb('sweepPromote', { args: { limit: number }, reply: wholeNumberOf }),

  /**
   * Reclaims dead claims of clients of the Redis pattern, and keeps the jobs that they failed. `sweptByClients` counts the
   * claims that a sweep of such a client reclaimed. `clientsAtWork`: they worked here within ten minutes.
   *
   * @param given.paceMs as of tidy, for the failed jobs
   */
  adoptForeign: verb('sweepAdoptForeign', {
    args: {
      retention,
      limit: number,
      foreignMs: own((context) => context.options.foreignVisibilityMs),
      paceMs: optional(number, 0),
    },
    reply(reply) {
      const [deadLetters, sweptByClients, clientsAtWork, ...claims] = listOf(reply);
      return {
        reclaimed: decodeReclaimed(claims),
        deadLetters: wholeNumberOf(deadLetters),
        sweptByClients: wholeNumberOf(sweptByClients),
        clientsAtWork: flagOf(clientsAtWork),
      };
    },
  }),

  /** Keeps jobs that such a client has just failed. Returns how many are dead letters now. */
  adoptFailed: verb('sweepAdoptFailed', {
    args: { cap: own((context) => context.options.deadLetterCap), ids: each(text) },
    reply: wholeNumberOf,
  }),

  /**
   * Deletes unused data.
   *
   * @param given.paceMs does nothing if another call with a pace began within this many ms; 0: always runs
   */
  tidy: verb('sweepTidy', {
    args: {
      limit: number,
      bounds: own(({ options }) => [
        options.deadLetterAgeMs,
        WORKER_FORGOTTEN_MS,
        UNDECLARED_AGE_MS,
        options.completedHistory,
        options.failedHistory,
        options.cancelledHistory,
        options.deadLetterCap,
        EVICTED_TTL_MS,
      ]),
      paceMs: optional(number, 0),
      rememberedIds: own((context) => context.options.rememberedIds),
    },
    reply(reply): TidyReply {
      const [more, dropped, ids, idsBound, kept, streams] = wholeNumbersOf(reply, 6);
      return {
        more: more === 1,
        dropped: dropped!,
        ...(ids! > 0 && { remembered: { ids: ids!, bound: idsBound! } }),
        looksAtKept: kept === 1,
        looksAtStreams: streams === 1,
      };
    },
  }),

  /**
   * Gives the records of ended jobs, which others waited to read, their lifetimes back. Returns those that only jobs of
   * other queues may still read, and whether more are due.
   *
   * @param given.read ids of such records whose waiting jobs have ended
   */
  lookAtKept: verb('sweepLookAtKept', {
    args: { retention, limit: number, read: optional(each(text), []) },
    reply(reply, _, { keys }) {
      const [more, ...rows] = listOf(reply);
      return {
        more: flagOf(more),
        kept: rowsOf(rows, 2).map(([id, refs]) => ({
          id: id!,
          waiting: refs!.split('\n').map((ref) => splitRef(keys.queue, ref)),
        })),
      };
    },
  }),

  /**
   * Returns undefined if the queue has no batches, and none of its jobs is in one. Else whether it used up its limit, and
   * whether the outbox holds ends or follow-ups. `failed` are jobs that became dead letters, because a job of their `after`
   * did not end well. `elsewhere` are open members in other queues, which may never report their ends.
   *
   * @param given.all true to look again at batches and jobs that were checked recently
   */
  maintainBatches: verb('sweepMaintainBatches', {
    args: { retention, limit: number, all: flag },
    reply(reply, _, { keys: { queue } }) {
      if (reply === null) {
        return undefined;
      }
      const [more, hasEnds, failed, open, stopped] = listOf(reply);
      return {
        more: flagOf(more),
        hasEnds: flagOf(hasEnds),
        failed: listOf(failed).map(textOf),
        elsewhere: [...membersIn(queue, open, false), ...membersIn(queue, stopped, true)],
      };
    },
  }),
};

function membersIn(queue: string, pairs: unknown, isStopped: boolean): ElsewhereMember[] {
  return rowsOf(pairs, 2).map(([batch, member]) => ({ batch: batch!, ...splitRef(queue, member!), isStopped }));
}

/** Decodes groups of id, status and worker. */
function decodeReclaimed(claims: unknown): ReclaimedJob[] {
  return rowsOf(claims, 3).map(([id, status, worker]) => ({
    id: id!,
    status: RECLAIMED(status),
    ...(worker !== '' && { worker: worker! }),
  }));
}

const RECLAIMED = oneOf('pending', 'failed', 'cancelled');
