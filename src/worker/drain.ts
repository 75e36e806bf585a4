import type { Clock } from '../queue/runtime/clock.js';
import type { JobQueueLogger } from '../queue/runtime/logger.js';
import { within } from '../queue/runtime/within.js';
import type { QueueRunner } from './runner/queue-runner.js';
import { ShutdownError } from './attempt/worker-errors.js';

/** The share of the deadline that is reserved for releasing unfinished jobs, at most a second. */
const RESERVE = 0.2;
const LONGEST_RESERVE_MS = 1_000;
const LOOK_EVERY_MS = 5;

/** The part of a worker that a drain uses. */
interface Drainable {
  readonly clock: Clock;
  runners(): readonly QueueRunner[];
  /** Ends all claiming; resolves when no claim is in flight in the idle waits. */
  quiesce(): Promise<void>;
  /** Resolves when every settlement has reached the server. */
  flush(): Promise<void>;
}

/**
 * Stops a worker within the deadline, even if Redis is away. It stops claiming and lets running handlers continue
 * until shortly before the deadline. Then it aborts their signals and releases their jobs, attempts uncounted.
 */
export async function drain(worker: Drainable, timeoutMs: number, logger: JobQueueLogger): Promise<void> {
  const { clock } = worker;
  const started = clock.monotonic();
  const left = () => timeoutMs - (clock.monotonic() - started);
  const reserve = Math.min(LONGEST_RESERVE_MS, timeoutMs * RESERVE);
  const running = worker.runners().reduce((sum, runner) => sum + runner.running, 0);
  if (running > 0) {
    logger.log(`Stopping: waiting for ${running} running job(s), at most ${Math.round(timeoutMs - reserve)} ms.`);
  }
  const quiet = worker.quiesce();
  await Promise.all([
    within(clock, left() - reserve, quiet, () => undefined),
    handlersDone(worker, () => left() > reserve),
  ]);

  const unfinished = worker.runners().flatMap((runner) => [...runner.attempts]);
  const interrupted = unfinished.filter((attempt) => !attempt.isEnded);
  if (interrupted.length > 0) {
    logger.warn(
      `Stopping: ${interrupted.length} job(s) did not end in time and are released. Pass job.signal on, or raise shutdownTimeoutMs.`,
    );
    interrupted.forEach((attempt) => attempt.interrupt(new ShutdownError()));
  }
  const settled = quiet.then(() => worker.flush()).then(() => true);
  if (!(await within(clock, left(), settled, () => false))) {
    logger.warn(
      'Stopping: Redis did not acknowledge all settlements in time. Those jobs run again after the visibility timeout; ' +
        'if this repeats, check Redis or raise shutdownTimeoutMs.',
    );
  }
}

/** Resolves when no handler runs and no claim is in flight, or when there is no more time. */
async function handlersDone(worker: Drainable, hasTime: () => boolean): Promise<void> {
  while (hasTime() && worker.runners().some((runner) => runner.attempts.size > 0 || runner.claiming > 0)) {
    await new Promise<void>((resolve) => worker.clock.setTimeout(resolve, LOOK_EVERY_MS));
  }
}
