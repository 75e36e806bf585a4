// A worker of the simulated fleet, with its sweeps and schedules. Its handlers act by the seed, and report to the history.
import { NonRetryableError } from '#queue/errors/errors.js';
import type { BulkHandler } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { BULK_NAME, BULK_SIZE, declaredSchedules, FAILING, type Release } from '../release.js';
import type { QueueName, World } from '../world.js';
import { SHARED_LIMIT, SHARED_VALUES } from '../history/sharing-rules.js';
import { attemptMiddleware } from './middleware.js';
import { WorkerProcess } from './worker-process.js';

const CONCURRENCY: Record<QueueName, number> = { mixed: 4, ordered: 1, limited: 3 };

/** The jobs that a worker claims ahead in a run with groups, whose queue is too shallow for the default. */
const AHEAD = 3;

export class SimulatedWorker extends WorkerProcess {
  constructor(
    name: string,
    world: World,
    skewMs: number,
    readonly queue: QueueName,
    release: Release,
  ) {
    super(name, world, skewMs, release);
  }

  override start(): void {
    const queue = this.queues[this.queue];
    const { history, parts, random } = this.world;
    const concurrency = CONCURRENCY[this.queue] * this.release.concurrencyFactor;
    const schedules = parts.has('schedules') && this.queue === 'mixed' ? declaredSchedules(this.release) : {};
    const hasMiddleware = parts.has('middleware') && this.queue === 'mixed';
    const prefetch = parts.has('groups') && this.queue === 'mixed' ? { prefetch: AHEAD } : {};
    this.begin(
      new Worker([{ queue, concurrency, ...prefetch, handlers: this.handlers(), schedules }], {
        id: this.name,
        sweepIntervalMs: 1_000,
        logFailures: false,
        ...(hasMiddleware && { middleware: attemptMiddleware(history, random) }),
        limits: { [SHARED_LIMIT]: SHARED_VALUES },
      }),
    );
  }

  private handlers() {
    const { parts } = this.world;
    const handle = (job: Job) =>
      this.queue === 'ordered' ? this.inOrder(job) : this.sharing(() => this.handle(job), 1);
    const names = [this.queues[this.queue].name, ...this.release.names];
    const bulk: BulkHandler = {
      bulk: { size: BULK_SIZE, waitMs: 20 },
      handle: (jobs) => this.sharing(() => this.handleAll(jobs), jobs.length),
    };
    return {
      ...Object.fromEntries(names.map((name) => [name, handle])),
      ...(parts.has('bulk') && this.queue === 'mixed' && { [BULK_NAME]: this.release.hasBulk ? bulk : handle }),
    };
  }

  /** Counts the jobs of a handler while it runs. */
  private async sharing<Result>(handle: () => Promise<Result>, jobs: number): Promise<Result> {
    const { parts, history } = this.world;
    // By a clock that jumps, a permit may end while its job runs.
    if (!parts.has('sharing') || parts.has('clock')) return handle();
    for (let i = 0; i < jobs; i++) history.sharing.began(this.name);
    try {
      return await handle();
    } finally {
      for (let i = 0; i < jobs; i++) history.sharing.ended(this.name);
    }
  }

  override kill(): void {
    super.kill();
    this.world.history.sharing.died(this.name);
  }

  private async inOrder(job: Job): Promise<unknown> {
    const { history, random } = this.world;
    history.started(job);
    history.inOrder(job.payload as number);
    await this.sleep(random.between(0, 180));
    return history.returned(job);
  }

  private async handle(job: Job): Promise<unknown> {
    const { random, history } = this.world;
    history.started(job);
    const fate = random.next();
    await this.sleep(this.queue === 'mixed' && job.group !== undefined ? random.between(0, 1) : this.duration());
    if (fate < 0.1) {
      await job.progress({ at: job.attempt }).catch(() => undefined); // the claim may be lost
    }
    if (this.world.parts.has('growth')) {
      await this.addMember(job);
    }
    if (this.world.parts.has('steps')) {
      await this.takeSteps(job);
    }
    if (this.world.parts.has('streams')) {
      await this.stream(job);
    }
    const isPlain = history.jobs.get(job.id)?.isPlain; // no replacement deletes its checkpoint
    if (isPlain && this.world.parts.has('checkpoints') && random.chance(0.3)) {
      await this.checkpoint(job);
    }
    if (job.payload === FAILING) {
      throw new NonRetryableError('the handler fails for good');
    }
    if (fate > 1 - this.release.failing) {
      throw new Error('the handler fails');
    }
    return history.returned(job);
  }

  /** Takes two steps. A later attempt finds the first one, and often both. */
  private async takeSteps(job: Job): Promise<void> {
    const { random, history } = this.world;
    for (const name of ['first', 'second']) {
      const value = await job.step(name, async () => {
        await this.sleep(random.between(0, 20));
        return history.steps.nextResult();
      });
      history.steps.returned(job, name, value);
      if (random.chance(0.3)) {
        throw new Error('the handler fails between its steps');
      }
    }
  }

  /** Writes a few chunks, and looks at what is stored after each. */
  private async stream(job: Job): Promise<void> {
    const { random, history } = this.world;
    const { fence, id } = job;
    for (let count = 1; count <= 3; count++) {
      const written = job.stream.write(history.streams.chunk({ fence, count }));
      if (random.chance(0.5)) {
        await this.sleep(random.chance(0.2) ? random.between(500, 3_000) : random.between(0, 40));
        await written.catch(() => undefined); // the claim may be lost
        history.streams.stored(id, this.world.streamOf(this.queue, id));
      }
    }
  }

  /** Adds a member to the batch of a member, at most three deep. A later attempt adds the same. */
  private async addMember({ id, batch }: Job): Promise<void> {
    const isMember = batch !== undefined && !id.startsWith('@');
    if (isMember && !id.endsWith('+++') && this.world.random.chance(0.4)) {
      await batch.add('limited', 0, { id: `${id}+` });
    }
  }

  /** Handles the jobs of one call of a bulk handler: each ends on its own, or all fail. */
  private async handleAll(jobs: Job[]): Promise<unknown[]> {
    const { random, history } = this.world;
    jobs.forEach((job) => history.started(job));
    await this.sleep(this.duration());
    if (random.chance(this.release.failing)) {
      throw new Error('the bulk handler fails');
    }
    return jobs.map((job) =>
      random.chance(this.release.failing) ? new Error('the job of a call fails') : history.returned(job),
    );
  }

  private async checkpoint(job: Job): Promise<void> {
    const { history } = this.world;
    const value = history.runs.nextNumber();
    history.runs.checkpointSent(job, value);
    await job.checkpoint(value).then(
      () => history.runs.checkpointStored(job, value),
      () => undefined, // the claim may be lost
    );
    await this.sleep(this.world.random.between(0, 500));
  }

  private duration(): number {
    const { random, isQuick } = this.world;
    return random.chance(0.1) ? random.between(1_000, 8_000) : random.between(0, isQuick ? 1 : 50);
  }
}
