// The seam between the runtime (queues, workers) and what keeps the jobs.
import type { Clock } from '../runtime/clock.js';
import type { DoctorOptions, DoctorReport } from '../model/doctor-report.js';
import type { JobEvent } from '../model/job-event.js';
import type { JobQueueLogger } from '../runtime/logger.js';
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { EncodedJob, EnqueueReply } from './enqueue-call.js';
import type { OutboxWriter } from './outbox-writer.js';
import type { CallLimit, Settled, StoreCall } from './store-call.js';
import type { StoreCalls } from './store-calls.js';
import type { QueuesVerbs } from './queues-verbs.js';

export type { CallLimit, Settled } from './store-call.js';

/** The number of replicas that must have a job, and the time to wait for them. */
export interface ReplicationOptions {
  replicas: number;
  /** The time to wait for the replicas, in ms. */
  timeoutMs: number;
  /** The time the server may take besides that, in ms, before its connection counts as dead. */
  replyMs: number;
}

/**
 * The storage of queues: a Redis server or Cluster behind one client, or the memory of a test. Queues, workers, results and
 * operators know storage only by this interface. Every step on a queue is a {@link StoreCall}, made by {@link StoreCalls}.
 * The store runs the calls one by one, in round trips, or behind a wait.
 *
 * A new verb is a method of StoreCalls in each store, and the model test then compares the stores.
 */
export interface QueueStore {
  /** The time and the chance of all queues and workers on this store. */
  readonly clock: Clock;
  /** The place of the store for errors: `Redis at localhost:6379`. Without a password. */
  readonly place: string;
  /** The last error of the connection, while the store is away; undefined if it is not known. */
  readonly trouble?: string | undefined;
  /** The logger for errors of the store's own work. */
  logger: JobQueueLogger;

  /** True while the store is connected and known to be suitable. */
  readonly isReady: boolean;
  /** True if queues are on several masters, some of which may be unreachable while others work. */
  readonly isSharded: boolean;
  /** True if processes of other versions may use the same queues. */
  readonly isShared: boolean;
  /** True if a call is sent only after the tick in which it was made. */
  readonly sendsLater: boolean;

  /**
   * Waits until the store is connected and known to be suitable. It has no time limit.
   *
   * @throws RedisUnsuitableError, RedisPermissionError
   */
  whenReady(): Promise<void>;

  /**
   * Returns the calls of one queue, once the store knows the queue's format.
   *
   * @throws QueueLayoutError if a newer version of the library wrote the queue; RedisUnsuitableError, also without a
   *   reply in time
   */
  open(queue: string, options: ResolvedQueueOptions, limit: Required<CallLimit>): Promise<StoreCalls>;

  /** Returns the calls of one queue without a look at its format, which `register` checks. Only once the store is ready. */
  callsOf(queue: string, options: ResolvedQueueOptions): StoreCalls;

  /** The verbs that reach many queues in few calls. */
  readonly queues: QueuesVerbs;

  /** Returns the name of the server that has a queue; '' for the only one. */
  serverOf(queue: StoreCalls): string;

  /** Returns what stands for the connection to the server of a queue. It is another object after a reconnect. */
  connectionOf(queue: StoreCalls): object | undefined;

  /** Returns whether an error passes without a change to the setup, so that the call can be repeated. */
  passes(error: unknown): boolean;

  /**
   * Prepares for a worker. Then no call is refused halfway, and the first start of a job costs no more than the next.
   *
   * @throws RedisPermissionError that names the missing permissions of the connection's user
   */
  prepare(calls: StoreCalls): Promise<void>;
  /**
   * Announces the codec and the redaction of a process that enqueues, before its first payload is sent. Windows then know what
   * to hide, also before a worker has started. A refusal is only logged, because a user of Redis who may not write there
   * cannot enqueue either. Absent in a store that no other process shares.
   */
  announceProducer?(calls: StoreCalls): void;

  /**
   * Runs one call. With a limit it waits for the store to be ready, and replaces a connection that does not reply.
   *
   * @throws RedisUnsuitableError where no reply came in time: the step may have been done
   */
  exec<Reply>(call: StoreCall<Reply>, limit?: CallLimit): Promise<Reply>;

