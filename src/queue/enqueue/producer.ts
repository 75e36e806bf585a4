import { QueueFullError } from '../errors/enqueue-errors.js';
import { registration } from '../register/register-queues.js';
import { batchElsewhere, dependElsewhere, findKnownMembers } from '../operate/elsewhere/ask-elsewhere.js';
import { withCaller } from '../runtime/with-caller.js';
import { JobHandle, type JobSource } from '../results/job-handle.js';
import { endedIdWarning } from './ended-id-warning.js';
import { faultOf, EnqueueRejected, type EnqueueReply, type EncodedJob } from '../store/enqueue-call.js';
import type { StoredIn } from '../store/verbs/outbox-writer.js';
import type { QueueAccess } from '../store/queue-store.js';
import { bulkReplies } from './bulk-replies.js';
import type { JobDefinition } from './define-job.js';
import { durableBatcher, requireReplicas } from './durable-batcher.js';
import { encodeJob } from './encode-job.js';
import { encodeJobs, encodeTypedJob, typedSource, type JobToEnqueue } from './encode-typed-job.js';
import { EnqueueBatcher, fitOneCall } from './enqueue-batcher.js';
import {
  checkHandles,
  enqueueChain,
  requestedJob,
  type EnqueueChain,
  type EnqueueMiddleware,
  type EnqueueRequest,
} from './enqueue-middleware.js';
import type { EnqueueOptions } from './enqueue-options.js';
import { storeJobs, type StoringQueue } from '../results/store-jobs.js';
import { UnservedWatch } from './unserved-watch.js';

/** The batchers by durability; the first durable enqueue creates its own. */
interface Batchers {
  memory: EnqueueBatcher;
  replica?: EnqueueBatcher;
  /** See EnqueueBatcher. */
  prepare?: () => Promise<void>;
}

/** Adds jobs to a queue: middleware, check, encoding, a batcher, and the handle. */
export class Producer {
  private readonly batchers: Batchers;
  private readonly unserved: UnservedWatch;
  private readonly register: () => void;
  private readonly warnOfEndedId: ReturnType<typeof endedIdWarning>;
  /** Undefined if no middleware acts on enqueues. */
  private readonly chain: EnqueueChain | undefined;

  constructor(
    private readonly queue: QueueAccess & JobSource & StoringQueue,
    middleware?: readonly EnqueueMiddleware[],
  ) {
    this.batchers = this.newBatchers();
    this.unserved = new UnservedWatch(queue);
    this.register = registration(queue);
    this.warnOfEndedId = endedIdWarning(queue);
    this.chain = enqueueChain(queue.name, middleware, (request) => this.addRequested(request));
  }

  /**
   * Adds one job, with or without a definition. Its payload may be a text too. No function on the way of a plain
   * job is async. Each promise would cost half a microsecond in a process that traces.
   */
  one(
    definition: JobDefinition | undefined,
    payload: unknown,
    options: EnqueueOptions | undefined,
    stored?: StoredIn,
  ): Promise<JobHandle> {
    if (stored !== undefined) {
      const job = { ...options, payload };
      return this.many(definition, [job], stored, 'enqueue').then(([handle]) => handle!);
    }
    return this.chain
      ? this.requestOne(this.chain, definition, payload, options)
      : this.addOne(definition, payload, options);
  }

  /** Adds many jobs, with or without a definition. All are checked before the first is sent. */
  many(
    definition: JobDefinition | undefined,
    jobs: readonly JobToEnqueue[],
    stored?: StoredIn,
    method: EnqueueRequest['method'] = 'enqueueMany',
  ): Promise<JobHandle[]> {
    return this.chain
      ? this.requestMany(this.chain, definition, jobs, stored, method)
      : this.addMany(definition, jobs, stored);
  }

