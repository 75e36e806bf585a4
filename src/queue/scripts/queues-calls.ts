import { listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { HISTORY_KEPT_MS } from '../runtime/lifetimes.js';
import type { CallLimit, Settled } from '../store/queue-store.js';
import type { StoreCalls } from '../store/store-calls.js';
import type { AnnouncedQueue, IdleNote, Look, Place, QueuesVerbs, Renewal } from '../store/verbs/queues-verbs.js';
import { SentTexts } from '../transport/sent-texts.js';
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
  const looks = new KeptLooks(store);
  return {
    look: (queues, places, limit) => runCalls(store, looks.of(queues, places), limit),
    noteIdle: (queues, note, limit) =>
      runCalls(
        store,
        shared(store, queues, 4, (some) => noteIdleCall(some, note)),
        limit,
      ),
    renew: (queues, renewal, limit) =>
      runCalls(
        store,
        shared(store, queues, renewal.checks ? 7 : 3, (some) => renewCall(some, renewal)),
        limit,
      ),
    register: (queues, limit) => runCalls(store, shared(store, queues, 2, registerCall), limit),
    registered: (queue, most, limit) =>
      store.exec(
        call('registerNames', [(queue as QueueCalls).keys.register], [most], (reply) => listOf(reply).map(textOf)),
        limit,
      ),
  };
}

/** A call of a verb, for some of its queues. */
interface SharedCall<Reply> {
  /** The number of its queues. */
  readonly count: number;
  readonly call: ScriptCall<Reply[]>;
}

/**
 * Returns the calls of a verb. On one server many queues share a call, in a Cluster each queue has its own.
 *
 * @param width the number of arguments of each queue
 */
function shared<Queue, Reply>(
  { isSharded }: QueuesStore,
  queues: readonly Queue[],
  width: number,
  build: (queues: readonly Queue[]) => ScriptCall<Reply[]>,
): SharedCall<Reply>[] {
  const most = isSharded ? 1 : Math.floor(MOST_ARGUMENTS / width);
  return Array.from({ length: Math.ceil(queues.length / most) }, (_, i) => {
    const some = queues.slice(i * most, (i + 1) * most);
    return { count: some.length, call: build(some) };
  });
}

/** Runs the calls of one server one after another, so that each is short. In a Cluster all run at once. */
async function runCalls<Reply>(
  store: QueuesStore,
  calls: readonly SharedCall<Reply>[],
  limit: Required<CallLimit>,
): Promise<Settled<Reply>[]> {
  const run = ({ call: shares, count }: SharedCall<Reply>): Promise<Settled<Reply>[]> =>
    store.exec(shares, limit).then(
      (replies) => replies.map((reply) => ({ ok: true, reply })),
      (error: Error) => Array.from({ length: count }, () => ({ ok: false, error })),
    );
  if (store.isSharded) {
    return (await Promise.all(calls.map(run))).flat();
  }
  const outcomes: Settled<Reply>[] = [];
  for (const each of calls) {
    outcomes.push(...(await run(each)));
  }
  return outcomes;
}

/**
 * The calls of looks. They are kept as long as the caller keeps its array of queues. Building thousands of keys for each look
 * would cost more than sending them.
 */
class KeptLooks {
  private readonly kept = new WeakMap<readonly StoreCalls[], Map<readonly Place[], SharedCall<Look>[]>>();

  constructor(private readonly store: QueuesStore) {}

  of(queues: readonly StoreCalls[], places: readonly Place[]): SharedCall<Look>[] {
    const ofQueues = this.kept.get(queues) ?? new Map<readonly Place[], SharedCall<Look>[]>();
    this.kept.set(queues, ofQueues);
    const calls =
      ofQueues.get(places) ?? shared(this.store, queues, places.length, (some) => lookCall(some, places));
    ofQueues.set(places, calls);
    return calls;
  }
}

function lookCall(queues: readonly StoreCalls[], places: readonly Place[]): ScriptCall<Look[]> {
  const keys = queues.flatMap((queue) => places.map((place) => keyOf((queue as QueueCalls).keys, place)));
  const count = queues.length;
  const due = places.indexOf('due');
  const look = call('queueLook', keys, [places.length, due < 0 ? '' : due + 1], (reply) => {
    const [now, ...found] = listOf(reply);
    const atMs = wholeNumberOf(now);
    const nothing: Look = { atMs, found: NONE };
    const looks = Array.from({ length: count }, () => nothing);
    for (let i = 0; i < found.length; i += 2) {
      const bits = textOf(found[i + 1]);
      const there = places.filter((_, bit) => bits[bit] === '1');
      looks[wholeNumberOf(found[i]) - 1] = {
        atMs,
        found: new Set(bits[due] === '2' ? [...there, 'scheduled' as const] : there),
      };
    }
    return looks;
  });
  return { ...look, sent: new SentTexts() };
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
  const keys = all.flatMap(({ keys: of }) =>
    checks
      ? [of.workers, of.names, of.sweep, of.workerDetails, of.retention, of.handlerLimits]
      : [of.workers, of.names],
  );
  const lines = all.map(({ options, handlers }) =>
    checks
      ? [limitsText(options), ...handlerLimitsText(handlers)].join('\n')
      : handlers.map(({ name }) => name).join('\n'),
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
    case 'due':
      return keys.scheduled;
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
