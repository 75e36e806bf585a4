import { RedisUnsuitableError } from '../queue/errors/errors.js';
import { Doctor } from '../queue/doctor/doctor.js';
import type { DoctorOptions, DoctorReport } from '../queue/model/doctor-report.js';
import type { JobEvent } from '../queue/model/job-event.js';
import type { ResolvedQueueOptions } from '../queue/model/queue-options.js';
import { parseEvent } from '../queue/redis/parse-event.js';
import type { RedisClient } from '../queue/redis/redis-client.js';
import { systemClock, type Clock } from '../queue/runtime/clock.js';
import { silentLogger, type JobQueueLogger } from '../queue/runtime/logger.js';
import { within } from '../queue/runtime/waits.js';
import { callsOfKnownQueue, callsOfQueue, READ_FIRST } from '../queue/scripts/audited-calls.js';
import type { QueueCalls } from '../queue/scripts/all-calls.js';
import { CANCEL_MARKER } from '../queue/scripts/queue-keys.js';
import { WaitKeys } from '../queue/scripts/worker-wait.js';
import { queuesVerbs } from '../queue/scripts/queues-calls.js';
import type { EncodedJob, EnqueueReply } from '../queue/store/enqueue-call.js';
import type {
  CallLimit,
  ConsumerWait,
  QueueStore,
  ReplicatedEnqueues,
  ReplicationOptions,
  Settled,
  StoreTransport,
  WaitOutcome,
  WakeListener,
  WakeSubscription,
  WorkerWait,
} from '../queue/store/queue-store.js';
import type { StoreCall } from '../queue/store/store-call.js';
import type { StoreCalls } from '../queue/store/store-calls.js';
import type { QueuesVerbs } from '../queue/store/queues-verbs.js';
import { decodedOf, type RedisCall } from '../queue/transport/script-runner.js';
import { toBytes, toText } from './lua/values.js';
import { ObservedServer, type CallWithJobs } from './server/observed-server.js';
import { ScriptServer } from './server/script-server.js';
import { clientOf, command, evaluate } from './server/texts.js';

/** The time a worker waits for the reply of a trip before it sends it again, in ms. */
const TRIP_MS = 10_000;

/**
 * Simulates the network between a store and its server. It may run a call late, never, or twice, or lose the reply with a
 * promise that never resolves.
 */
export type StoreLink = <Reply>(script: string, run: () => Reply) => Promise<Reply>;

interface ScriptStoreOptions {
  /** The server that several stores share, as processes share a Redis. @default a new server */
  server?: ScriptServer | undefined;
  /** Default: each call runs at once, and is answered in the next microtask. */
  link?: StoreLink;
}

/**
 * Keeps queues in the memory of the process, by the scripts that run on Redis. Queues and workers use it like Redis.
 *
 * @example
 * const queue = new JobQueue(new ScriptStore(), 'jobs');
 */
export class ScriptStore implements QueueStore {
  readonly place = 'the memory of this process';
  readonly isSharded: boolean = false;
  readonly sendsLater = false;
  readonly isShared = false;
  logger: JobQueueLogger = silentLogger;
  readonly server: ScriptServer;
  readonly queues: QueuesVerbs = queuesVerbs(this);
  /** The commands of calls without a script, and of the doctor. */
  private readonly client: RedisClient;
  private readonly link: StoreLink;
  private isClosed = false;

  constructor(
    readonly clock: Clock = systemClock,
    { server = serverBy(clock), link = runAtOnce }: ScriptStoreOptions = {},
  ) {
    this.server = server;
    this.link = link;
    this.client = clientOf(server, link);
  }

  /** False after the end of its app, which refuses new jobs then, as a closed connection does. */
  get isReady(): boolean {
    return !this.isClosed;
  }

  /** @throws RedisUnsuitableError after the end of its app */
  async whenReady(): Promise<void> {
    if (this.isClosed) throw new RedisUnsuitableError('The app is closed, and its queues in memory with it.');
  }

  close(): void {
    this.isClosed = true;
  }

  async open(queue: string, options: ResolvedQueueOptions): Promise<QueueCalls> {
    const calls = this.unobserved(queue, options);
    const first = command(this.server, 'hmget', calls.keys.sweep, ...READ_FIRST) as (string | null)[];
    return this.observed(callsOfKnownQueue(calls, first), options);
  }

  callsOf(queue: string, options: ResolvedQueueOptions): QueueCalls {
    return this.observed(this.unobserved(queue, options), options);
  }

  connectionOf(): undefined {
    return undefined; // it cannot be lost
  }

