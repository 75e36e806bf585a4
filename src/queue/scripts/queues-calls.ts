import { RedisStateError } from '../errors/errors.js';
import { listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { decodeWorkers } from '../replies/decode-worker.js';
import { MOST_ARGUMENTS } from '../runtime/bounds.js';
import { slicesOf, groupBy } from '../runtime/collections.js';
import type { ProfileRequest } from '../model/profile.js';
import type { Place } from '../validation/key-table.js';
import { HISTORY_KEPT_MS, WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import type { CallLimit, Settled } from '../store/queue-store.js';
import type { StoreCalls } from '../store/store-calls.js';
import type { AnnouncedQueue, IdleNote, Look, QueuesVerbs, Renewal, Renewed } from '../store/queues-verbs.js';
import { SentTexts, type RedisCall, type ScriptCall } from '../transport/script-runner.js';
import type { QueueCalls } from './all-calls.js';
import { configuredLimits, handlerLimitsText, limitsText } from './encode-limits.js';
import { LAYOUT } from './layout.js';
import { keyOf } from './queue-keys.js';
import { call } from './script-call.js';

/** Runs calls, and knows which queues a call may reach together. */
interface QueuesStore {
  readonly isSharded: boolean;
  serverOf(queue: StoreCalls): string;
  exec<Reply>(call: RedisCall<Reply>, limit: Required<CallLimit>): Promise<Reply>;
}

/** Returns the verbs that reach many queues, by `lua/queue/look` and its like. */
export function queuesVerbs(store: QueuesStore): QueuesVerbs {
  const looks = new KeptLooks(store);
  return {
    look: (queues, places, limit) => looks.run(queues, places, limit),
    noteIdle: (queues, note, limit) =>
      runCalls(
        store,
        shared(store, queues, 4, (some) => noteIdleCall(some, note)),
        limit,
      ),
    renew: (queues, renewal, limit) =>
      runCalls(
        store,
        shared(store, queues, renewal.checks ? 9 : 4, (some) => renewCall(some, renewal)),
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
  /** The positions of its queues in the arguments of the verb. */
  readonly positions: readonly number[];
  readonly call: ScriptCall<Reply[]>;
  /** Returns a call for each of its queues. */
  readonly apart: () => SharedCall<Reply>[];
}

/** The call of a verb for some queues of a server. */
interface BuiltCall<Reply> {
  readonly call: ScriptCall<Reply[]>;
  /** The number of keys of each queue; absent if its keys are of no queue. */
  readonly keysOfEach?: number;
}

/**
 * Returns the calls of a verb. Many queues of a server share a call, in a Cluster those of a master.
 *
 * @param width the number of arguments of each queue
 */
function shared<Queue extends StoreCalls | AnnouncedQueue, Reply>(
  store: QueuesStore,
  queues: readonly Queue[],
  width: number,
  build: (queues: readonly Queue[]) => BuiltCall<Reply>,
): SharedCall<Reply>[] {
  const most = Math.floor(MOST_ARGUMENTS / width);
  const callFor = (positions: readonly number[]): SharedCall<Reply> => {
    const built = build(positions.map((position) => queues[position]!));
    const apart = () => positions.map((position) => callFor([position]));
    return { positions, apart, call: store.isSharded ? declaringFirst(built) : built.call };
  };
  const serverOf = (position: number) => {
    const queue = queues[position]!;
    return store.isSharded ? store.serverOf('handlers' in queue ? queue.calls : queue) : '';
  };
  return [...groupBy([...queues.keys()], serverOf).values()].flatMap((ofServer) =>
    slicesOf(ofServer, most).map(callFor),
  );
}

/** Declares the keys of the first queue only, because those of the others may be in other slots: see lua/lib/slots/take_keys. */
function declaringFirst<Reply>({ call: whole, keysOfEach }: BuiltCall<Reply>): ScriptCall<Reply[]> {
  if (keysOfEach === undefined) {
    return whole;
  }
  const [keys, others] = [whole.keys.slice(0, keysOfEach), whole.keys.slice(keysOfEach)];
  return { ...whole, keys, args: [...whole.args, ...others, others.length] };
}

/**
 * Runs the calls of one server one after another, so that each is short. In a Cluster all run at once. If a master refuses a
 * call there, a slot may have moved, so each of its queues is asked alone.
 *
 * @param refused called then
 */
async function runCalls<Reply>(
  store: QueuesStore,
  calls: readonly SharedCall<Reply>[],
  limit: Required<CallLimit>,
  refused?: () => void,
): Promise<Settled<Reply>[]> {
  const outcomes: Settled<Reply>[] = [];
  const run = async (each: SharedCall<Reply>): Promise<void> => {
    try {
      const replies = await store.exec(each.call, limit);
      each.positions.forEach((position, i) => (outcomes[position] = { ok: true, reply: replies[i]! }));
    } catch (error) {
      if (store.isSharded && each.positions.length > 1 && isRefusal(error as Error)) {
        refused?.();
        await Promise.all(each.apart().map(run));
      } else {
        each.positions.forEach((position) => (outcomes[position] = { ok: false, error: error as Error }));
      }
    }
  };
  if (store.isSharded) {
    await Promise.all(calls.map(run));
  } else {
    for (const each of calls) {
      await run(each);
    }
  }
  return outcomes;
}

/** Returns whether a master refused a call, or ioredis gave up because masters sent it to each other. */
function isRefusal(error: Error): boolean {
  const { name, message } = error;
  return (
    name === 'ReplyError' || error instanceof RedisStateError || message.startsWith('Too many Cluster redirections')
  );
}

/**
 * The calls of looks. They are kept as long as the caller keeps its array of queues. Building thousands of keys for each look
 * would cost more than sending them.
 */
class KeptLooks {
  private readonly kept = new WeakMap<readonly StoreCalls[], Map<readonly Place[], SharedCall<Look>[]>>();

  constructor(private readonly store: QueuesStore) {}

  run(
    queues: readonly StoreCalls[],
    places: readonly Place[],
    limit: Required<CallLimit>,
  ): Promise<Settled<Look>[]> {
    return runCalls(this.store, this.of(queues, places), limit, () => this.kept.delete(queues));
  }

  private of(queues: readonly StoreCalls[], places: readonly Place[]): SharedCall<Look>[] {
    const ofQueues = this.kept.get(queues) ?? new Map<readonly Place[], SharedCall<Look>[]>();
    this.kept.set(queues, ofQueues);
    const calls =
      ofQueues.get(places) ?? shared(this.store, queues, places.length, (some) => lookCall(some, places));
    ofQueues.set(places, calls);
    return calls;
  }
}

function lookCall(queues: readonly StoreCalls[], places: readonly Place[]): BuiltCall<Look> {
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
  return { call: { ...look, sent: new SentTexts() }, keysOfEach: places.length };
}

const NONE: ReadonlySet<Place> = new Set();

function noteIdleCall(queues: readonly StoreCalls[], { everyMs, gapMs }: IdleNote): BuiltCall<boolean> {
  const all = queues as readonly QueueCalls[];
  const keys = all.flatMap(({ keys: of }) => [of.sweep, of.stats, of.historyOpen]);
  const args = [everyMs, gapMs, HISTORY_KEPT_MS, ...all.map(({ options }) => (options.history ? '1' : '0'))];
  const note = call('sweepNoteIdle', keys, args, (reply) => {
    const toClose = new Set(listOf(reply).map(wholeNumberOf));
    return queues.map((_, i) => toClose.has(i + 1));
  });
  return { call: note, keysOfEach: 3 };
}

/** Returns the call of `renew`. A queue with limits of the worker's code must register, which decides whose limits apply. */
function renewCall(queues: readonly AnnouncedQueue[], { worker, checks, lists }: Renewal): BuiltCall<Renewed> {
  const all = queues.map(({ calls, handlers }) => ({
    keys: (calls as QueueCalls).keys,
    options: (calls as QueueCalls).options,
    handlers,
  }));
  const listed = lists ? queues.findIndex(({ calls }) => calls === lists.calls) : -1;
  const keys = all.flatMap(({ keys: of }) =>
    checks
      ? [of.workers, of.names, of.profile, of.sweep, of.workerDetails, of.retention, of.handlerLimits, of.settings]
      : [of.workers, of.names, of.profile],
  );
  const listKeys = all.slice(listed, listed + 1).flatMap(({ keys: of }) => [of.workers, of.workerDetails]);
  const lines = all.map(({ options, handlers }) =>
    checks
      ? [limitsText(options), ...handlerLimitsText(handlers)].join('\n')
      : handlers.map(({ name }) => name).join('\n'),
  );
  const args = [worker, checks ? LAYOUT : '', listed < 0 ? '' : lists!.most, WORKER_SEEN_MS, ...lines];
  const renew = call('workerRenew', [...keys, ...listKeys], args, (reply) => {
    const [positions, workers, profiles] = listOf(reply);
    const asked = new Map(listOf(profiles).map((each) => profileRequestOf(listOf(each))));
    const unknown = new Set(listOf(positions).map(wholeNumberOf));
    return all.map(({ options }, i) => ({
      isKnown: !unknown.has(i + 1) && configuredLimits(options) === '',
      ...(asked.has(i + 1) && { profile: asked.get(i + 1)! }),
      ...(i === listed && { workers: decodeWorkers(workers) }),
    }));
  });
  return { call: renew, keysOfEach: checks ? 8 : 3 };
}

/** Returns a request, behind the position of its queue. */
function profileRequestOf([position, ...fields]: readonly unknown[]): [number, ProfileRequest] {
  const [id, name, kind, forMs] = fields.map(textOf);
  return [
    wholeNumberOf(position),
    { id: id!, name: name!, kind: kind === 'heap' ? 'heap' : 'cpu', forMs: Number(forMs) },
  ];
}

function registerCall(queues: readonly StoreCalls[]): BuiltCall<void> {
  const keys = queues.map((queue) => (queue as QueueCalls).keys);
  const registers = keys.map(({ register }) => register);
  const names = keys.map(({ queue }) => queue);
  return { call: call('registerAdd', registers, names, () => queues.map(() => undefined)) };
}
