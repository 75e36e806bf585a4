import { listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { HISTORY_KEPT_MS } from '../runtime/lifetimes.js';
import type { CallLimit, Settled } from '../store/queue-store.js';
import type { StoreCalls } from '../store/store-calls.js';
import type { AnnouncedQueue, IdleNote, Look, Place, QueuesVerbs, Renewal } from '../store/verbs/queues-verbs.js';
import type { RedisCall, ScriptCall } from '../transport/script-runner.js';
import type { QueueCalls } from './calls/all-calls.js';
import { configuredLimits, handlerLimitsText, limitsText } from './encode-limits.js';
import { LAYOUT } from './layout.js';
import type { QueueKeys } from './queue-keys.js';
import { call } from './script-call.js';

/** The most keys and arguments of a call. Some servers that speak Redis accept less than 4,000. */
const MOST_ARGUMENTS = 3_900;

/** Runs calls, and knows whether one call may reach several queues. */
interface QueuesStore {
  readonly isSharded: boolean;
  exec<Reply>(call: RedisCall<Reply>, limit: Required<CallLimit>): Promise<Reply>;
}

/** Returns the verbs that reach many queues, by `lua/queue/look` and its like. */
export function queuesVerbs(store: QueuesStore): QueuesVerbs {
  return {
    look: (queues, places, limit) =>
      together(store, queues, { width: places.length, limit, build: (some) => lookCall(some, places) }),
    noteIdle: (queues, note, limit) =>
      together(store, queues, { width: 4, limit, build: (some) => noteIdleCall(some, note) }),
    renew: (queues, renewal, limit) =>
      together(store, queues, { width: 7, limit, build: (some) => renewCall(some, renewal) }),
    register: (queues, limit) => together(store, queues, { width: 2, limit, build: registerCall }),
    registered: (queue, most, limit) =>
      store.exec(
        call('registerNames', [(queue as QueueCalls).keys.register], [most], (reply) => listOf(reply).map(textOf)),
        limit,
      ),
  };
}

/** The call of a verb, for some of its queues. */
interface SharedCall<Queue, Reply> {
  /** The number of arguments of each queue. */
  readonly width: number;
  readonly limit: Required<CallLimit>;
  build(queues: readonly Queue[]): ScriptCall<Reply[]>;
}

/** Runs the calls of one server one after another, so that each is short. In a Cluster all run at once. */
async function together<Queue, Reply>(
  store: QueuesStore,
  queues: readonly Queue[],
  { width, limit, build }: SharedCall<Queue, Reply>,
): Promise<Settled<Reply>[]> {
  const run = (some: readonly Queue[]): Promise<Settled<Reply>[]> =>
    store.exec(build(some), limit).then(
      (replies) => replies.map((reply) => ({ ok: true, reply })),
      (error: Error) => some.map(() => ({ ok: false, error })),
    );
  if (store.isSharded) {
    return (await Promise.all(queues.map((queue) => run([queue])))).flat();
  }
  const outcomes: Settled<Reply>[] = [];
  const most = Math.floor(MOST_ARGUMENTS / width);
  for (let i = 0; i < queues.length; i += most) {
    outcomes.push(...(await run(queues.slice(i, i + most))));
  }
  return outcomes;
}

function lookCall(queues: readonly StoreCalls[], places: readonly Place[]): ScriptCall<Look[]> {
  const keys = queues.flatMap((queue) => places.map((place) => keyOf((queue as QueueCalls).keys, place)));
  return call('queueLook', keys, [places.length], (reply) => {
    const [now, ...found] = listOf(reply);
    const atMs = wholeNumberOf(now);
    const looks: Look[] = queues.map(() => ({ atMs, found: NONE }));
    for (let i = 0; i < found.length; i += 2) {
      const bits = textOf(found[i + 1]);
      looks[wholeNumberOf(found[i]) - 1] = { atMs, found: new Set(places.filter((_, bit) => bits[bit] === '1')) };
    }
    return looks;
  });
}

const NONE: ReadonlySet<Place> = new Set();

function noteIdleCall(queues: readonly StoreCalls[], { everyMs, gapMs }: IdleNote): ScriptCall<boolean[]> {
  const all = queues as readonly QueueCalls[];
  const keys = all.flatMap(({ keys: of }) => [of.sweep, of.stats, of.historyOpen]);
  const args = [everyMs, gapMs, HISTORY_KEPT_MS, ...all.map(({ options }) => (options.history ? '1' : '0'))];
  return call('sweepNoteIdle', keys, args, (reply) => {
    const toClose = new Set(listOf(reply).map(wholeNumberOf));
    return queues.map((_, i) => toClose.has(i + 1));
  });
}

/** Returns the call of `renew`. A queue with limits of the worker's code must register, which decides whose limits apply. */
function renewCall(queues: readonly AnnouncedQueue[], { worker, checks }: Renewal): ScriptCall<boolean[]> {
  const all = queues.map(({ calls, handlers }) => ({
    keys: (calls as QueueCalls).keys,
    options: (calls as QueueCalls).options,
    handlers,
  }));
  const keys = all.flatMap(({ keys: of }) => [
    of.workers,
    of.names,
    of.sweep,
    of.workerDetails,
    of.retention,
    of.handlerLimits,
  ]);
  const lines = all.map(({ options, handlers }) =>
    [limitsText(options), ...handlerLimitsText(handlers)].join('\n'),
  );
  return call('workerRenew', keys, [worker, checks ? LAYOUT : '', ...lines], (reply) => {
    const unknown = new Set(listOf(reply).map(wholeNumberOf));
    return all.map(({ options }, i) => !unknown.has(i + 1) && configuredLimits(options) === '');
  });
}

function registerCall(queues: readonly StoreCalls[]): ScriptCall<void[]> {
  const keys = queues.map((queue) => (queue as QueueCalls).keys);
  const registers = keys.map(({ register }) => register);
  const names = keys.map(({ queue }) => queue);
  return call('registerAdd', registers, names, () => queues.map(() => undefined));
}

function keyOf(keys: QueueKeys, place: Place): string {
  switch (place) {
    case 'groupDepths':
      return `${keys.groupsPrefix}depths`;
    case 'groupsGated':
      return `${keys.groupsPrefix}gated`;
    case 'groupsResting':
      return `${keys.groupsPrefix}resting`;
    default:
      return keys[place];
  }
}