  private async requestOne(
    chain: EnqueueChain,
    definition: JobDefinition | undefined,
    payload: unknown,
    options: EnqueueOptions | undefined,
  ): Promise<JobHandle> {
    const { name: queue } = this.queue;
    const jobs = [requestedJob(queue, definition, payload, options)];
    try {
      const handles = await chain({ queue, method: 'enqueue', definition, jobs });
      checkHandles(queue, handles, 1);
      return handles[0]!;
    } catch (error) {
      throw withCaller(error);
    }
  }

  private async requestMany(
    chain: EnqueueChain,
    definition: JobDefinition | undefined,
    jobs: readonly JobToEnqueue[],
    stored: StoredIn | undefined,
    method: EnqueueRequest['method'],
  ): Promise<JobHandle[]> {
    const { name: queue } = this.queue;
    const requested = jobs.map(({ payload, ...options }) => requestedJob(queue, definition, payload, options));
    const handles = await chain({ queue, method, definition, jobs: requested, ...stored });
    checkHandles(queue, handles, jobs.length);
    return handles;
  }

  /** Adds the request that the middleware returned. */
  private addRequested({ method, definition, jobs, transaction, ordered }: EnqueueRequest): Promise<JobHandle[]> {
    if (method === 'enqueueMany' || transaction !== undefined) {
      const many = jobs.map(({ payload, options }) => ({ ...options, payload }));
      return this.addMany(
        definition,
        many,
        transaction === undefined ? undefined : { transaction, ordered: ordered === true },
      );
    }
    const { payload, options } = jobs[0]!;
    const isPlain = typeof options === 'object' && Object.keys(options).length === 0;
    return this.addOne(definition, payload, isPlain ? undefined : options).then((handle) => [handle]);
  }

  private addOne(
    definition: JobDefinition | undefined,
    payload: unknown,
    options: EnqueueOptions | undefined,
  ): Promise<JobHandle> {
    if (definition) {
      return this.addTyped(definition, payload, options);
    }
    try {
      return this.add(encodeJob(this.queue, payload, options), this.queue);
    } catch (error) {
      return Promise.reject(withCaller(error));
    }
  }

  private async addTyped(
    definition: JobDefinition,
    payload: unknown,
    options: EnqueueOptions | undefined,
  ): Promise<JobHandle> {
    try {
      const made = encodeTypedJob(this.queue, definition, payload, options);
      const typed = made instanceof Promise ? await made : made;
      return await this.add(typed, typedSource(this.queue, definition));
    } catch (error) {
      throw withCaller(error);
    }
  }

  private async addMany(
    definition: JobDefinition | undefined,
    jobs: readonly JobToEnqueue[],
    stored?: StoredIn,
  ): Promise<JobHandle[]> {
    const made = encodeJobs(this.queue, definition, jobs);
    const encoded = made instanceof Promise ? await made : made;
    const source = definition ? typedSource(this.queue, definition) : this.queue;
    return stored ? storeJobs(this.queue, stored, encoded, source) : this.addAll(encoded, source);
  }

  private add(job: EncodedJob, source: JobSource): Promise<JobHandle> {
    const batchers = this.batchersOf([job]);
    const added = this.batcherOf(job, batchers).enqueue(job);
    batchers.memory.sendBurst(); // not those for replicas, which are waited for batch by batch
    return added.then(
      (reply) => this.added(job, reply, source),
      (error: unknown) => {
        throw withCaller(this.explained(error, () => 'enqueue'));
      },
    );
  }

  private added(job: EncodedJob, reply: EnqueueReply, source: JobSource): JobHandle {
    refuseFull(this.queue.name, [reply]);
    const handle = this.handleOf(job, reply, source);
    if (reply.replication) {
      requireReplicas(this.queue, [handle], [reply]);
    }
    return handle;
  }

