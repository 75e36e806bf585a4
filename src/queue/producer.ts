import { durableEnqueuer, requireReplicas } from './durable-enqueuer.js';
import { DurableLine } from './durable-line.js';
import { answersOfAll } from './enqueue-all.js';
import { faultOf, RefusedStep, type EnqueueAnswer, type NewJob } from './enqueue-step.js';
import { Enqueuer } from './enqueuer.js';
import { JobHandle, type JobSource } from './job-handle.js';
import type { QueueOperator } from './queue-operator.js';

/** The ways to the server, by durability; that of durable enqueues is made by the first of them. */
interface Enqueuers {
  memory: Enqueuer;
  replica?: Enqueuer;
}

type Outcome = PromiseSettledResult<EnqueueAnswer>;

/** Adds encoded jobs to a queue, and makes their handles. */
export class Producer {
  private readonly enqueuers: Enqueuers;

  constructor(private readonly queue: QueueOperator) {
    this.enqueuers = this.newEnqueuers();
  }

  async add<Result>(job: NewJob, source: JobSource): Promise<JobHandle<Result>> {
    const answer = await this.enqueuerOf(job)
      .enqueue(job)
      .catch((error: unknown) => this.sendAgain(job, error));
    const handle = this.handleOf<Result>(job, answer, source);
    if (answer.replication) {
      requireReplicas(this.queue, [handle], [answer]);
    }
    return handle;
  }

  async addAll(jobs: readonly NewJob[], source: JobSource): Promise<JobHandle[]> {
    const outcomes = await Promise.allSettled(jobs.map((job) => this.enqueuerOf(job).enqueue(job)));
    const settled = await this.afterRefusal(jobs, outcomes, (i) => `enqueueMany[${i}]`);
    const answers = answersOfAll(this.queue.name, jobs, settled);
    const handles = jobs.map((job, i) => this.handleOf(job, answers[i]!, source));
    if (this.enqueuers.replica) {
      requireReplicas(this.queue, handles, answers);
    }
    return handles;
  }

  /** Closes the connection of durable enqueues, once nothing is under way any more. */
  closeIdle(): void {
    if (this.enqueuers.replica) {
      DurableLine.of(this.queue.connection).closeIdle();
    }
  }

  private async sendAgain(job: NewJob, reason: unknown): Promise<EnqueueAnswer> {
    const [outcome] = await this.afterRefusal([job], [{ status: 'rejected', reason }], () => 'enqueue');
    if (outcome!.status === 'rejected') {
      throw outcome!.reason;
    }
    return outcome!.value;
  }

  /**
   * The outcomes of the jobs of one call, once those have gone again, by themselves, that travelled in a step which was
   * refused: it may have been for a job of another call.
   *
   * @param subjectOf how errors name a job, by its place in the call
   */
  private async afterRefusal(
    jobs: readonly NewJob[],
    outcomes: readonly Outcome[],
    subjectOf: (i: number) => string,
  ): Promise<readonly Outcome[]> {
    const refused = jobs.filter((_, i) => refusalIn(outcomes[i]!));
    if (refused.length === 0) {
      return outcomes;
    }
    const alone = this.newEnqueuers();
    const again = await Promise.allSettled(refused.map((job) => this.enqueuerOf(job, alone).enqueue(job)));
    const byJob = new Map(refused.map((job, i) => [job, again[i]!]));
    return jobs.map((job, i) => {
      const outcome = byJob.get(job) ?? outcomes[i]!;
      const refusal = refusalIn(outcome);
      return refusal
        ? { status: 'rejected', reason: faultOf(refusal, subjectOf(jobs.indexOf(refusal.job))) }
        : outcome;
    });
  }

  private handleOf<Result>(job: NewJob, answer: EnqueueAnswer, source: JobSource): JobHandle<Result> {
    return new JobHandle(answer.id, answer.name ?? job.name, this.queue.name, answer.outcome, source);
  }

  private enqueuerOf({ durability = this.queue.options.durability }: NewJob, enqueuers = this.enqueuers): Enqueuer {
    return durability === 'memory' ? enqueuers.memory : (enqueuers.replica ??= durableEnqueuer(this.queue));
  }

  private newEnqueuers(): Enqueuers {
    const { name, connection, options } = this.queue;
    const memory = new Enqueuer(name, connection, options.enqueueTimeoutMs, (jobs) =>
      // A process that only enqueues has nobody else to find out that its connection is dead.
      this.queue.call((scripts) => scripts.enqueue(jobs)),
    );
    return { memory };
  }
}

function refusalIn(outcome: Outcome): RefusedStep | undefined {
  return outcome.status === 'rejected' && outcome.reason instanceof RefusedStep ? outcome.reason : undefined;
}