  /**
   * Returns how much longer a reply may take, in ms, because bytes move over the connection. 0 if it is late.
   *
   * @param askedAtMs when the reply was requested, by `clock.monotonic`
   */
  patience(askedAtMs: number): (limitMs: number) => number;

  /** Returns a way to run calls of a worker until each has a reply, through outages of any length. */
  transport(logger: JobQueueLogger): StoreTransport;

  /** Returns a worker's wait for jobs of some queues, and for cancels, on a separate connection. */
  workerWait(worker: string, queues: readonly StoreCalls[], logger: JobQueueLogger): WorkerWait;

  /**
   * Listens for the wakes of a worker in its queues, over connections that all its queues share. Resolves once that is
   * asked for; with undefined if the store cannot: then each queue needs a wait.
   *
   * @throws RedisPermissionError; another error of a server that cannot wake
   */
  listenForWakes(
    worker: string,
    queues: readonly StoreCalls[],
    listener: WakeListener,
  ): Promise<WakeSubscription | undefined>;

  /** Returns the wait of a manual consumer for jobs of one queue. */
  consumerWait(queue: StoreCalls): ConsumerWait;

  /**
   * Listens to the events of a queue. Resolves, once the store has confirmed it, with the function that ends it.
   *
   * @param ids the jobs to listen to; undefined for all
   * @throws RedisPermissionError
   */
  subscribe(queue: StoreCalls, listener: (event: JobEvent) => void, ids?: readonly string[]): Promise<() => void>;

  /**
   * Listens to the stream of a job. Resolves, once the store has confirmed it, with the function that ends it. Messages can be missed.
   *
   * @throws RedisPermissionError
   */
  listenToStream(queue: StoreCalls, id: string, listener: (message: string) => void): Promise<() => void>;

  /** The way of enqueues that wait for replicas. */
  readonly replicated: ReplicatedEnqueues;

  /**
   * Checks the keys of a queue that another program may have written.
   *
   * @throws RedisKeyTypeError where one has a wrong type
   */
  checkKeys(queue: StoreCalls, limit: Required<CallLimit>): Promise<void>;

  /** Audits a queue; see JobQueue.doctor. */
  audit(queue: StoreCalls, options: Required<DoctorOptions>, limit: Required<CallLimit>): Promise<DoctorReport>;

  /** Deletes every key of a queue. The cost grows with the number of keys in the database. */
  erase(queue: StoreCalls, limit: Required<CallLimit>): Promise<void>;

  /** Closes unused connections; each opens again on demand. */
  closeIdle(): void;
}

/** Runs the calls of a worker. Each can be repeated, so a call without a reply is sent again unchanged. */
export interface StoreTransport {
  /** Runs the calls in one round trip, in order. Resolves when each has its reply, or an error that will not pass. */
  carry<Replies extends unknown[]>(calls: {
    [Index in keyof Replies]: StoreCall<Replies[Index]>;
  }): Promise<{ [Index in keyof Replies]: Settled<Replies[Index]> }>;
  /** Ends all waiting: a call without a reply by now gets none. */
  close(): void;
}

/** The result of a wait. */
export interface WaitOutcome<Replies extends unknown[]> {
  outcomes: { [Index in keyof Replies]: Settled<Replies[Index]> };
  /** The queue with a cancel request for a job that the worker has claimed. It may have ended the wait. */
  cancelIn?: StoreCalls;
  /** The queue whose marker ended the wait. */
  wokenIn?: StoreCalls;
  /** Set where the store refused to wait: the calls ran at once. */
  refusal?: { error: Error; passes: boolean };
}

