import type { JobQueueLogger } from '../queue/runtime/logger.js';
import { counted } from '../queue/errors/show.js';
import type { QueueStore } from '../queue/store/queue-store.js';
import { within } from '../queue/runtime/waits.js';
import type { QueueRunner } from './runner/queue-runner.js';
import { ShutdownError } from './attempt/worker-errors.js';
import type { WorkerLoops } from './worker-loops.js';

/** The share of the deadline that is reserved for releasing unfinished jobs, at most a second. */
const RESERVE = 0.2;
const LONGEST_RESERVE_MS = 1_000;
const LOOK_EVERY_MS = 5;

/** A part of a worker that ends with it. */
interface Role {
  stop(): Promise<void>;
}

/** The part of a worker that a drain uses. */
interface Drainable {
  readonly store: QueueStore;
  readonly runners: readonly QueueRunner[];
  /** Undefined if the worker never started. */
  readonly loops: WorkerLoops | undefined;
  readonly schedules: Role;
  readonly reports: Role | undefined;
}

/**
 * Stops a worker within the deadline, even if Redis is away. It stops claiming and lets running handlers continue
 * until shortly before the deadline. Then it aborts their signals and releases their jobs, attempts uncounted.
 */
export async function drain(worker: Drainable, timeoutMs: number, logger: JobQueueLogger): Promise<void> {
  const { runners } = worker;
  const { clock } = worker.store;
  const started = clock.monotonic();
  const left = () => timeoutMs - (clock.monotonic() - started);
  const reserve = Math.min(LONGEST_RESERVE_MS, timeoutMs * RESERVE);
  const running = runners.reduce((sum, runner) => sum + runner.state.running, 0);
  if (running > 0) {
    logger.log(
      `Stopping: waiting for ${counted(running, 'running job')}, at most ${Math.round(timeoutMs - reserve)} ms.`,
    );
  }
  const quiet = quiesce(worker);
  await Promise.all([
    within(clock, left() - reserve, quiet, () => undefined),
    handlersDone(worker, () => left() > reserve),
  ]);

  const unfinished = runners.flatMap((runner) => [...runner.attempts]);
  const interrupted = unfinished.filter((attempt) => !attempt.isEnded);
  if (interrupted.length > 0) {
    logger.warn(
      `Stopping: ${counted(interrupted.length, 'job')} did not end in time and ${interrupted.length === 1 ? 'is' : 'are'} released. Pass job.signal on, or raise shutdownTimeoutMs.`,
    );
    interrupted.forEach((attempt) => attempt.interrupt(new ShutdownError()));
  }
  const settled = quiet.then(() => flush(worker)).then(() => true);
  if (!(await within(clock, left(), settled, () => false))) {
    logger.warn(
      'Stopping: Redis did not acknowledge all settlements in time. Those jobs run again after the visibility timeout; ' +
        'if this repeats, check Redis or raise shutdownTimeoutMs.',
    );
  }
}

/** Ends all claiming. Resolves when no claim is in flight in the idle waits. */
async function quiesce({ store, runners, loops, schedules }: Drainable): Promise<void> {
  runners.forEach((runner) => runner.close());
  const stopped = Promise.all([loops?.stop(), schedules.stop()]);
  if (store.isReady) {
    await stopped;
  } else {
    // Without a server only settlements are worth a wait. A claim that is sent again later would take jobs that no worker
    // runs.
    loops?.waits.forEach((wait) => wait.abandon());
  }
}

/** Resolves when every settlement has reached the server. */
async function flush({ store, loops, reports }: Drainable): Promise<void> {
  await loops?.trips.idle();
  await (store.isReady ? reports?.stop() : undefined);
}

/** Resolves when no handler runs and no claim is in flight, or when there is no more time. */
async function handlersDone({ runners, store }: Drainable, hasTime: () => boolean): Promise<void> {
  while (hasTime() && runners.some((runner) => runner.attempts.size > 0 || runner.claims.inFlight > 0)) {
    await new Promise<void>((resolve) => store.clock.setTimeout(resolve, LOOK_EVERY_MS));
  }
}
