import { brand, brandCheck } from './errors/brand.js';
import { Connection } from './redis/connection.js';
import { addressOf, serverOfKey, socketOfKey } from './redis/address.js';
import { isPassing } from './redis/passing-errors.js';
import { silenceOf, isUnanswered, unansweredError, withResponseTimeout } from './redis/response-timeout.js';
import { DurableConnection } from './transport/durable-connection.js';
import { EventSubscriber } from './redis/event-subscriber.js';
import type { RedisClient } from './redis/redis-client.js';
import { isAutoPipelinedForeignClient, ScriptRunner, type RedisCall } from './transport/script-runner.js';
import { scanKeys } from './redis/scan-keys.js';
import { RetryingTransport } from './transport/retrying-transport.js';
import { loadLateFiles } from './transport/late-files.js';
import { isWrongType, nameWrongKeys, wrongKeys } from './transport/wrong-keys.js';
import { typesOfQueue } from './validation/key-types.js';
import { RedisKeyTypeError } from './errors/redis-errors.js';
import { Doctor } from './doctor/doctor.js';
import { systemClock, type Clock } from './runtime/clock.js';
import type { DoctorOptions, DoctorReport } from './model/doctor-report.js';
import type { EventListener } from './store/event-listeners.js';
import type { JobQueueLogger } from './runtime/logger.js';
import type { ResolvedQueueOptions } from './model/queue-options.js';
import type { QueueCalls } from './scripts/all-calls.js';
import {
  callsOfKnownQueue,
  callsOfQueue,
  READ_FIRST,
  PRODUCER_CONTENT,
  producerAnnouncement,
} from './scripts/audited-calls.js';
import type { QueueKeys } from './scripts/queue-keys.js';
import { Preparation } from './scripts/preparation.js';
import { RedisConsumerWait, RedisWorkerWait } from './scripts/worker-wait.js';
import { queuesVerbs } from './scripts/queues-calls.js';
import { listenForWakes } from './scripts/worker-wakes.js';
import type { EncodedJob } from './store/enqueue-call.js';
import type { CallLimit, QueueStore, ReplicationOptions, WakeListener } from './store/queue-store.js';
import type { StoreCall } from './store/store-call.js';
import type { StoreCalls } from './store/store-calls.js';
import type { QueuesVerbs } from './store/queues-verbs.js';
import { keptIn } from './runtime/collections.js';

/** The store behind one client of the application: runs scripts, resends them, and decodes their replies. */
export class RedisStore implements QueueStore {
  readonly isShared = true;
  private static readonly known = new WeakMap<RedisClient, RedisStore>();

  static {
    brand(this, 'RedisStore');
  }

  readonly connection: Connection;
  readonly runner: ScriptRunner;
  readonly queues: QueuesVerbs = queuesVerbs(this);
  private readonly preparation = new Preparation(this);

  /**
   * Returns the store of a client, always the same object.
   *
   * @throws RedisUnsuitableError when the client has a `keyPrefix`: use the `prefix` option
   */
  static of(client: RedisClient): RedisStore {
    return keptIn(RedisStore.known, client, () => new RedisStore(client));
  }

  constructor(
    client: RedisClient,
    readonly clock: Clock = systemClock,
  ) {
    this.connection = Connection.of(client);
    this.runner = new ScriptRunner(client, () => this.isSharded);
  }

  get place(): string {
    return `Redis at ${addressOf(this.connection.client)}`;
  }

  get trouble(): string | undefined {
    return this.isReady ? undefined : this.connection.trouble;
  }

  get logger(): JobQueueLogger {
    return this.connection.logger;
  }

  set logger(logger: JobQueueLogger) {
    this.connection.logger = logger;
  }

  get isReady(): boolean {
    return this.connection.ready && this.connection.facts !== undefined;
  }

  get isSharded(): boolean {
    return this.connection.isSharded;
  }

  get sendsLater(): boolean {
    return isAutoPipelinedForeignClient(this.connection.client);
  }

  whenReady(): Promise<void> {
    return this.connection.whenReady();
  }

  async open(
    queue: string,
    options: ResolvedQueueOptions,
    { timeoutMs }: Required<CallLimit>,
  ): Promise<QueueCalls> {
    return this.ask(timeoutMs, () => this.callsOfKnownLayout(queue, options));
  }

  /**
   * Reads the layout once for each queue, and not for each job.
   *
   * @throws QueueLayoutError
   */
  private async callsOfKnownLayout(queue: string, options: ResolvedQueueOptions): Promise<QueueCalls> {
    await this.connection.inspect();
    loadLateFiles();
    const calls = this.callsOf(queue, options);
    return callsOfKnownQueue(calls, await this.announced(calls.keys));
  }

  announceProducer(calls: StoreCalls): void {
    const { keys } = calls as QueueCalls;
    const content = producerAnnouncement(calls.options, calls.announced.ofProducers);
    if (content !== undefined) {
      calls.announced.ofProducers = content; // else each call announced it again
      this.connection.client.hset(keys.sweep, PRODUCER_CONTENT, content).catch((error: unknown) => {
        calls.announced.ofProducers = null;
        this.logger.debug?.(`Could not announce the content of queue "${keys.queue}": ${(error as Error).message}`);
      });
    }
  }

  private async announced({ sweep, base }: QueueKeys): Promise<(string | null)[]> {
    const { client } = this.connection;
    try {
      return await client.hmget(sweep, ...READ_FIRST);
    } catch (error) {
      throw isWrongType(error) ? await nameWrongKeys(client, error, typesOfQueue(base)) : error;
    }
  }

  callsOf(queue: string, options: ResolvedQueueOptions): QueueCalls {
    return callsOfQueue(queue, options, this.isSharded);
  }

