import { JobQueueError } from '../../queue/errors/errors.js';
import type { VirtualClock } from '../time/virtual-clock.js';
import { turn } from '../time/real-time.js';
import type { RunningHandlers } from './running-handlers.js';
import type { TestedQueue } from './tested-queue.js';

/** The time a handler may do nothing visible here before the clock moves on beside it, in real ms. */
const PATIENCE_MS = 100;

/** The turns of the event loop that a worker needs to settle ended jobs. */
const SETTLING_TURNS = 20;

/** How often news of a batch goes from one queue to another until its follow-up is there. */
const STEPS_OF_NEWS = 4;

/** The number of moves to a next timer without an effect on a job, before the wait is given up. */
const MOST_IDLE_STEPS = 500;

/** The most attempts of one drain, so that an endlessly repeated job ends the test with an error. */
const MOST_ATTEMPTS = 100_000;

/** The end of a drain. */
interface DrainLimits {
  /** True to also run jobs enqueued for later. */
  delayed: boolean;
  /** The time a handler may do nothing visible here, in ms of real time. */
  timeoutMs: number;
  /** Returns whether enough has happened. */
  done: () => boolean;
  /** Returns how many attempts have ended. */
  attempts: () => number;
}

/** Moves the clock of in-memory queues so that jobs run at their times, whatever real time their handlers take. */
export class TestClock {
  constructor(
    private readonly clock: VirtualClock,
    private readonly queues: () => TestedQueue[],
    private readonly handlers: RunningHandlers,
  ) {}

  /** Moves on by `ms`. If nothing is due, it goes to the next due time in one step. */
  async advance(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    for (;;) {
      await this.handlers.settle(PATIENCE_MS);
      if (this.handlers.jobs.length > 0 || this.queues().some((queue) => queue.isBusy())) {
        if (!(await this.step(until))) {
          break;
        }
        continue;
      }
      const next = Math.min(...this.queues().map((queue) => queue.nextDueAt()));
      await this.jump(Math.min(next, until));
      if (next > until) {
        break;
      }
    }
    await this.jump(until);
    this.handlers.attend();
    await this.handlers.settle(PATIENCE_MS);
  }

  /**
   * Runs all due jobs and all that they cause. The clock goes to each retry.
   *
   * @throws JobQueueError if a handler does not end, or no worker runs waiting jobs
   */
  async drain({ delayed, timeoutMs, done, attempts }: DrainLimits): Promise<void> {
    const most = attempts() + MOST_ATTEMPTS;
    this.handlers.attend();
    for (let idle = 0, seen = attempts(); ; idle = seen === attempts() ? idle + 1 : 0, seen = attempts()) {
      await this.handlers.settle(timeoutMs);
      if (done()) {
        return;
      }
      this.refuseHanging(timeoutMs);
      if (attempts() > most || idle > MOST_IDLE_STEPS) {
        throw endless(attempts() > most, this.queues());
      }
      await this.maintain();
      const next = await this.nextRunAt(delayed);
      if (next <= this.clock.now() || (await this.gathers())) {
        await this.step(Infinity);
      } else if (next === Infinity) {
        return;
      } else {
        await this.jump(next);
      }
    }
  }

  /** Lets time pass until a promise settles, for waits on the clock while an app closes. */
  async runUntil(settled: Promise<unknown>): Promise<void> {
    const closing = { isOver: false };
    const end = () => void (closing.isOver = true);
    settled.then(end, end);
    await this.handlers.settle(PATIENCE_MS);
    while (!closing.isOver) {
      await this.step(Infinity);
      await this.handlers.settle(PATIENCE_MS);
    }
  }

  /**
   * Maintains all queues, until a job may run or no news of a batch may be left. An end goes to the queue of the batch. A cancel
   * goes from there to the members, and their ends come back. Then follow-ups go out.
   */
  private async maintain(): Promise<void> {
    const steps = this.queues().length > 1 ? STEPS_OF_NEWS : 1;
    for (let step = 0; step < steps; step++) {
      for (const queue of this.queues()) await queue.maintain();
      if (this.queues().some((queue) => queue.isRunnable())) return;
    }
  }

  private async nextRunAt(delayed: boolean): Promise<number> {
    const queues = this.queues();
    if (queues.some((queue) => queue.isRunnable())) return this.clock.now();
    return Math.min(...(await Promise.all(queues.map((queue) => queue.nextRunAt(delayed)))));
  }

  /** Returns whether jobs wait in a worker, and not only for the reply to their settlement. */
  private async gathers(): Promise<boolean> {
    for (let i = 0; i < SETTLING_TURNS; i++) {
      if (this.handlers.jobs.length > 0 || !this.queues().some((queue) => queue.isGathering())) {
        return false;
      }
      await turn();
    }
    return true;
  }

  private async step(until: number): Promise<boolean> {
    return this.clock.fireNext(until);
  }

  private async jump(at: number): Promise<void> {
    this.queues().forEach((queue) => queue.keepAlive(at));
    await this.clock.jump(at);
  }

  private refuseHanging(timeoutMs: number): void {
    const [job] = this.handlers.jobs;
    if (job) {
      throw new TestingError(
        `The handler of job ${job.id} ("${job.name}") did nothing for ${timeoutMs} ms of real time, so drain() gave up. ` +
          'Move the clock by advance(ms) where it waits for a timeout, or raise drain({ timeoutMs }).',
      );
    }
  }
}

/** Thrown if a test asks for something that cannot happen. */
export class TestingError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'TESTING';
}

function endless(isLoop: boolean, queues: TestedQueue[]): TestingError {
  const names = queues.filter((queue) => isLoop || queue.isRunnable()).map(({ name }) => `"${name}"`);
  return new TestingError(
    isLoop
      ? `drain() ran ${MOST_ATTEMPTS.toLocaleString('en')} attempts and jobs are still due in ${names.join(', ')}: does a job enqueue itself?`
      : `Jobs wait in ${names.join(', ')}, and no worker claims them. Is the worker paused, or do its jobs wait for a limit?`,
  );
}
