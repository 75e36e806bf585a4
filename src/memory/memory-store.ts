import { systemClock, type Clock } from '../queue/runtime/clock.js';
import type { DoctorReport } from '../queue/model/doctor-report.js';
import { RedisUnsuitableError } from '../queue/errors/errors.js';
import type { JobEvent } from '../queue/model/job-event.js';
import { silentLogger, type JobQueueLogger } from '../queue/runtime/logger.js';
import type { ResolvedQueueOptions } from '../queue/model/queue-options.js';
import { within } from '../queue/runtime/within.js';
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
  WakeSubscription,
  WorkerWait,
} from '../queue/store/queue-store.js';
import type { StoreCall } from '../queue/store/store-call.js';
import type { StoreCalls } from '../queue/store/store-calls.js';
import type { QueuesVerbs } from '../queue/store/verbs/queues-verbs.js';
import type { MemoryCall } from './verbs/memory-call.js';
import { memoryCalls, type MemoryCalls } from './memory-calls.js';
import { MemoryServer } from './memory-server.js';
import { queuesVerbs } from './memory-queues.js';

/** The time a worker waits for the reply of a trip before it sends it again, in ms. */
const TRIP_MS = 10_000;

/**
 * Simulates the network between a store and its server. It may run a call late, never, or twice, or lose the reply with a
 * promise that never resolves.
 */
export type StoreLink = <Reply>(script: string, run: () => Reply) => Promise<Reply>;

interface MemoryStoreOptions {
  /** The server that several stores share, as processes share a Redis. @default a new server */
  server?: MemoryServer;
  /** Default: each call runs at once, and is answered in the next microtask. */
  link?: StoreLink;
}

/**
 * Keeps queues in the memory of the process, for tests. Queues and workers use it like Redis.
 *
 * @example
 * const queue = new JobQueue(new MemoryStore(), 'jobs');
 */
export class MemoryStore implements QueueStore {
  readonly place = 'the memory of this process';
  readonly isSharded: boolean = false;
  readonly sendsLater = false;
  logger: JobQueueLogger = silentLogger;
  readonly server: MemoryServer;
  readonly queues: QueuesVerbs = queuesVerbs(this);
  private readonly link: StoreLink;
  private isClosed = false;

  constructor(
    readonly clock: Clock = systemClock,
    { server = new MemoryServer(() => clock.now()), link = runAtOnce }: MemoryStoreOptions = {},
  ) {
    this.server = server;
    this.link = link;
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

  async open(queue: string, options: ResolvedQueueOptions): Promise<MemoryCalls> {
    return this.callsOf(queue, options);
  }

  callsOf(queue: string, options: ResolvedQueueOptions): MemoryCalls {
    return memoryCalls(this.server.queue(queue, options), options);
  }

  serverOf(): string {
    return '';
  }

  /** Returns whether a call had no reply: nothing else passes here. */
  passes(error: unknown): boolean {
    return error instanceof RedisUnsuitableError;
  }

  async prepare(): Promise<void> {}

  exec<Reply>(call: StoreCall<Reply>, { timeoutMs }: CallLimit = {}): Promise<Reply> {
    const reply = this.link(call.script, () =>
      this.server.step(() => call.decode((call as MemoryCall<Reply>).run())),
    );
    return timeoutMs === undefined ? this.resend(call, reply) : this.limit(timeoutMs, reply);
  }

  /** Sends a call without a limit again on each connection that replaces a silent one. */
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

  patience(): (limitMs: number) => number {
    return () => 0;
  }

  transport(_logger?: JobQueueLogger): StoreTransport {
    return new MemoryTransport(this);
  }

  workerWait(worker: string): WorkerWait {
    return new MemoryWait(this, worker);
  }

  /** Has no wakes, because one wait covers all queues. */
  async listenForWakes(): Promise<WakeSubscription | undefined> {
    return undefined;
  }

  consumerWait(queue: StoreCalls): ConsumerWait {
    const wait = new MemoryWait(this, undefined);
    return { wait: async (ms) => void (await wait.wait([queue], ms, [])), close: () => wait.close() };
  }

  async subscribe(queue: StoreCalls, listener: (event: JobEvent) => void): Promise<() => void> {
    return this.server.subscribe(queue.key, listener);
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
      const replies = await this.exec(queue.enqueue(jobs));
      return replies.map((reply) => ({ ...reply, replication: { acknowledged: replicas, failure: undefined } }));
    },
  };

  /** Finds nothing, because no other program writes here. */
  async checkKeys(): Promise<void> {}

  /** Finds nothing, for the same reason. */
  async audit(queue: StoreCalls): Promise<DoctorReport> {
    const { jobs, name } = (queue as MemoryCalls).queue;
    return { queue: name, checked: jobs.size, counts: {}, findings: [], durationMs: 0 };
  }

  async erase(queue: StoreCalls): Promise<void> {
    (queue as MemoryCalls).queue.erase();
  }

  closeIdle(): void {}
}

/** Sends each call again until it is answered, as each can be repeated. */
class MemoryTransport implements StoreTransport {
  private closed = false;
  private readonly abortWaits: (() => void)[] = [];

  constructor(private readonly store: MemoryStore) {}

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
    this.abortWaits.forEach((end) => end());
  }

  private async untilAnswered(call: StoreCall<unknown>): Promise<Settled<unknown>> {
    const closed = new Promise<Settled<unknown>>((resolve) => {
      this.abortWaits.push(() => resolve({ ok: false, error: new Error('the worker is being stopped') }));
    });
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
    this.abortWaits.splice(0, this.closed ? 0 : 1);
    return outcome;
  }
}

/** Waits on the server for a marker, and then runs the calls. */
class MemoryWait implements WorkerWait {
  private readonly transport: StoreTransport;
  private end: (() => void) | undefined;
  private closed = false;

  constructor(
    private readonly store: MemoryStore,
    private readonly worker: string | undefined,
  ) {
    this.transport = store.transport(silentLogger);
  }

  async wait<Replies extends unknown[]>(
    queues: readonly StoreCalls[],
    ms: number,
    calls: { [Index in keyof Replies]: StoreCall<Replies[Index]> },
  ): Promise<WaitOutcome<Replies>> {
    const { nudged, woken } = this.closed ? {} : await this.marker(queues, ms);
    const outcomes = await this.transport.carry<Replies>(calls);
    const find = (key: string | undefined) => queues.find((queue) => queue.key === key);
    return { outcomes, cancelIn: find(nudged), wokenIn: find(woken) };
  }

  interrupt(): void {
    this.end?.();
  }

  close(): void {
    this.closed = true;
    this.end?.();
    this.transport.close();
  }

  private marker(queues: readonly StoreCalls[], ms: number): Promise<{ nudged?: string; woken?: string }> {
    const { clock, server } = this.store;
    return new Promise((resolve) => {
      const registered: { forget?: () => void } = {}; // the server may end the wait while it is registered
      const stop = (nudged?: string, woken?: string) => {
        clock.clear(timer);
        registered.forget?.();
        this.end = undefined;
        resolve({ ...(nudged !== undefined && { nudged }), ...(woken !== undefined && { woken }) });
      };
      const timer = clock.setTimeout(() => stop(), ms);
      this.end = stop;
      registered.forget = server.wait({ queues: queues.map(({ key }) => key), worker: this.worker, end: stop });
    });
  }
}

async function runAtOnce<Reply>(_script: string, run: () => Reply): Promise<Reply> {
  return run();
}