  private async addAll(jobs: readonly EncodedJob[], source: JobSource): Promise<JobHandle[]> {
    const batchers = this.batchersOf(jobs);
    const outcomes = await Promise.allSettled(jobs.map((job) => this.batcherOf(job, batchers).enqueue(job)));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        outcome.reason = this.explained(outcome.reason, (job) => `enqueueMany[${jobs.indexOf(job)}]`);
      }
    }
    const replies = bulkReplies(this.queue.name, jobs, outcomes);
    refuseFull(this.queue.name, replies);
    const handles = jobs.map((job, i) => this.handleOf(job, replies[i]!, source));
    if (batchers.replica) {
      requireReplicas(this.queue, handles, replies);
    }
    return handles;
  }

  close = (): void => this.unserved.close();

  /**
   * Chooses the batchers. A call that only the server's clock can refuse is sent alone, so that no other is refused
   * with it.
   */
  private batchersOf(jobs: readonly EncodedJob[]): Batchers {
    if (!jobs.some(({ span, travelsAlone }) => span || travelsAlone)) {
      return this.batchers;
    }
    const isOneStep = fitOneCall(jobs) && jobs.every(({ durability }) => durability === jobs[0]!.durability);
    const checksExpiry = !isOneStep && jobs.some(({ span }) => span);
    const asksElsewhere = jobs.some((job) => job.afterElsewhere || batchElsewhere(job));
    if (!checksExpiry && !asksElsewhere) {
      return this.newBatchers();
    }
    const prepare = async () => {
      await (checksExpiry && this.refuseExpiryBeforeStart(jobs));
      await (asksElsewhere && dependElsewhere(this.queue, jobs));
      await (asksElsewhere && findKnownMembers(this.queue, jobs));
    };
    let prepared: Promise<void> | undefined;
    return this.newBatchers(() => (prepared ??= prepare()));
  }

  /**
   * Checks the expiry of all jobs of a call with several steps. The script checks each step alone, when others may be
   * written. @throws EnqueueRejected
   */
  private async refuseExpiryBeforeStart(jobs: readonly EncodedJob[]): Promise<void> {
    const nowMs = await this.queue.exec((calls) => calls.now());
    for (const job of jobs) {
      if (job.span && job.span.runAtMs - nowMs >= job.span.expiresInMs) {
        throw new EnqueueRejected(job, job.span.runAtMs - nowMs);
      }
    }
  }

  /** Returns the caller's error. @param subjectOf how errors name a job */
  private explained(error: unknown, subjectOf: (job: EncodedJob) => string): unknown {
    return error instanceof EnqueueRejected ? faultOf(error, this.queue.name, subjectOf(error.job)) : error;
  }

  private handleOf(job: EncodedJob, reply: EnqueueReply, source: JobSource): JobHandle {
    this.register();
    this.unserved.added(reply.id, reply.name ?? job.name);
    if (reply.ended) {
      this.warnOfEndedId(job.name, reply);
    }
    return new JobHandle(reply.id, reply.name ?? job.name, this.queue.name, reply.outcome, source);
  }

  private batcherOf(
    { durability = this.queue.options.durability }: EncodedJob,
    batchers: Batchers,
  ): EnqueueBatcher {
    if (durability === 'memory') {
      return batchers.memory;
    }
    return (batchers.replica ??= durableBatcher(this.queue, batchers.prepare));
  }

  private newBatchers(prepare?: () => Promise<void>): Batchers {
    const { name, store, options, callLimit } = this.queue;
    const memory = new EnqueueBatcher({
      queue: name,
      store,
      timeoutMs: options.enqueueTimeoutMs,
      callLimit, // a process that only enqueues must notice a dead connection itself
      open: () => this.queue.calls(),
      prepare,
    });
    return { memory, prepare };
  }
}

/** @throws QueueFullError where some of the jobs were not added */
function refuseFull(queue: string, replies: readonly EnqueueReply[]): void {
  const full = replies.find((reply) => reply.full)?.full;
  if (full) {
    const items = replies.map(({ id, outcome, full: isRefused }) => ({
      id,
      outcome: isRefused ? ('not-sent' as const) : outcome,
    }));
    throw new QueueFullError(queue, full, items);
  }
}
