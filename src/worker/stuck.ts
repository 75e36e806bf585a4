import type { JobQueueLogger } from '../queue/logger.js';
import type { Attempt } from './attempt.js';
import type { Job } from './job.js';

/** How long a handler may go on after its signal aborted before it is reported as stuck, in ms. */
const STUCK_AFTER_MS = 5_000;

/** How often that is said again while it goes on, in ms. */
const AGAIN_MS = 60_000;

/** A job whose handler goes on although its signal was aborted. It keeps its slot until it ends. */
export interface StuckJob {
  queue: string;
  id: string;
  name: string;
  attempt: number;
  /** How long ago a heartbeat found its signal aborted, in ms. */
  forMs: number;
  /** The message of the signal's reason. */
  reason: string;
}

/** Of an attempt, what is watched. */
interface WatchedAttempt extends Pick<Attempt, 'begun'> {
  readonly job: Pick<Job, 'id' | 'name' | 'attempt' | 'abortReason'>;
}

/** Of a lane, what is watched and told. */
interface Watched {
  readonly name: string;
  readonly attempts: ReadonlySet<WatchedAttempt>;
  reportStuck(attempt: WatchedAttempt): void;
}

interface Suspect {
  sinceMs: number;
  toldAtMs?: number;
}

/** Watches the handlers of one lane for those that ignore their signal, and tells of each until it ends. */
export class StuckWatch {
  private readonly suspects = new Map<WatchedAttempt, Suspect>();

  /** @param now ms of a clock that never goes back */
  constructor(
    private readonly lane: Watched,
    private readonly logger: JobQueueLogger,
    private readonly now = () => performance.now(),
  ) {}

  /** Those that were reported and still go on. */
  get stuck(): StuckJob[] {
    return [...this.suspects]
      .filter(([attempt, { toldAtMs }]) => toldAtMs !== undefined && this.lane.attempts.has(attempt))
      .map(([{ job }, { sinceMs }]) => ({
        queue: this.lane.name,
        id: job.id,
        name: job.name,
        attempt: job.attempt,
        forMs: Math.round(this.now() - sinceMs),
        reason: job.abortReason?.message ?? '',
      }));
  }

  /** To be called with each heartbeat. */
  look(): void {
    for (const [attempt, suspect] of this.suspects) {
      if (!this.lane.attempts.has(attempt)) {
        this.suspects.delete(attempt);
        this.tellEnd(attempt, suspect);
      }
    }
    for (const attempt of this.lane.attempts) {
      if (attempt.begun && attempt.job.abortReason) {
        this.suspect(attempt);
      }
    }
  }

  private suspect(attempt: WatchedAttempt): void {
    const now = this.now();
    const suspect = this.suspects.get(attempt) ?? { sinceMs: now };
    this.suspects.set(attempt, suspect);
    if (suspect.toldAtMs === undefined) {
      if (now - suspect.sinceMs >= STUCK_AFTER_MS) {
        suspect.toldAtMs = now;
        this.lane.reportStuck(attempt);
      }
    } else if (now - suspect.toldAtMs >= AGAIN_MS) {
      suspect.toldAtMs = now;
      const { job } = attempt;
      this.logger.warn(
        `The handler of job ${job.id} (${job.name}) of queue "${this.lane.name}" still goes on, ` +
          `${this.seconds(suspect)} s after its signal was aborted (${job.abortReason?.message}); it keeps its slot.`,
      );
    }
  }

  private tellEnd({ job }: WatchedAttempt, suspect: Suspect): void {
    if (suspect.toldAtMs !== undefined) {
      this.logger.log(
        `The handler of job ${job.id} (${job.name}) of queue "${this.lane.name}", which was stuck, has ended ` +
          `${this.seconds(suspect)} s after its signal was aborted.`,
      );
    }
  }

  private seconds({ sinceMs }: Suspect): number {
    return Math.round((this.now() - sinceMs) / 1_000);
  }
}
