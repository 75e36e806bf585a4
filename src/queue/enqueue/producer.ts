import { EnqueueError, type EnqueueItem, QueueFullError } from '../errors/enqueue-errors.js';
import { InvalidOptionError } from '../errors/errors.js';
import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import { askBatches, batchElsewhere, dependElsewhere } from '../operate/elsewhere.js';
import { OpenedQueues } from '../operate/opened-queues.js';
import { registration } from '../register/register-queues.js';
import { JobHandle, type JobSource } from '../results/job-handle.js';
import { storeJobs } from '../results/store-jobs.js';
import type { Timer } from '../runtime/clock.js';
import { withCaller } from '../runtime/with-caller.js';
import { type EncodedJob, EnqueueRejected, type EnqueueReply, faultOf } from '../store/enqueue-call.js';
import type { StoredIn } from '../store/outbox-writer.js';
import type { ProducingQueue, QueueStore, QueueAccess } from '../store/queue-store.js';
import type { JobDefinition } from './define-job.js';
import { encodeJob, type JobToEnqueue, encodeJobs, encodeTypedJob, typedSource } from './encode-job.js';
import {
  durableBatcher,
  requireReplicas,
  EnqueueBatcher,
  SLICE_JOBS,
  fitOneCall,
  mayBeRefused,
} from './enqueue-batcher.js';
import {
  type EnqueueChain,
  type EnqueueGate,
  type EnqueueMiddleware,
  type EnqueueRequest,
  checkHandles,
  enqueueChain,
  keysOf,
  requestedJob,
} from './enqueue-middleware.js';
import type { EnqueueOptions } from './enqueue-options.js';

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
  /** The queues that were asked before enqueues. Undefined before the first. */
  private others: OpenedQueues | undefined;

  constructor(
    private readonly queue: ProducingQueue & JobSource,
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

  /**
   * Adds many jobs, with or without a definition. All are checked before the first is sent.
   *
   * @param gate see EnqueueRequest
   */
  many(
    definition: JobDefinition | undefined,
    jobs: readonly JobToEnqueue[],
    stored?: StoredIn,
    method: EnqueueRequest['method'] = 'enqueueMany',
    gate?: EnqueueGate,
  ): Promise<JobHandle[]> {
    return this.chain
      ? this.requestMany(this.chain, { definition, method, ...stored, ...(gate && { gate }) }, jobs)
      : this.addMany(definition, jobs, stored, gate);
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
      const handles = await chain({ queue, method: 'enqueue', definition, jobs, ...this.keysOf(jobs) });
      checkHandles(queue, handles, 1);
      return handles[0]!;
    } catch (error) {
      throw withCaller(error);
    }
  }

  private async requestMany(
    chain: EnqueueChain,
    request: Omit<EnqueueRequest, 'queue' | 'jobs'>,
    jobs: readonly JobToEnqueue[],
  ): Promise<JobHandle[]> {
    const { name: queue } = this.queue;
    const requested = jobs.map(({ payload, ...options }) =>
      requestedJob(queue, request.definition, payload, options),
    );
    const handles = await chain({ ...request, queue, jobs: requested, ...this.keysOf(requested) });
    checkHandles(queue, handles, jobs.length);
    return handles;
  }

  /** Returns the keys of the jobs of a shard, before middleware may change them. */
  private keysOf(jobs: EnqueueRequest['jobs']): Pick<EnqueueRequest, 'keys'> | undefined {
    return this.queue.shardOfJob && { keys: jobs.map(keysOf) };
  }

  /** @throws InvalidOptionError if middleware gave a job a key of another shard than the chosen one */
  private refuseMoved({ method, jobs, keys }: EnqueueRequest): void {
    for (const [i, job] of jobs.entries()) {
      const subject = method === 'enqueueMany' ? `enqueueMany[${i}]` : 'enqueue';
      const shard = keys?.[i] === keysOf(job) ? undefined : this.queue.shardOfJob!(subject, job.options);
      if (shard !== undefined && shard !== this.queue) {
        throw new InvalidOptionError(
          subject,
          'middleware that sets no id, group or unique key of another shard',
          `one of shard ${show(shard.name)}`,
          'The shard is chosen before middleware: give the job these options where it is enqueued.',
        );
      }
    }
  }

  /** Adds the request that the middleware returned. @throws InvalidOptionError for a job of another shard */
  private addRequested(request: EnqueueRequest): Promise<JobHandle[]> {
    const { method, definition, jobs, transaction, ordered, gate } = request;
    if (request.keys) this.refuseMoved(request);
    if (method === 'enqueueMany' || transaction !== undefined) {
      const many = jobs.map(({ payload, options }) => ({ ...options, payload }));
      return this.addMany(
        definition,
        many,
        transaction === undefined ? undefined : { transaction, ordered: ordered === true },
        gate,
      );
    }
    const { payload, options } = jobs[0]!;
    const hasNoOptions = typeof options === 'object' && Object.keys(options).length === 0;
    return this.addOne(definition, payload, hasNoOptions ? undefined : options).then((handle) => [handle]);
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
    gate?: EnqueueGate,
  ): Promise<JobHandle[]> {
    const made = encodeJobs(this.queue, definition, jobs);
    const encoded = made instanceof Promise ? await made : made;
    const source = definition ? typedSource(this.queue, definition) : this.queue;
    return stored ? storeJobs(this.queue, stored, encoded, source) : this.addAll(encoded, source, gate);
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

  private async addAll(
    jobs: readonly EncodedJob[],
    source: JobSource,
    gate: EnqueueGate | undefined,
  ): Promise<JobHandle[]> {
    const batchers = this.batchersOf(jobs, gate);
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
   * Chooses the batchers. A call that only the server can refuse is sent alone, so that no other is refused with it. All
   * its jobs are checked first if it takes several steps, or is a part of a larger call.
   */
  private batchersOf(jobs: readonly EncodedJob[], gate?: EnqueueGate): Batchers {
    const isRefusable = jobs.some(mayBeRefused);
    if (!isRefusable && !gate) {
      return this.batchers;
    }
    const isOneStep = fitOneCall(jobs) && jobs.every(({ durability }) => durability === jobs[0]!.durability);
    const checks = isRefusable && (gate || !isOneStep);
    const asksElsewhere = jobs.some((job) => job.afterElsewhere || batchElsewhere(job));
    if (!checks && !asksElsewhere && !gate) {
      return this.newBatchers();
    }
    const prepare = async () => {
      if (asksElsewhere) {
        this.others ??= new OpenedQueues(this.queue, this.queue.callLimit);
        await askBatches(this.queue, this.others, jobs);
        await dependElsewhere(this.queue, this.others, jobs);
      }
      await (checks && this.checkAll(jobs));
      await gate?.();
    };
    let prepared: Promise<void> | undefined;
    return this.newBatchers(() => (prepared ??= prepare()));
  }

  /** Asks the server for each refusal. @throws EnqueueRejected */
  private async checkAll(jobs: readonly EncodedJob[]): Promise<void> {
    const asked = jobs.filter(({ options }) => options);
    for (let start = 0; start < asked.length; start += SLICE_JOBS) {
      const slice = asked.slice(start, start + SLICE_JOBS);
      await this.queue.exec((calls) => calls.checkEnqueue({ jobs: slice }));
    }
  }

  /** Returns the caller's error. @param subjectOf how errors name a job */
  private explained(error: unknown, subjectOf: (job: EncodedJob) => string): unknown {
    return error instanceof EnqueueRejected ? faultOf(error, this.queue.name, subjectOf(error.job)) : error;
  }

  private handleOf(job: EncodedJob, reply: EnqueueReply, source: JobSource): JobHandle {
    this.register();
    this.unserved.added(reply.id, reply.name ?? job.name);
    if (reply.ended && job.options?.batch === undefined) {
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
      open: () => this.queue.producerCalls(),
      isOpenedAnew: () => this.queue.isPlainWindow || this.queue.isBeingOpened,
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

/**
 * Returns the outcomes of the jobs of a call, which may take several steps.
 *
 * @throws EnqueueError with all jobs of the call in order and their outcomes, for a repeat with the same ids. It is
 *   `not-sent` only if nothing of the call was written. An error that fails all steps alike and is no EnqueueError is
 *   thrown unchanged.
 */
export function bulkReplies(
  queue: string,
  jobs: readonly EncodedJob[],
  outcomes: readonly PromiseSettledResult<EnqueueReply>[],
): EnqueueReply[] {
  const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
  const [first] = failures;
  if (first === undefined) {
    return outcomes.map((each) => (each as PromiseFulfilledResult<EnqueueReply>).value);
  }
  const nothingWritten =
    failures.length === jobs.length &&
    failures.every((each) => !(each instanceof EnqueueError && each.outcome === 'unknown'));
  if (nothingWritten && !(first instanceof EnqueueError)) {
    throw first;
  }
  const ids = jobs.map(({ id }) => id);
  const items = outcomes.map((each, i) => itemOf(jobs[i]!, each));
  const cause = first instanceof EnqueueError ? (first.cause ?? first) : first;
  const written = items.filter(({ outcome }) => outcome !== 'not-sent' && outcome !== 'unknown').length;
  const part = written > 0 ? `${written} of ${jobs.length} jobs are there, the others not or unknown: ` : '';
  const reason = part + (first instanceof EnqueueError ? first.reason : first.message);
  throw new EnqueueError(nothingWritten ? 'not-sent' : 'unknown', queue, ids, reason, { cause, items });
}

function itemOf(job: EncodedJob, result: PromiseSettledResult<EnqueueReply>): EnqueueItem {
  if (result.status === 'fulfilled') {
    const { id, outcome, full } = result.value;
    return { id, outcome: full ? 'not-sent' : outcome };
  }
  const failure: unknown = result.reason;
  return { id: job.id, outcome: failure instanceof EnqueueError ? failure.outcome : 'not-sent' };
}

/** The most remembered names of a queue. */
const MOST_NAMES = 1_000;

/** How the id of an ended job becomes free. */
const ENDED_IN_WORDS = {
  completed: 'has completed. The id is free once its result is forgotten, after `resultTtlMs`',
  failed: 'is a dead letter. The id is free once you discard it',
  cancelled: 'was cancelled. The id is free once the job is forgotten, after `cancelledTtlMs`',
} as const satisfies Record<NonNullable<EnqueueReply['ended']>, string>;

/**
 * Returns a function that logs, once per name, that the job of an enqueue's id has ended. Such an enqueue adds nothing.
 * Code from other queues relies on an id that is free at the end of its job.
 */
function endedIdWarning(queue: { name: string; store: QueueStore }): (name: string, reply: EnqueueReply) => void {
  const said = new Set<string>();
  return (name, { id, ended }) => {
    if (ended === undefined || said.has(name) || said.size >= MOST_NAMES) {
      return;
    }
    said.add(name);
    SafeLogger.of(queue.store.logger).warn(
      `An enqueue of ${show(name)} in queue "${queue.name}" added nothing, because its id is in use: job ${show(id)} ` +
        `${ENDED_IN_WORDS[ended]}. To allow one job at a time, use \`unique\` instead of \`id\`.`,
    );
  };
}

/**
 * The delay of the check for a worker after the first enqueue of a name, in ms. By then the workers of a fleet that
 * starts, or of a deploy, have announced their names.
 */
const LOOK_AFTER_MS = 60_000;

/**
 * Logs once per name that enqueued jobs wait and no live worker handles their name, which may be misspelled. It checks
 * a while after a name's first enqueue. Each enqueue costs only a look-up in a set.
 */
export class UnservedWatch {
  private readonly known = new Set<string>();
  private readonly asked = new Map<string, { id: string; name: string }>();
  private timer: Timer | undefined;

  constructor(
    private readonly queue: QueueAccess & {
      /** Returns what to say of a name that no live worker handles; '' for nothing. */
      unservedHint?: (job: string) => string;
    },
    private readonly lookAfterMs: number = LOOK_AFTER_MS,
  ) {}

  /** Records an added job. */
  added(id: string, name: string): void {
    if (this.known.has(name) || this.known.size >= MOST_NAMES || SafeLogger.of(this.queue.store.logger).isSilent) {
      return;
    }
    this.known.add(name);
    this.asked.set(name, { id, name });
    if (!this.timer) {
      this.timer = this.queue.store.clock.setTimeout(() => void this.warnOfUnserved(), this.lookAfterMs);
      this.timer.unref();
    }
  }

  close(): void {
    this.queue.store.clock.clear(this.timer);
    this.asked.clear();
  }

  private async warnOfUnserved(): Promise<void> {
    this.timer = undefined;
    const jobs = [...this.asked.values()];
    this.asked.clear();
    const { store, name: queue } = this.queue;
    try {
      const { waiting, workers, names } = await this.queue.exec((calls) => calls.unserved({ jobs }));
      const served = names.length > 0 ? `they handle ${names.map(show).join(', ')}` : 'they handle no name';
      for (const { id, name } of waiting.map((index) => jobs[index]!)) {
        store.logger.warn(
          `No live worker handles the name ${show(name)} in queue "${queue}": job ${id} waits for one. ` +
            `${workers === 0 ? 'The queue has no live worker' : `Live workers of the queue: ${workers}; ${served}`}. ` +
            `Check the spelling of the name, or deploy a handler for it.${this.queue.unservedHint?.(name) ?? ''}`,
        );
      }
    } catch {
      jobs.forEach(({ name }) => this.known.delete(name)); // the next enqueue of the name asks again
    }
  }
}