  passes(error: unknown): boolean {
    return isPassing(error);
  }

  prepare(calls: StoreCalls): Promise<void> {
    return this.preparation.prepare(calls as QueueCalls);
  }

  /** Returns the address of the server that has a queue; '' for the only one. */
  serverOf({ keys }: QueueCalls): string {
    return serverOfKey(this.connection.client, keys.jobPrefix);
  }

  connectionOf({ keys }: QueueCalls): object | undefined {
    return socketOfKey(this.connection.client, keys.jobPrefix);
  }

  exec<Reply>(call: StoreCall<Reply>, { timeoutMs }: CallLimit = {}): Promise<Reply> {
    const step = call as RedisCall<Reply>;
    return timeoutMs === undefined ? this.runner.run(step) : this.ask(timeoutMs, () => this.runner.run(step));
  }

  /**
   * Asks the server with a time limit. Without a reply in time, the connection is replaced.
   *
   * @param limitMs how long the server may take to connect, and then to reply
   */
  ask<Reply>(limitMs: number, question: () => Promise<Reply>): Promise<Reply> {
    const { client, ready } = this.connection;
    if (ready) {
      return withResponseTimeout(client, limitMs, question());
    }
    // Waits for the connection, because a command in the client's own queue could not be taken back.
    return withResponseTimeout(client, limitMs, this.connection.whenReady()).then(
      () => withResponseTimeout(client, limitMs, question()),
      (error: unknown) => {
        const { trouble } = this;
        throw trouble && isUnanswered(error)
          ? unansweredError(`${this.place} did not answer within ${limitMs} ms (${trouble}).`)
          : error;
      },
    );
  }

  patience(askedAtMs: number): (limitMs: number) => number {
    return patienceWith(this.connection.client, askedAtMs);
  }

  transport(logger: JobQueueLogger): RetryingTransport {
    return new RetryingTransport(this.connection.client, this.runner, logger);
  }

  workerWait(worker: string, queues: readonly StoreCalls[], logger: JobQueueLogger): RedisWorkerWait {
    return new RedisWorkerWait(this.connection, worker, queues as readonly QueueCalls[], logger);
  }

  listenForWakes(worker: string, queues: readonly StoreCalls[], listener: WakeListener) {
    const { connection } = this;
    const exec = this.exec.bind(this);
    return listenForWakes({ connection, exec }, worker, queues as readonly QueueCalls[], listener);
  }

  consumerWait(queue: StoreCalls): RedisConsumerWait {
    return new RedisConsumerWait(this.connection, keysOf(queue).wake);
  }

  subscribe(queue: StoreCalls, ...to: [listener: EventListener, ids?: readonly string[]]): Promise<() => void> {
    return EventSubscriber.of(this.connection).listen(keysOf(queue).events, ...to);
  }

  listenToStream(queue: StoreCalls, id: string, listener: (message: string) => void): Promise<() => void> {
    return EventSubscriber.of(this.connection).listenTo(keysOf(queue).stream(id), listener);
  }

  readonly replicated = {
    patience: (askedAtMs: number) => {
      const { sender = this.connection.client } = DurableConnection.of(this.connection);
      return patienceWith(sender, askedAtMs);
    },
    ready: (): Promise<void> => DurableConnection.of(this.connection).ready(),
    send: (queue: StoreCalls, jobs: readonly EncodedJob[], policy: ReplicationOptions) => {
      const calls = queue as QueueCalls;
      return DurableConnection.of(this.connection).send(calls.enqueue(jobs, true), calls.keys.stats, policy);
    },
  };

  async checkKeys(queue: StoreCalls, { timeoutMs }: Required<CallLimit>): Promise<void> {
    const types = typesOfQueue(keysOf(queue).base);
    const wrong = await this.ask(timeoutMs, () => wrongKeys(this.connection.client, types));
    if (wrong.length > 0) {
      throw new RedisKeyTypeError(wrong);
    }
  }

  audit(
    queue: StoreCalls,
    options: Required<DoctorOptions>,
    { timeoutMs }: Required<CallLimit>,
  ): Promise<DoctorReport> {
    const access = {
      client: this.connection.client,
      run: <Reply>(call: RedisCall<Reply>) => this.exec(call, { timeoutMs }),
      ask: <Reply>(question: () => Promise<Reply>) => this.ask(timeoutMs, question),
      open: (name: string) => this.open(name, (queue as QueueCalls).options, { timeoutMs }),
    };
    return new Doctor(access, queue as QueueCalls, options).run();
  }

  async erase(queue: StoreCalls, { timeoutMs }: Required<CallLimit>): Promise<void> {
    const { client } = this.connection;
    const keys = keysOf(queue);
    for await (const page of scanKeys(client, keys.base, (question) => this.ask(timeoutMs, question))) {
      const own = page.filter((key) => keys.owns(key));
      if (own.length > 0) {
        await this.ask(timeoutMs, () => client.unlink(...own));
      }
    }
  }

  closeIdle(): void {
    EventSubscriber.of(this.connection).closeIdle();
    DurableConnection.of(this.connection).closeIdle();
  }
}

function patienceWith(client: RedisClient, askedAtMs: number): (limitMs: number) => number {
  const silence = silenceOf(client, askedAtMs);
  return (limitMs) => silence.remainingMs(limitMs);
}

/** Returns the keys of calls that this store made. */
function keysOf(calls: StoreCalls): QueueKeys {
  return (calls as QueueCalls).keys;
}

/** Returns whether a store is on Redis, also one of another copy of this package. */
export const isRedisStore: (store: unknown) => store is RedisStore = brandCheck('RedisStore');
