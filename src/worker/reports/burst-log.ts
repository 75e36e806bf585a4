import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { LogLevel, SafeLogger } from '../../queue/errors/safe-logger.js';
import { startOf } from '../../queue/runtime/cut.js';

/** The time equal lines are counted before their sum is logged, in ms. */
const WINDOW_MS = 10_000;

/**
 * The most kinds of lines that are counted separately. Beyond that only the first line of each level is logged in full.
 */
const MOST_KINDS = 50;

/** The most job ids that a sum names. */
const MOST_NAMED = 10;

/** The most jobs that a sum tells apart. */
const MOST_COUNTED = 1_000;

/** A log line, and the key that it shares with equal lines. */
interface BurstLine {
  level: LogLevel;
  /** Lines of the same kind and level are equal. */
  kind: string;
  /** The name of the sum, in the plural: `failed attempts of email`. */
  plural: string;
  jobId: string;
  message: string;
  /** The error, as `describeStored` returned it; absent without one. */
  description?: string;
}

interface Sum extends Pick<BurstLine, 'level' | 'plural'> {
  count: number;
  /** The ids of the jobs. A job may fail several times. */
  jobs: Set<string>;
  /** The last line, which is logged if it was the only one. */
  last: Pick<BurstLine, 'message' | 'description'>;
}

/**
 * Logs the first of equal lines at once and in full, and sums up the others every ten seconds. So an outage of a mail
 * server does not write the same stack ten thousand times.
 */
export class BurstLog {
  private readonly sums = new Map<string, Sum>();
  private timer: Timer | undefined;

  constructor(
    private readonly logger: SafeLogger,
    private readonly clock: Clock,
  ) {}

  add(line: BurstLine): void {
    const { level, message, description } = line;
    const [key, plural] = this.kindOf(line);
    const sum = this.sums.get(key);
    if (sum) {
      count(sum, line);
      return;
    }
    this.sums.set(key, { level, plural, count: 0, jobs: new Set(), last: line });
    this.logger.describe(level, message, description);
    if (!this.timer) {
      this.timer = this.clock.setInterval(() => this.flush(), WINDOW_MS);
      this.timer.unref();
    }
  }

  /** Logs all sums now. Lines not repeated since the last sum count as new the next time. */
  flush(): void {
    for (const [key, sum] of this.sums) {
      if (sum.count === 0) {
        this.sums.delete(key);
        continue;
      }
      this.write(sum);
      this.sums.set(key, { ...sum, count: 0, jobs: new Set() });
    }
    if (this.sums.size === 0) {
      this.clock.clear(this.timer);
      this.timer = undefined;
    }
  }

  /** Logs a sum. A single line is logged as itself, with the first line of its error. */
  private write(sum: Sum): void {
    const { level, count: times, last } = sum;
    if (times === 1) {
      this.logger.describe(level, last.message, last.description?.split('\n', 1)[0]);
    } else {
      this.logger[level](textOf(sum));
    }
  }

  private kindOf({ level, kind, plural }: BurstLine): [key: string, plural: string] {
    const key = `${level} ${kind}`;
    return this.sums.has(key) || this.sums.size < MOST_KINDS ? [key, plural] : [level, 'failures of other kinds'];
  }
}

function count(sum: Sum, { jobId, message, description }: BurstLine): void {
  sum.count++;
  sum.last = { message, description };
  if (sum.jobs.size < MOST_COUNTED) {
    sum.jobs.add(startOf(jobId, 128));
  }
}

function textOf({ count: times, plural, jobs, last }: Sum): string {
  const error = last.description && `, the last with ${last.description.split('\n', 1)[0]!}`;
  return `${times} more ${plural} within ${WINDOW_MS / 1_000} s (${named(jobs)})${error ?? ''}`;
}

function named(jobs: ReadonlySet<string>): string {
  const first = [...jobs].slice(0, MOST_NAMED).join(', ');
  const others = jobs.size - MOST_NAMED;
  const many = jobs.size === MOST_COUNTED ? 'at least ' : '';
  return `${jobs.size === 1 ? 'job' : 'jobs'} ${first}${others > 0 ? ` and ${many}${others} more` : ''}`;
}
