import { flagOf, listOf, rowsOf, textOf, wholeNumberOf, wholeNumbersOf, oneOf } from '../../replies/check-reply.js';
import { splitRef } from '../../store/job-ref.js';
import type { SweepVerbs } from '../../store/verbs/sweep-verbs.js';
import {
  EVICTED_TTL_MS,
  HISTORY_KEPT_MS,
  UNDECLARED_AGE_MS,
  WORKER_FORGOTTEN_MS,
} from '../../runtime/lifetimes.js';
import { keyOf, type QueueKeys } from '../queue-keys.js';
import { type CallContext, call } from '../script-call.js';
import type { ReclaimedJob } from '../../store/call-outcomes.js';

/** Returns the calls of `lua/sweep`, one for each script; see SweepVerbs and the headers there. */
export function sweepCalls({ keys, options, retention }: CallContext) {
  return {
    hold(set, process, lengthMs, { intervalMs, most }, looked?) {
      const ofQueues = looked?.queues.map((queue) => (queue as { key: string; keys: QueueKeys }).keys) ?? [];
      const places = ofQueues.flatMap((of) => looked!.places.map((place) => keyOf(of, place)));
      const args = [set, process, lengthMs, intervalMs, most];
      return call('sweepHold', [keys.maintainers, ...places], args, (reply) => {
        const [right, turnInMs, alone, idleAtMs] = wholeNumbersOf(reply, 4);
        return {
          hasRight: right === 1,
          turnInMs: turnInMs!,
          isAlone: alone === 1,
          ...(idleAtMs! > 0 && { idleAtMs: idleAtMs! }),
        };
      });
    },

    reclaim(limit, gapMs, waitMs, everyMs?, watched?) {
      const { fromMs = '', toMs = '', sinceOutageMs = '' } = watched ?? {};
      const args = [
        ...retention,
        limit,
        gapMs,
        waitMs,
        everyMs ?? '',
        fromMs,
        toMs,
        sinceOutageMs,
        HISTORY_KEPT_MS,
      ];
      return call('sweepReclaim', keys.standard, args, (reply) => {
        const [more, ...claims] = listOf(reply);
        return { reclaimed: decodeReclaimed(claims), more: flagOf(more) };
      });
    },

    reclaimWorker(worker, cursor, limit) {
      const args = [...retention, worker, cursor, limit, HISTORY_KEPT_MS];
      return call('sweepReclaimWorker', keys.standard, args, (reply) => {
        const [next, ...claims] = listOf(reply);
        return { cursor: textOf(next), reclaimed: decodeReclaimed(claims) };
      });
    },

    promote: (limit) => call('sweepPromote', keys.standard, [limit], wholeNumberOf),

    adoptForeign(limit, paceMs = 0) {
      const args = [...retention, limit, options.foreignVisibilityMs, paceMs];
      return call('sweepAdoptForeign', keys.standard, args, (reply) => {
        const [deadLetters, sweptByClients, clientsAtWork, ...claims] = listOf(reply);
        return {
          reclaimed: decodeReclaimed(claims),
          deadLetters: wholeNumberOf(deadLetters),
          sweptByClients: wholeNumberOf(sweptByClients),
          clientsAtWork: flagOf(clientsAtWork),
        };
      });
    },

    adoptFailed: (ids) => call('sweepAdoptFailed', keys.standard, [options.deadLetterCap, ...ids], wholeNumberOf),

    tidy(limit, paceMs = 0) {
      const { deadLetterAgeMs, completedHistory, failedHistory, cancelledHistory, deadLetterCap } = options;
      const ages = [deadLetterAgeMs, WORKER_FORGOTTEN_MS, UNDECLARED_AGE_MS];
      const caps = [completedHistory, failedHistory, cancelledHistory, deadLetterCap];
      const args = [limit, ...ages, ...caps, EVICTED_TTL_MS, paceMs, options.rememberedIds];
      return call('sweepTidy', keys.standard, args, (reply) => {
        const [more, dropped, ids, idsBound, kept] = wholeNumbersOf(reply, 5);
        return {
          more: more === 1,
          dropped: dropped!,
          ...(ids! > 0 && { remembered: { ids: ids!, bound: idsBound! } }),
          looksAtKept: kept === 1,
        };
      });
    },

    lookAtKept: (limit, read = []) =>
      call('sweepLookAtKept', keys.standard, [...retention, limit, ...read], (reply) => {
        const [more, ...rows] = listOf(reply);
        return {
          more: flagOf(more),
          kept: rowsOf(rows, 2).map(([id, refs]) => ({
            id: id!,
            waiting: refs!.split('\n').map((ref) => splitRef(keys.queue, ref)),
          })),
        };
      }),

    maintainBatches: (limit, all) =>
      call('sweepMaintainBatches', keys.standard, [...retention, limit, all ? '1' : '0'], (reply) => {
        if (reply === null) {
          return undefined;
        }
        const [more, hasEnds, failed, open, stopped] = listOf(reply);
        return {
          more: flagOf(more),
          hasEnds: flagOf(hasEnds),
          failed: listOf(failed).map(textOf),
          elsewhere: [...membersIn(keys.queue, open, false), ...membersIn(keys.queue, stopped, true)],
        };
      }),
  } satisfies SweepVerbs;
}

function membersIn(queue: string, pairs: unknown, isStopped: boolean) {
  return rowsOf(pairs, 2).map(([batch, member]) => ({ batch: batch!, ...splitRef(queue, member!), isStopped }));
}

/** Decodes groups of id, status and worker. */
function decodeReclaimed(fields: unknown): ReclaimedJob[] {
  return rowsOf(fields, 3).map(([id, status, worker]) => ({
    id: id!,
    status: RECLAIMED(status),
    ...(worker !== '' && { worker: worker! }),
  }));
}

const RECLAIMED = oneOf('pending', 'failed', 'cancelled');
