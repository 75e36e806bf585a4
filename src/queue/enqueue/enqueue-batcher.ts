import { EncryptedQueueError, EnqueueError } from '../errors/enqueue-errors.js';
import { RedisOutOfMemoryError, RedisStateError, QueueLayoutError, JobQueueError } from '../errors/errors.js';
import {
  explainState,
  RedisKeyTypeError,
  RedisPermissionError,
  remedyOfRefusal,
  withRemedy,
} from '../errors/redis-errors.js';
import { counted } from '../errors/show.js';
import type { JobHandle } from '../results/job-handle.js';
import type { Clock, Timer } from '../runtime/clock.js';
import { isGiant } from '../store/claim-refusal.js';
import { EnqueueRejected, type EnqueueReply, type EncodedJob } from '../store/enqueue-call.js';
import { afterLayoutCheck } from '../store/layout-check.js';
import type { CallLimit, QueueStore, ProducingQueue, QueueAccess } from '../store/queue-store.js';
import type { StoreCalls } from '../store/store-calls.js';

/** The most jobs of one script call; the payload is bounded too, because the call must not block the server. */
export const SLICE_JOBS = 500;
const SLICE_LENGTH = 1_000_000;

/** The number of single enqueues of a tick that are sent before it ends. It doubles each time. */
const FIRST_BURST_JOBS = 25;

/** Returns whether these jobs, alone in a call, fit one step. */
export function fitOneCall(jobs: readonly EncodedJob[]): boolean {
  return jobs.length <= SLICE_JOBS && jobs.reduce((sum, { payload }) => sum + payload.length, 0) < SLICE_LENGTH;
}

/** Returns whether only the server knows if it takes a job, and else refuses the whole step. */
export function mayBeRefused({ span, travelsAlone }: EncodedJob): boolean {
  return span !== undefined || travelsAlone === true;
}

/** The end of the message of an error in a script, in Redis 7. */
const INSIDE_A_SCRIPT = /\bscript: [0-9a-f]{40}\b/;

interface EnqueueBatcherOptions {
  /** The queue's name, for errors. */
  queue: string;
  store: QueueStore;
  /** The total time of an enqueue, in ms. It may be longer while its bytes or those of its reply move. */
  timeoutMs: number;
  /** The time limit of one call to the store. */
  callLimit: Required<CallLimit>;
  /** Sends a batch by another way than one call to the store. */
  deliver?: (calls: StoreCalls, jobs: EncodedJob[]) => Promise<EnqueueReply[]>;
  /** The store whose connection `deliver` uses. @default the store's */
  via?: Pick<QueueStore, 'patience'>;
  /** Returns the calls of the queue, before anything is sent. It is called again once they may be those of another layout. */
  open: () => Promise<StoreCalls>;
  /** True if `open` is called before each batch. */
  isOpenedAnew?: () => boolean;
  /** Prepares what must exist before the first call, beside the connection. */
  prepare?: () => Promise<void>;
  /** True if all jobs of a tick leave at its end. A second batch would have to wait for the first. */
  wholeTicks?: boolean;
}

interface Waiting {
  job: EncodedJob;
  resolve(reply: EnqueueReply): void;
  reject(error: Error): void;
}

/**
 * Sends enqueues to Redis. Enqueues of one tick share a call, so a hundred parallel ones cost three round trips side by
 * side. No job waits for a timer.
 *
 * While the connection is down, jobs wait here and not in the client's offline queue. An enqueue that was reported as
 * not sent must never be sent later.
 */
export class EnqueueBatcher {
  private waiting: Waiting[] = [];
  private burstJobs = FIRST_BURST_JOBS;
  /** True if some have left in this tick, or will once the code that makes them pauses. */
  private inTick = false;
  private calls: StoreCalls | undefined;
  /**
   * The first batch where the connection is not ready, or the queue is not open. It opens the queue, and brings the
   * script to a server without it. The others follow, because one that overtakes it would change the order of the jobs.
   */
  private leader: Promise<void> | undefined;
  private isFollowed = false;

  constructor(private readonly options: EnqueueBatcherOptions) {}

  enqueue(job: EncodedJob): Promise<EnqueueReply> {
    return new Promise((resolve, reject) => {
      if (this.waiting.push({ job, resolve, reject }) === 1) {
        this.leaveSoon();
      }
    });
  }

  /** Sends the first jobs of a tick when the code that makes them pauses. The later jobs leave at its end. */
  private leaveSoon(): void {
    if (this.inTick) {
      return;
    }
    this.inTick = true;
    if (this.options.wholeTicks) {
      this.awaitEndOfTick();
      return;
    }
    void this.leaveAtPause();
  }

  private async leaveAtPause(): Promise<void> {
    await Promise.resolve(); // a queueMicrotask is held up by a test with faked timers
    this.flush();
    this.awaitEndOfTick();
  }

  private awaitEndOfTick(): void {
    this.options.store.clock.soon(() => this.endTick());
  }

