// The verbs that reach many queues in one call; see lua/queue/look.lua and lua/sweep/note-idle.lua.
import type { CallLimit, Settled, StoreCall } from '../queue/store/store-call.js';
import { configuresLimits } from '../queue/model/limits.js';
import type { StoreCalls } from '../queue/store/store-calls.js';
import type { AnnouncedQueue, Place, QueuesVerbs, Renewal } from '../queue/store/verbs/queues-verbs.js';
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
    renew: (queues, renewal, limit) => {
      const { lists } = renewal;
      const asked = new Map(queues.map((each) => [queueOf(each.calls), each]));
      const all = queues.map(({ calls }) => calls);
      return ofEach('workerRenew', all, limit, (queue) => ({
        isKnown: renew(queue, asked.get(queue)!, renewal),
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

/** Repeats an announcement. Returns false if the worker must register; see lua/worker/renew.lua. */
function renew(
  queue: MemoryQueue,
  { calls: { options }, handlers }: AnnouncedQueue,
  { worker, checks }: Renewal,
): boolean {
  const { announced, flow, now } = queue;
  if (!queue.workers.has(worker)) {
    return false;
  }
  queue.workers.set(worker, now);
  handlers.forEach(({ name }) => queue.names.set(name, now));
  const owner = flow.configured?.worker;
  const isOwned = owner === undefined || announced.liveWorkers(now).some(({ id }) => id === owner);
  const isWhole = announced.expiresAt === Infinity && queue.detailsKeptUntil > now;
  if (!isWhole || (checks && !(isOwned && announced.hasLimits(options, handlers)))) {
    return false;
  }
  queue.detailsKeptUntil = now + WORKER_DETAILS_MS;
  return !configuresLimits(options); // registrations decide whose limits apply
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