/** A worker's wait for jobs; one at a time. */
export interface WorkerWait {
  /**
   * Waits at most `ms` until a job of a queue is claimable. A cancel request for a job of the worker ends the wait too.
   * Then runs the calls.
   *
   * @param queues the queues to wait for, the first with precedence; none: only cancels
   * @param running the queues whose jobs a cancel may reach; default: all of the worker
   */
  wait<Replies extends unknown[]>(
    queues: readonly StoreCalls[],
    ms: number,
    calls: { [Index in keyof Replies]: StoreCall<Replies[Index]> },
    running?: readonly StoreCalls[],
  ): Promise<WaitOutcome<Replies>>;
  /** Ends the current wait, whose calls then run. */
  interrupt(): void;
  /** Closes its connection, and waits for no reply any more. */
  close(): void;
}

/** Receives the wakes of a worker. */
export interface WakeListener {
  /** Called when a claim that finds too little makes the worker a waiter from now on. Wakes before were missed. */
  confirmed(queue: StoreCalls): void;
  /** Called when a job of a queue may be claimable, which no other worker was told. */
  woken(queue: StoreCalls): void;
  /** Called when a cancel was asked for of a job that the worker has claimed. */
  cancelled(queue: StoreCalls): void;
  /** Called when the store refuses to wake: the queues need waits. */
  refused(error: Error): void;
}

/** The subscription to the wakes of a worker. */
export interface WakeSubscription {
  /** Subscribes a queue again, because the server confirmed its subscription and does not count it. */
  renew(queue: StoreCalls): void;
  /** Ends it for all queues. */
  leave(): void;
}

/** A manual consumer's wait for jobs. Several waits at a time share one. */
export interface ConsumerWait {
  /** Resolves when a job may have come, or after `ms`. */
  wait(ms: number): Promise<void>;
  close(): void;
}

/** Enqueues that replicas acknowledge. */
export interface ReplicatedEnqueues {
  /** Resolves once it is connected, so that an earlier failure counts as not sent. */
  ready(): Promise<void>;
  /** See QueueStore; for its own connection. */
  patience(askedAtMs: number): (limitMs: number) => number;
  /** Enqueues, and waits for the replicas; each reply says how many acknowledged it in time. */
  send(queue: StoreCalls, jobs: readonly EncodedJob[], replication: ReplicationOptions): Promise<EnqueueReply[]>;
}

/** A queue as its own parts see it: the way to run a step on it. */
export interface QueueAccess {
  readonly name: string;
  readonly options: ResolvedQueueOptions;
  readonly store: QueueStore;
  /** Returns the calls of this queue, once the store knows how it is kept. */
  calls(): Promise<StoreCalls>;
  /** The time limit of a step without its own: `enqueueTimeoutMs`, at least a second. */
  readonly callLimit: Required<CallLimit>;
  /**
   * Runs one step.
   *
   * @throws RedisUnsuitableError where no reply came in time: the step may have been done
   */
  exec<Reply>(build: (calls: StoreCalls) => StoreCall<Reply>, limit?: CallLimit): Promise<Reply>;
}

/** A queue whose own parts wait. */
export interface SleepingQueue extends QueueAccess {
  /** Waits; rejects once the queue is closed. */
  sleep(ms: number): Promise<void>;
  /** Set for shards only. */
  readonly follow?: FollowReplies | undefined;
}

/** Makes a call in a shard, and notes how long its reply is owed. Then later calls pass over a silent shard. */
export type FollowReplies = <Reply>(call: () => Promise<Reply>) => Promise<Reply>;

/** A queue that jobs are added to. */
export interface ProducingQueue extends QueueAccess {
  /** Returns the outbox of the app; undefined without one. */
  outbox?(): OutboxWriter | undefined;
  /** Returns the calls of this queue for its producer, once windows can know what its payloads hide. */
  producerCalls(): Promise<StoreCalls>;
  /** True if a person acts by this object, in a process without the key of the queue. */
  readonly isPlainWindow: boolean;
  /** True while the layout of the queue is read. */
  readonly isBeingOpened: boolean;
  /** Returns the shard of a job by its options; undefined without a key. Set for shards only. */
  shardOfJob?: ((subject: string, options: unknown) => { readonly name: string } | undefined) | undefined;
}

/** A queue whose state an operator changes. */
export interface ChangedQueue extends QueueAccess {
  /** Looks at the queue's name after a change. */
  afterChange?: (verb: string) => Promise<void>;
}
