import type { RedisStateError } from '../../queue/errors/errors.js';
import type { Clock } from '../../queue/runtime/clock.js';

const FIRST_REST_MS = 1_000;
/** Short, because jobs that write nothing to Redis go on in between, and make room. */
const LONGEST_REST_MS = 10_000;
/** The time without a refusal after which an outage is over, in ms. */
const OVER_AFTER_MS = 60_000;

/** What the handlers of a queue met while Redis refused calls because of its state. Each outage is logged once. */
export class Outages {
  private restMs = 0;
  private restsUntil = -Infinity;
  private droppedAt = -Infinity;

  constructor(
    private readonly queue: string,
    private readonly clock: Clock,
    private readonly warn: (message: string) => void,
  ) {}

  /** Notes a job that goes back because of a refusal. Returns how long its queue or group rests, in ms. */
  rest({ message }: RedisStateError): number {
    const now = this.clock.monotonic();
    const isNew = now > this.restsUntil + OVER_AFTER_MS;
    if (now >= this.restsUntil) {
      this.restMs = isNew ? FIRST_REST_MS : Math.min(LONGEST_REST_MS, 2 * this.restMs);
      this.restsUntil = now + this.restMs;
    }
    if (isNew) {
      this.warn(
        `A handler of queue "${this.queue}" could not go on: ${message} Its job goes back without using an attempt. ` +
          `The queue, or the job's group, rests for a second, and for up to ${LONGEST_REST_MS / 1_000} s while this goes on.`,
      );
    }
    return Math.max(1, Math.ceil(this.restsUntil - now));
  }

  /** Notes progress or a log line that is not stored. */
  drop({ message }: RedisStateError): void {
    const now = this.clock.monotonic();
    if (now > this.droppedAt + OVER_AFTER_MS) {
      this.warn(
        `Progress and log lines of running jobs of queue "${this.queue}" are dropped until Redis takes them: ${message}`,
      );
    }
    this.droppedAt = now;
  }
}