  serverOf(_queue?: StoreCalls): string {
    return '';
  }

  /** Returns whether a call had no reply: nothing else passes here. */
  passes(error: unknown): boolean {
    return error instanceof RedisUnsuitableError;
  }

  async prepare(): Promise<void> {}

  exec<Reply>(call: StoreCall<Reply>, { timeoutMs }: CallLimit = {}): Promise<Reply> {
    const reply = this.run(call as RedisCall<Reply>);
    return timeoutMs === undefined ? this.resend(call, reply) : this.limit(timeoutMs, reply);
  }

  patience(): (limitMs: number) => number {
    return () => 0;
  }

  transport(_logger?: JobQueueLogger): StoreTransport {
    return new ScriptTransport(this);
  }

  workerWait(worker: string, queues: readonly StoreCalls[]): WorkerWait {
    return new ScriptWait(this, queues as readonly QueueCalls[], worker);
  }

  /** Has no wakes, because one wait covers all queues. */
  async listenForWakes(
    _worker: string,
    _queues: readonly StoreCalls[],
    _listener: WakeListener,
  ): Promise<WakeSubscription | undefined> {
    return undefined;
  }

  consumerWait(queue: StoreCalls): ConsumerWait {
    const wait = new ScriptWait(this, []);
    return { wait: async (ms) => void (await wait.wait([queue], ms, [])), close: () => wait.close() };
  }

  async subscribe(queue: StoreCalls, listener: (event: JobEvent) => void): Promise<() => void> {
    const { keys, options } = queue as QueueCalls;
    if (options.events === 'off') return () => {}; // an observed server has them
    return this.server.subscribe(toBytes(keys.events), (message) => {
      const event = parseEvent(toText(message));
      if (event) listener(event);
    });
  }

  async listenToStream(queue: StoreCalls, id: string, listener: (message: string) => void): Promise<() => void> {
    const { keys } = queue as QueueCalls;
    return this.server.subscribe(toBytes(keys.stream(id)), (message) => listener(toText(message)));
  }

  /** True: in memory every replica always has every write. */
  readonly replicated: ReplicatedEnqueues = {
    ready: async () => {},
    patience: () => () => 0,
    send: async (
      queue: StoreCalls,
      jobs: readonly EncodedJob[],
      { replicas }: ReplicationOptions,
    ): Promise<EnqueueReply[]> => {
      const replies = await this.exec((queue as QueueCalls).enqueue(jobs, true));
      return replies.map((reply) => ({ ...reply, replication: { acknowledged: replicas, failure: undefined } }));
    },
  };

  /** Finds nothing, because no other program writes here. */
  async checkKeys(): Promise<void> {}

  audit(queue: StoreCalls, options: Required<DoctorOptions>, limit: Required<CallLimit>): Promise<DoctorReport> {
    const calls = queue as QueueCalls;
    const access = {
      client: this.client,
      run: <Reply>(call: RedisCall<Reply>) => this.exec(call, limit),
      ask: <Reply>(question: () => Promise<Reply>) => question(),
      open: (name: string) => this.open(name, calls.options),
    };
    return new Doctor(access, calls, options).run();
  }

  async erase(queue: StoreCalls): Promise<void> {
    const { keys } = queue as QueueCalls;
    for (const key of this.server.keys.keys()) {
      if (keys.owns(toText(key))) this.server.keys.delete(key);
    }
  }

  closeIdle(): void {}

  private run<Reply>(call: RedisCall<Reply>): Promise<Reply> {
    if ('send' in call) return call.send(this.client).then((reply) => decodedOf(call, reply));
    return this.link(call.script, () => {
      const reply = this.evaluate(call);
      const next = call.resend?.(reply);
      return next ? decodedOf(next, this.evaluate(next)) : decodedOf(call, reply);
    });
  }

  private evaluate(call: CallWithJobs): unknown {
    const { server, isSharded } = this;
    const run = () => evaluate(server, call, isSharded);
    return server instanceof ObservedServer ? server.sending(call, run) : run();
  }

  /** Sends a call without a limit again, as on each connection that replaces a silent one. */
  private async resend<Reply>(call: StoreCall<Reply>, reply: Promise<Reply>): Promise<Reply> {
    try {
      return await this.limit(TRIP_MS, reply);
    } catch (error) {
      if (error instanceof RedisUnsuitableError) {
        return this.exec(call);
      }
      throw error;
    }
  }

  private limit<Reply>(timeoutMs: number, reply: Promise<Reply>): Promise<Reply> {
    return within(this.clock, timeoutMs, reply, () => {
      throw new RedisUnsuitableError(`The store gave no answer within ${timeoutMs} ms.`);
    });
  }