  /** Sends the waiting jobs of a burst once they are many. Then Redis works while the caller makes the rest. */
  sendBurst(): void {
    if (this.waiting.length >= this.burstJobs) {
      this.burstJobs *= 2;
      this.flush();
    }
  }

  private endTick(): void {
    this.inTick = false;
    this.burstJobs = FIRST_BURST_JOBS;
    this.flush();
  }

  private flush(): void {
    const waiting = this.waiting;
    this.waiting = [];
    let start = 0;
    let length = 0;
    for (let i = 0; i < waiting.length; i++) {
      length += waiting[i]!.job.payload.length;
      if (i - start + 1 === SLICE_JOBS || length >= SLICE_LENGTH || i === waiting.length - 1) {
        void this.send(waiting.slice(start, i + 1));
        start = i + 1;
        length = 0;
      }
    }
  }

  private untilChecked(calls: StoreCalls): StoreCalls {
    const { store, isOpenedAnew } = this.options;
    if (!isOpenedAnew?.()) {
      afterLayoutCheck(store, this, (batcher) => (batcher.calls = undefined));
      this.calls = calls;
    }
    return calls;
  }

  /** Begins to lead. Returns a function that ends it. Batches that wait for the leader are sent before later ones. */
  private lead(): () => void {
    let end!: () => void;
    const leader = new Promise<void>((resolve) => (end = resolve));
    const forget = () => {
      if (this.leader === leader) this.leader = undefined;
    };
    this.leader = leader;
    this.isFollowed = false;
    return () => {
      end();
      if (this.isFollowed) this.options.store.clock.soon(forget);
      else forget();
    };
  }

  private async send(slice: Waiting[]): Promise<void> {
    const { store, timeoutMs, callLimit, open, prepare, deliver, via = store } = this.options;
    const jobs = slice.map(({ job }) => job);
    const deadline = new Deadline(timeoutMs, store.clock);
    let sent = false;
    let endLead: (() => void) | undefined;
    try {
      for (let followed; this.leader && this.leader !== followed;) {
        this.isFollowed = true;
        await deadline.limitSilence((followed = this.leader), via);
      }
      let { calls } = this;
      if (!calls || !store.isReady) {
        endLead = this.lead();
        if (!store.isReady) {
          await deadline.limit(store.whenReady());
        }
        calls = this.untilChecked(await deadline.limit(open()));
        // A queue that is opened anew for each batch is known by now.
        if (!this.calls) endLead();
      }
      if (prepare) {
        await deadline.limit(prepare());
      }
      // The last one alone may be giant, because it ends its slice.
      if (isGiant(jobs.at(-1)!.payload)) {
        await deadline.limitSilence(store.exec(calls.notePayload(), callLimit), store);
      }
      sent = true;
      const delivered = deliver?.(calls, jobs) ?? store.exec(calls.enqueue(jobs), callLimit);
      // Another limit costs a timer for each batch. One that began with a wait covers the reply too.
      const endsInTime = !deliver && callLimit.timeoutMs <= timeoutMs && !deadline.isRunning;
      const replies = await (endsInTime ? delivered : deadline.limitSilence(delivered, via));
      slice.forEach((each, i) => each.resolve(replies[i]!));
    } catch (error) {
      // Rejects each caller with the error of its own job.
      slice.forEach((each) => each.reject(this.explain(error as Error, each.job, sent)));
    } finally {
      deadline.clear();
      endLead?.();
    }
  }

  private explain(error: Error, { id }: EncodedJob, sent: boolean): Error {
    if ([EnqueueRejected, QueueLayoutError, EncryptedQueueError].some((type) => error instanceof type)) {
      return error;
    }
    const { queue, store } = this.options;
    const state = explainState(error, store.place);
    if (state instanceof RedisOutOfMemoryError) {
      return new RedisOutOfMemoryError(
        `Enqueue to "${queue}" was refused: Redis is out of memory (maxmemory). Nothing was written. ${remedyOfRefusal(state.reply)}`,
        state.reply,
        { cause: state.cause },
      );
    }
    if (state instanceof RedisStateError) {
      const reason = withRemedy(`${store.place}: ${state.reply}`);
      return new EnqueueError(INSIDE_A_SCRIPT.test(state.reply) ? 'unknown' : 'not-sent', queue, [id], reason, {
        cause: state,
      });
    }
    const outcome = sent && !isRefusal(error) ? 'unknown' : 'not-sent';
    const why = sent || !store.trouble ? '' : ` (${store.trouble})`;
    const reason = withRemedy(`${store.place}: ${error.message}${why}`);
    return new EnqueueError(outcome, queue, [id], reason, { cause: error });
  }
}

/** Returns whether Redis refused the call before the script ran. If the script itself failed, some writes may be there. */
function isRefusal(error: Error): boolean {
  if (error instanceof RedisPermissionError || error instanceof RedisKeyTypeError) {
    return !(error.cause instanceof Error) || isRefusal(error.cause);
  }
  return error.name === 'ReplyError' && !INSIDE_A_SCRIPT.test(error.message);
}

