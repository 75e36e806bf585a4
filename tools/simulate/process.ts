// One process of the simulated fleet: a worker with its sweeps, a producer, or an operator.
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { MemoryStore } from '#testing/memory-store/memory-store.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { ProcessClock } from './process-clock.js';
import { linkOf } from './network.js';
import { MOST_ATTEMPTS, NEW_NAME, OLDER, type Release } from './release.js';
import type { World } from './world.js';

export type QueueName = 'mixed' | 'ordered' | 'limited';

const CONCURRENCY: Record<QueueName, number> = { mixed: 4, ordered: 1, limited: 3 };

/** A process of the fleet, with its own clock and a network to the server. */
export abstract class SimulatedProcess {
  readonly clock: ProcessClock;
  protected readonly queues: Record<QueueName, JobQueue>;

  constructor(
    readonly name: string,
    protected readonly world: World,
    skewMs: number,
    readonly release: Release = OLDER,
  ) {
    this.clock = new ProcessClock(world.clock, skewMs);
    const { clock, random, watched, server } = world;
    const faults = () => world.faultsOf(this);
    const link = linkOf(name, this.clock, clock, random, faults, watched);
    const store = new MemoryStore(this.clock, { server, link });
    const { options, limits } = release;
    const open = (queue: QueueName, more = {}) => new JobQueue(store, queue, { ...options, ...more });
    this.queues = { mixed: open('mixed'), ordered: open('ordered'), limited: open('limited', limits) };
  }

  abstract start(): void;

  /** Ends it as a SIGKILL does. */
  kill(): void {
    this.clock.kill();
    this.world.server.disconnect(this.name);
  }

  protected sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.setTimeout(resolve, ms));
  }
}

export class SimulatedWorker extends SimulatedProcess {
  private worker: Worker | undefined;

  constructor(
    name: string,
    world: World,
    skewMs: number,
    readonly queue: QueueName,
    release: Release,
  ) {
    super(name, world, skewMs, release);
  }

  start(): void {
    const queue = this.queues[this.queue];
    const handle = (job: Job) => (this.queue === 'ordered' ? this.inOrder(job) : this.handle(job));
    const concurrency = CONCURRENCY[this.queue] * this.release.concurrencyFactor;
    const handlers = Object.fromEntries([queue.name, ...this.release.names].map((name) => [name, handle]));
    this.worker = new Worker([{ queue, concurrency, handlers }], {
      id: this.name,
      sweepIntervalMs: 1_000,
      logFailures: false,
    });
    void this.worker.start();
  }

  /** Ends it as a deploy does: its jobs have some time to end, and go back after it. */
  async stop(): Promise<void> {
    await this.worker?.stop({ timeoutMs: 1_000 });
    this.kill();
  }

  private async inOrder(job: Job): Promise<void> {
    const { history, random } = this.world;
    history.started(job);
    history.inOrder(job.payload as number);
    await this.sleep(random.between(0, 180));
    history.ended(job.id);
  }

  private async handle(job: Job): Promise<unknown> {
    const { random, history } = this.world;
    history.started(job);
    const fate = random.next();
    await this.sleep(random.chance(0.1) ? random.between(1_000, 8_000) : random.between(0, 50));
    if (fate < 0.1) {
      await job.progress({ at: job.attempt }).catch(() => undefined); // the claim may be lost
    }
    if (fate > 1 - this.release.failing) {
      throw new Error('the handler fails');
    }
    history.ended(job.id);
    return fate;
  }
}

export class SimulatedProducer extends SimulatedProcess {
  private count = 0;

  constructor(
    name: string,
    world: World,
    skewMs: number,
    private readonly queue: QueueName,
  ) {
    super(name, world, skewMs);
  }

  start(): void {
    void this.produce();
  }

  private async produce(): Promise<void> {
    const { random, history } = this.world;
    while (!this.world.isEnding) {
      const id = `${this.name}-${this.count}`;
      const maxAttempts = this.queue === 'ordered' ? MOST_ATTEMPTS : random.between(1, 5);
      history.sent(id, this.queue, maxAttempts);
      await this.untilAnswered(id, this.count++, this.queue === 'ordered' ? {} : this.options(maxAttempts));
      await this.sleep(random.between(1, 200));
    }
  }

  private options(maxAttempts: number) {
    const { random } = this.world;
    return {
      maxAttempts,
      ...(random.chance(0.2) && { priority: random.between(1, 3) }),
      ...(random.chance(0.2) && { delayMs: random.between(1, 5_000) }),
      ...(random.chance(0.1) && { name: NEW_NAME }),
    };
  }

  /** Repeats a call with an unknown outcome, by its id. */
  private async untilAnswered(id: string, payload: number, options: object): Promise<void> {
    for (;;) {
      try {
        await this.queues[this.queue].enqueue(payload, { ...options, id });
        this.world.history.acknowledged(id);
        return;
      } catch (error) {
        if (!(error instanceof EnqueueError)) throw error;
      }
    }
  }
}

export class SimulatedOperator extends SimulatedProcess {
  start(): void {
    void this.operate();
  }

  private async operate(): Promise<void> {
    const { random } = this.world;
    const verbs = [() => this.cancel(), () => this.remove(), () => this.redrive(), () => this.pause()];
    while (!this.world.isEnding) {
      await this.sleep(random.between(100, 2_000));
      await random
        .pick(verbs)()
        .catch(() => undefined); // a call without an answer
    }
  }

  private pick(): string | undefined {
    const mixed = [...this.world.history.jobs].filter(([, { queue }]) => queue === 'mixed').map(([id]) => id);
    return mixed.length > 0 ? this.world.random.pick(mixed.slice(-30)) : undefined;
  }

  private async cancel(): Promise<void> {
    const id = this.pick();
    if (id !== undefined) {
      await this.queues.mixed.cancel(id);
    }
  }

  private async remove(): Promise<void> {
    const id = this.pick();
    if (id !== undefined) {
      this.world.history.jobs.get(id)!.removed = true;
      await this.queues.mixed.remove(id);
    }
  }

  private async redrive(): Promise<void> {
    const letters = await this.queues.mixed.list('failed', { limit: 5 });
    letters.forEach(({ id }) => (this.world.history.jobs.get(id)!.redriven = true));
    await this.queues.mixed.deadLetters.redriveMany(letters.map(({ id }) => id));
  }

  private async pause(): Promise<void> {
    const { mixed } = this.queues;
    await mixed.pause().catch(() => undefined); // it may be paused even if the call failed
    await this.sleep(this.world.random.between(10, 1_000));
    for (let answered = false; !answered;) {
      answered = await mixed.resume().then(
        () => true,
        () => false,
      );
    }
  }
}
