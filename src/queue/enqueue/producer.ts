import { QueueFullError } from '../errors/enqueue-errors.js';
import { durableBatcher, requireReplicas } from './durable-batcher.js';
import { bulkAnswers } from './bulk-answers.js';
import { faultOf, EnqueueRejected, type EnqueueAnswer, type EncodedJob } from '../store/enqueue-call.js';
import { EnqueueBatcher, fitOneCall } from './enqueue-batcher.js';
import { JobHandle, type JobSource } from '../results/job-handle.js';
import { UnservedWatch } from './unserved-watch.js';
import type { QueueAccess } from '../store/queue-store.js';

/** The batchers by durability; the first durable enqueue creates its own. */
interface Batchers {
  memory: EnqueueBatcher;
  replica?: EnqueueBatcher;
  /** See EnqueueBatcher. */
  prepare?: () => Promise<void>;
}

/** Adds encoded jobs to a queue, and makes their handles. */
export class Producer {
  private readonly batchers: Batchers;

  private readonly unserved: UnservedWatch;

  constructor(private readonly queue: QueueAccess) {
    this.batchers = this.newBatchers();
    this.unserved = new UnservedWatch(queue);
  }

  add<Result>(job: EncodedJob, source: JobSource): Promise<JobHandle<Result>> {
    const batchers = this.batchersOf([job]);
    const added = this.batcherOf(job, batchers).enqueue(job);
    batchers.memory.sendBurst(); // not those for replicas, which are waited for batch by batch
    return added.then(
      (answer) => this.added<Result>(job, answer, source),
      (error: unknown) => {
        throw explained(error, () => 'enqueue');
      },
    );
  }

  private added<Result>(job: EncodedJob, answer: EnqueueAnswer, source: JobSource): JobHandle<Result> {
    refuseFull(this.queue.name, [answer]);
    const handle = this.handleOf<Result>(job, answer, source);
    if (answer.replication) {
      requireReplicas(this.queue, [handle], [answer]);
    }
    return handle;
  }

  async addAll(jobs: readonly EncodedJob[], source: JobSource): Promise<JobHandle[]> {
    const batchers = this.batchersOf(jobs);
    const outcomes = await Promise.allSettled(jobs.map((job) => this.batcherOf(job, batchers).enqueue(job)));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        outcome.reason = explained(outcome.reason, (job) => `enqueueMany[${jobs.indexOf(job)}]`);
      }
    }
    const answers = bulkAnswers(this.queue.name, jobs, outcomes);
    refuseFull(this.queue.name, answers);
    const handles = jobs.map((job, i) => this.handleOf(job, answers[i]!, source));
    if (batchers.replica) {
      requireReplicas(this.queue, handles, answers);
    }
    return handles;
  }

  close(): void {
    this.unserved.close();
  }

  /**
   * Chooses the batchers. A call that only the server's clock can refuse is sent alone, so that no other is refused
   * with it.
   */
  private batchersOf(jobs: readonly EncodedJob[]): Batchers {
    if (!jobs.some(({ span, travelsAlone }) => span || travelsAlone)) {
      return this.batchers;
    }
    const isOneStep = fitOneCall(jobs) && jobs.every(({ durability }) => durability === jobs[0]!.durability);
    if (isOneStep || !jobs.some(({ span }) => span)) {
      return this.newBatchers();
    }
    let checking: Promise<void> | undefined;
    return this.newBatchers(() => (checking ??= this.refuseExpiryBeforeStart(jobs)));
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

  private handleOf<Result>(job: EncodedJob, answer: EnqueueAnswer, source: JobSource): JobHandle<Result> {
    this.unserved.added(answer.id, answer.name ?? job.name);
    return new JobHandle(answer.id, answer.name ?? job.name, this.queue.name, answer.outcome, source);
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
    const { name, store, options } = this.queue;
    const memory = new EnqueueBatcher({
      queue: name,
      store,
      timeoutMs: options.enqueueTimeoutMs,
      open: () => this.queue.calls(),
      prepare,
      // A process that only enqueues must notice a dead connection itself.
      deliver: (jobs) => this.queue.exec((calls) => calls.enqueue(jobs)),
      endsInTime: this.queue.callLimit.timeoutMs <= options.enqueueTimeoutMs,
    });
    return { memory, prepare };
  }
}

/** @throws QueueFullError where some of the jobs were not added */
function refuseFull(queue: string, answers: readonly EnqueueAnswer[]): void {
  const full = answers.find((answer) => answer.full)?.full;
  if (full) {
    const items = answers.map(({ id, outcome, full: isRefused }) => ({
      id,
      outcome: isRefused ? ('not-sent' as const) : outcome,
    }));
    throw new QueueFullError(queue, full, items);
  }
}

/** Returns the caller's error. @param subjectOf how errors name a job */
function explained(error: unknown, subjectOf: (job: EncodedJob) => string): unknown {
  return error instanceof EnqueueRejected ? faultOf(error, subjectOf(error.job)) : error;
}