/**
 * A time limit over several waits, which starts with the first. After a tick that used all of it, arrived replies are read
 * first.
 */
class Deadline {
  private timer: Timer | undefined;
  private passed: Promise<never> | undefined;
  private begunAt = 0;
  private patience: ((limitMs: number) => number) | undefined;

  constructor(
    private readonly ms: number,
    private readonly clock: Clock,
  ) {}

  get isRunning(): boolean {
    return this.passed !== undefined;
  }

  limit<Value>(promise: Promise<Value>): Promise<Value> {
    this.passed ??= this.begin();
    return Promise.race([promise, this.passed]);
  }

  /** Limits the wait for a reply, also for one of another batch. Extends it while bytes move over the connection. */
  limitSilence<Value>(reply: Promise<Value>, via: Pick<QueueStore, 'patience'>): Promise<Value> {
    const limited = this.limit(reply);
    this.patience = via.patience(this.begunAt);
    return limited;
  }

  clear(): void {
    this.clock.clear(this.timer);
  }

  private begin(): Promise<never> {
    this.begunAt = this.clock.monotonic();
    return new Promise((_, reject) => {
      const passIn = (ms: number) => {
        this.timer = this.clock.setTimeout(() => this.clock.afterReads(pass), ms);
      };
      const pass = () => {
        const leftMs = this.patience?.(this.ms) ?? 0;
        if (leftMs > 0) {
          passIn(leftMs);
        } else {
          reject(new Error(`no answer within ${this.ms} ms`));
        }
      };
      passIn(this.ms);
    });
  }
}

/**
 * An enqueue with `durability: 'replica'` was not acknowledged by enough replicas in time. The jobs are there: the master
 * has them, workers run them. They are lost only if the master fails before a replica has them.
 */
export class DurabilityTimeoutError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'DURABILITY_TIMEOUT';

  constructor(
    /** The name of the queue. */
    readonly queue: string,
    /** The handles of all jobs of the call, to read them, to await their results, or to cancel them. */
    readonly handles: readonly JobHandle[],
    /** The requested number of replicas. */
    readonly replicas: number,
    /** The number of replicas that acknowledged the jobs. */
    readonly acknowledged: number,
    /** The time limit for the replicas, in ms. */
    readonly timeoutMs: number,
    options?: ErrorOptions,
  ) {
    const ids = handles.map(({ id }) => id);
    const which = `${ids.length === 1 ? 'Job' : `${ids.length} jobs,`} ${ids.slice(0, 3).join(', ')}`;
    const reason = options?.cause ? ` (${(options.cause as Error).message})` : '';
    super(
      `${which}: expected ${counted(replicas, 'replica')} of Redis to have what was enqueued to "${queue}" within ${timeoutMs} ms, ` +
        `found ${acknowledged}${reason}. The master has it and it will run: do not enqueue it again without its id. ` +
        `It is lost only if the master fails before a replica has it.`,
      options,
    );
  }

  /** The ids of the jobs, which are written. */
  get jobIds(): string[] {
    return this.handles.map(({ id }) => id);
  }
}

/**
 * Returns a batcher that waits until replicas have the jobs, or reports how many had them in time.
 *
 * @param prepare see EnqueueBatcher
 */
export function durableBatcher(queue: ProducingQueue, prepare?: () => Promise<void>): EnqueueBatcher {
  const { replicas, durabilityTimeoutMs: timeoutMs, enqueueTimeoutMs: replyMs } = queue.options;
  const { store } = queue;
  return new EnqueueBatcher({
    queue: queue.name,
    store,
    callLimit: queue.callLimit,
    timeoutMs: replyMs + 2 * timeoutMs, // an enqueue may have to let another one's wait pass before its own begins
    wholeTicks: true, // each batch has its own WAIT, and they run one after the other
    open: () => queue.producerCalls(),
    isOpenedAnew: () => queue.isPlainWindow || queue.isBeingOpened,
    async prepare() {
      await prepare?.();
      await store.replicated.ready();
    },
    via: store.replicated,
    deliver: (calls, jobs) => store.replicated.send(calls, jobs, { replicas, timeoutMs, replyMs }),
  });
}

/** @throws DurabilityTimeoutError when fewer replicas than were asked for acknowledged one of the jobs in time */
export function requireReplicas(
  { name, options: { replicas, durabilityTimeoutMs } }: QueueAccess,
  handles: readonly JobHandle[],
  replies: readonly EnqueueReply[],
): void {
  const seen = replies.flatMap(({ replication }) => replication ?? []);
  const acknowledged = Math.min(...seen.map((each) => each.acknowledged));
  if (seen.length > 0 && acknowledged < replicas) {
    const failure = seen.find((each) => each.failure)?.failure;
    const options = failure && { cause: failure };
    throw new DurabilityTimeoutError(name, handles, replicas, acknowledged, durabilityTimeoutMs, options);
  }
}
