import type { JobQueue } from '../../queue/job-queue.js';
import { permitsNeeded } from '../../queue/model/shared-limit.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { Timer } from '../../queue/runtime/clock.js';
import type { JobEvent } from '../../queue/model/job-event.js';

/** The time failures are gathered before one call adopts them, in ms. */
const GATHER_MS = 100;

/** The most failures that one call adopts. */
const MOST_PER_CALL = 200;

/** The observed clients of the Redis pattern on one queue. */
interface Watched {
  /** Ends the subscription; undefined while there is none. */
  end?: () => void;
  failed: Set<string>;
  timer?: Timer;
  sweepLogged: boolean;
  limitsLogged: boolean;
}

/**
 * Adopts failures of clients of the Redis pattern at their events while such clients use a queue. Their history keeps only
 * 50 failures, so a sweep may be too late. Warns if their sweep runs beside ours, and if the queue has limits, which they
 * ignore.
 */
export class ForeignClients {
  private readonly queues = new Map<JobQueue, Watched>();
  private stopped = false;

  constructor(private readonly logger: JobQueueLogger) {}

  /** Records what a sweep found out about such clients. */
  async saw(queue: JobQueue, signs: { sweptByClients: number; clientsAtWork: boolean }): Promise<void> {
    const watched = this.watchedOf(queue);
    if (signs.sweptByClients > 0 && !watched.sweepLogged) {
      watched.sweepLogged = true;
      this.logger.warn(
        `Clients of the Redis pattern sweep queue "${queue.name}" too: they reclaimed ${signs.sweptByClients} claims. With ` +
          'both sweeps a reclaim may be recorded twice. Turn theirs off: this library reclaims their dead claims too.',
      );
    }
    if (signs.clientsAtWork && !watched.limitsLogged) {
      watched.limitsLogged = await this.warnOfLimits(queue);
    }
    if (!signs.clientsAtWork) {
      watched.end?.();
      watched.end = undefined;
    } else if (!watched.end && !this.stopped) {
      await this.listen(queue, watched);
    }
  }

  /** Returns whether the last sweep saw such clients at work. */
  areAtWork(queue: JobQueue): boolean {
    return this.queues.get(queue)?.end !== undefined;
  }

  /** Ends all subscriptions. */
  stop(): void {
    this.stopped = true;
    for (const [queue, { end, timer }] of this.queues) {
      end?.();
      queue.store.clock.clear(timer);
    }
    this.queues.clear();
  }

  private watchedOf(queue: JobQueue): Watched {
    const watched = this.queues.get(queue) ?? {
      failed: new Set<string>(),
      sweepLogged: false,
      limitsLogged: false,
    };
    this.queues.set(queue, watched);
    return watched;
  }

  /** Returns whether the queue has limits, and so a warning was logged. */
  private async warnOfLimits(queue: JobQueue): Promise<boolean> {
    const { maxRunning, rateLimit } = await queue.exec((calls) => calls.limits.get());
    const shared = permitsNeeded(queue).map(({ limit }) => limit);
    const has = maxRunning !== undefined ? 'maxRunning' : rateLimit ? 'rateLimit' : shared.join(', ');
    if (has === '') {
      return false;
    }
    this.logger.warn(
      `Clients of the Redis pattern take jobs from queue "${queue.name}", which has limits (${has}). ` +
        'They ignore limits. Let only this library work on the queue, or enqueue its jobs with a priority, which they do not see.',
    );
    return true;
  }

  private async listen(queue: JobQueue, watched: Watched): Promise<void> {
    watched.end = () => undefined; // one attempt, also if the Redis user may not subscribe
    try {
      const calls = await queue.calls();
      const end = await queue.store.subscribe(calls, (event) => this.onEvent(queue, watched, event));
      watched.end = end;
      if (this.stopped) {
        end();
      }
    } catch (error) {
      this.logger.warn(
        `Cannot listen to the events of queue "${queue.name}": ${(error as Error).message} Of many failures of clients of ` +
          'the Redis pattern at once only the last 50 are kept.',
      );
    }
  }

  /** Handles an event. An event of this library has the name of the job. */
  private onEvent(queue: JobQueue, watched: Watched, { id, status, name }: JobEvent): void {
    if (status !== 'failed' || name !== undefined || typeof id !== 'string' || this.stopped) {
      return;
    }
    watched.failed.add(id);
    if (!watched.timer) {
      watched.timer = queue.store.clock.setTimeout(() => void this.adopt(queue, watched), GATHER_MS);
      watched.timer.unref();
    }
  }

  private async adopt(queue: JobQueue, watched: Watched): Promise<void> {
    watched.timer = undefined;
    const ids = [...watched.failed];
    watched.failed.clear();
    try {
      for (let i = 0; i < ids.length; i += MOST_PER_CALL) {
        await queue.exec((calls) => calls.sweep.adoptFailed({ ids: ids.slice(i, i + MOST_PER_CALL) }));
      }
    } catch (error) {
      this.logger.warn(
        `Could not keep ${ids.length} failed jobs of clients of the Redis pattern in queue "${queue.name}"; ` +
          `the next sweep tries again: ${(error as Error).message}`,
      );
    }
  }
}
