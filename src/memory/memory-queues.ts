// The verbs that reach many queues in one call; see lua/queue/look.lua and lua/sweep/note-idle.lua.
import type { CallLimit, Settled, StoreCall } from '../queue/store/store-call.js';
import type { AttemptLimits, StoreCalls } from '../queue/store/store-calls.js';
import type { Place, QueuesVerbs } from '../queue/store/verbs/queues-verbs.js';
import type { MemoryCalls } from './memory-calls.js';
import type { MemoryQueue } from './state/memory-queue.js';
import { WORKER_DETAILS_MS } from '../queue/runtime/lifetimes.js';
import { callOf } from './verbs/memory-call.js';
import { liveWorkers } from './verbs/workers.js';

/** Runs calls of a store in memory. */
interface RunningStore {
  exec<Reply>(call: StoreCall<Reply>, limit: CallLimit): Promise<Reply>;
}

export function queuesVerbs(store: RunningStore): QueuesVerbs {
  const ofEach = <Reply>(
    script: string,
    queues: readonly StoreCalls[],
    limit: CallLimit,
    run: (queue: MemoryQueue) => Reply,
  ): Promise<Settled<Reply>[]> =>
    store
      .exec(
        callOf(script, () => queues.map((calls) => run(queueOf(calls)))),
        limit,
      )
      .then(
        (replies) => replies.map((reply) => ({ ok: true, reply })),
        (error: Error) => queues.map(() => ({ ok: false, error })),
      );
  return {
    look: (queues, places, limit) =>
      ofEach('queueLook', queues, limit, (queue) => ({
        atMs: queue.now,
        found: new Set(places.filter((place) => sizeOf(queue, place) > 0).map((place) => foundAs(queue, place))),
      })),
    noteIdle: (queues, { gapMs }, limit) =>
      ofEach('sweepNoteIdle', queues, limit, (queue) => queue.history.noteIdle(gapMs)),
    renew: (queues, { worker, lists }, limit) => {
      const handlersOf = new Map(queues.map(({ calls, handlers }) => [queueOf(calls), handlers]));
      const all = queues.map(({ calls }) => calls);
      return ofEach('workerRenew', all, limit, (queue) => ({
        isKnown: renew(queue, worker, handlersOf.get(queue) ?? []),
        ...(lists && queueOf(lists.calls) === queue && { workers: liveWorkers(queue, lists.most) }),
      }));
    },
    register: (queues) => Promise.resolve(queues.map(() => ({ ok: true, reply: undefined }))), // the server knows them
    registered: (queue, most) => {
      const { host } = queueOf(queue);
      return Promise.resolve(host.names(queueOf(queue)).toReversed().slice(0, most));
    },
  };
}

function queueOf(calls: StoreCalls): MemoryQueue {
  return (calls as MemoryCalls).queue;
}

/** Repeats an announcement, unless a part of it is gone or will expire. */
function renew(queue: MemoryQueue, worker: string, handlers: readonly AttemptLimits[]): boolean {
  const isWhole = queue.announced.expiresAt === Infinity && queue.detailsKeptUntil > queue.now;
  if (!queue.workers.has(worker) || !isWhole) {
    return false;
  }
  queue.detailsKeptUntil = queue.now + WORKER_DETAILS_MS;
  queue.workers.set(worker, queue.now);
  handlers.forEach(({ name }) => queue.names.set(name, queue.now));
  return true;
}

/** Returns `scheduled` for `due` if all scheduled jobs are due later. */
function foundAs({ scheduled, now }: MemoryQueue, place: Place): Place {
  return place === 'due' && scheduled.score(scheduled.members()[0]!)! > now ? 'scheduled' : place;
}

function sizeOf(queue: MemoryQueue, place: Place): number {
  switch (place) {
    case 'pending':
    case 'completed':
    case 'failed':
    case 'cancelled':
      return queue[place].length;
    case 'prioritized':
    case 'scheduled':
    case 'claims':
    case 'dead':
    case 'unique':
    case 'uniqueExpiries':
    case 'scheduleDue':
    case 'scheduleOwners':
      return queue[place].size;
    case 'due':
      return queue.scheduled.size;
    case 'batches':
      return [...queue.followUps.values()].filter(({ endedAt }) => endedAt === undefined).length;
    case 'wake':
      return queue.host.isMarked(queue.name) ? 1 : 0;
    default:
      return 0; // in memory jobs of groups are in pending, and other queues are reached at once
  }
}
