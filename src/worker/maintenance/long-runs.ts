import type { LongRun } from '../../queue/model/worker-record.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueRunner } from '../runner/queue-runner.js';

/** The time that a handler without a timeout may run before it is reported, in ms. */
const LONG_RUN_MS = 900_000;

const INTERVAL_MS = 60_000;

/** Reports handlers without a `timeoutMs` that run for long, because a hanging call keeps its slot for ever. */
export class LongRuns implements BackgroundRole {
  private timer: Timer | undefined;
  /** The handlers that were reported, by queue and name. Each is reported once. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly runners: readonly QueueRunner[],
    private readonly clock: Clock,
    private readonly logger: JobQueueLogger,
  ) {}

  start(): void {
    this.timer = this.clock.setInterval(() => this.runOnce(), INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    this.clock.clear(this.timer);
  }

  /** The oldest run of each handler that runs for so long now. */
  get list(): LongRun[] {
    const nowMs = this.clock.monotonic();
    return this.runners.flatMap((runner) => {
      const oldest = new Map<string, LongRun>();
      for (const { job, unboundedSinceMs = nowMs } of runner.attempts) {
        const { queue, id, name, attempt } = job;
        const forMs = nowMs - unboundedSinceMs;
        if (forMs > LONG_RUN_MS && forMs > (oldest.get(name)?.forMs ?? 0)) {
          oldest.set(name, { queue, id, name, attempt, forMs: Math.round(forMs) });
        }
      }
      return [...oldest.values()];
    });
  }

  /** Reports each handler that runs for long and was not reported. */
  runOnce(): void {
    for (const run of this.list) {
      const handler = JSON.stringify([run.queue, run.name]);
      if (!this.reported.has(handler)) {
        this.reported.add(handler);
        this.logger.warn(longRunInWords(run));
      }
    }
  }
}

/** Returns what a handler does for long, and the remedy. */
function longRunInWords({ queue, id, name, forMs }: LongRun): string {
  return (
    `The handler of job ${id} (${name}) of queue "${queue}" has run for ${Math.floor(forMs / 60_000)} minutes and has no ` +
    'timeoutMs. Set timeoutMs and pass job.signal on, because a call that hangs keeps its slot.'
  );
}