  /** Returns the calls of a queue. A queue without events publishes them where the server is observed. */
  private unobserved(queue: string, options: ResolvedQueueOptions): QueueCalls {
    const isHeard = this.server instanceof ObservedServer && options.events === 'off';
    return callsOfQueue(queue, isHeard ? { ...options, events: 'listened' } : options, this.isSharded);
  }

  /** Lets an observed server see what is asked of a queue. */
  private observed(calls: QueueCalls, options: ResolvedQueueOptions): QueueCalls {
    return this.server instanceof ObservedServer ? this.server.watch(calls, options) : calls;
  }
}

/** Sends each call again until it is answered, as each can be repeated. */
class ScriptTransport implements StoreTransport {
  private closed = false;
  private readonly aborts = new Set<() => void>();

  constructor(private readonly store: ScriptStore) {}

  async carry<Replies extends unknown[]>(calls: {
    [Index in keyof Replies]: StoreCall<Replies[Index]>;
  }): Promise<{ [Index in keyof Replies]: Settled<Replies[Index]> }> {
    const settled: Settled<unknown>[] = await Promise.all(
      (calls as StoreCall<unknown>[]).map((call) => this.untilAnswered(call)),
    );
    return settled as { [Index in keyof Replies]: Settled<Replies[Index]> };
  }

  close(): void {
    this.closed = true;
    this.aborts.forEach((abort) => abort());
  }

  private async untilAnswered(call: StoreCall<unknown>): Promise<Settled<unknown>> {
    let abort!: () => void;
    const closed = new Promise<Settled<unknown>>((resolve) => {
      abort = () => resolve({ ok: false, error: new Error('the worker is being stopped') });
    });
    this.aborts.add(abort);
    const attempt = async (): Promise<Settled<unknown>> => {
      for (;;) {
        try {
          return { ok: true, reply: await this.store.exec(call, { timeoutMs: TRIP_MS }) };
        } catch (error) {
          if (this.closed || !(error instanceof RedisUnsuitableError)) {
            return { ok: false, error: error as Error };
          }
        }
      }
    };
    const outcome = await Promise.race([attempt(), closed]);
    this.aborts.delete(abort);
    return outcome;
  }
}

/** Waits on the server for a marker, and then runs the calls. */
class ScriptWait implements WorkerWait {
  private readonly transport: StoreTransport;
  private readonly keys: WaitKeys;
  private end: (() => void) | undefined;
  private closed = false;

  /** @param worker whose cancels end the wait too; undefined for a consumer */
  constructor(
    private readonly store: ScriptStore,
    private readonly queues: readonly QueueCalls[],
    private readonly worker?: string,
  ) {
    this.keys = new WaitKeys(queues, worker);
    this.transport = store.transport(silentLogger);
  }

  async wait<Replies extends unknown[]>(
    queues: readonly StoreCalls[],
    ms: number,
    calls: { [Index in keyof Replies]: StoreCall<Replies[Index]> },
    running: readonly StoreCalls[] = this.queues,
  ): Promise<WaitOutcome<Replies>> {
    const marker = this.closed ? undefined : await this.marker(this.keys.of(queues, running), ms);
    const outcomes = await this.transport.carry<Replies>(calls);
    if (!marker) return { outcomes };
    return { outcomes, ...this.keys.told(queues, marker.key, marker.member === CANCEL_MARKER) };
  }

  interrupt(): void {
    this.end?.();
  }

  close(): void {
    this.closed = true;
    this.end?.();
    this.transport.close();
  }

  private marker(keys: readonly string[], ms: number): Promise<{ key: string; member: string } | undefined> {
    const { clock, server } = this.store;
    return new Promise((resolve) => {
      const registered: { forget?: () => void } = {}; // the server may end the wait while it is registered
      const stop = (marker?: { key: string; member: string }) => {
        clock.clear(timer);
        registered.forget?.();
        this.end = undefined;
        resolve(marker);
      };
      const timer = clock.setTimeout(() => stop(), ms);
      this.end = () => stop();
      registered.forget = server.wait({
        keys: keys.map(toBytes),
        worker: this.worker,
        end: (key, member) => stop({ key: toText(key), member: toText(member) }),
      });
    });
  }
}

function serverBy(clock: Clock): ScriptServer {
  return new ScriptServer(() => clock.now(), { random: () => clock.random() });
}

async function runAtOnce<Reply>(_script: string, run: () => Reply): Promise<Reply> {
  return run();
}
