import { kindText } from '../../queue/errors/error-kind.js';
import type { LogLevel, SafeLogger } from '../../queue/errors/safe-logger.js';
import { show, counted } from '../../queue/errors/show.js';
import { type StoredError, describeStored } from '../../queue/errors/stored-error.js';
import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import { startOf } from '../../queue/runtime/cut.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { ReclaimedJob } from '../../queue/store/call-outcomes.js';

/** The most characters of an id in a log line. A foreign client's id may have any length. */
const LONGEST_ID = 128;

/** The levels at which failures are logged; `off`: never. */
export interface FailureLogging {
  /** A failed attempt whose job is tried again. @default `warn` */
  attempts?: LogLevel | 'off' | undefined;
  /** A permanently failed job. @default `error` */
  deadLetters?: LogLevel | 'off' | undefined;
}

/** The parts of a job that a log may show, without its payload. */
export interface FailedJob {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  /** The attempt that failed, from 1; 0 if none was made. */
  readonly attempt: number;
  readonly maxAttempts: number;
}

/** Logs what handlers throw, and which jobs are dead letters. Equal failures in a burst are summed up. */
export class FailureLog {
  private readonly levels: Required<FailureLogging>;
  private readonly burst: BurstLog;

  constructor(
    private readonly logger: SafeLogger,
    logging: boolean | FailureLogging = true,
    clock: Clock = systemClock,
  ) {
    const asked = typeof logging === 'boolean' ? {} : logging;
    this.levels =
      logging === false
        ? { attempts: 'off', deadLetters: 'off' }
        : { attempts: asked.attempts ?? 'warn', deadLetters: asked.deadLetters ?? 'error' };
    this.burst = new BurstLog(logger, clock);
  }

  /** Logs a failed attempt that has a retry. @param backoffMs the delay before the retry */
  attempt(job: FailedJob, error: StoredError, backoffMs: number): void {
    const when = backoffMs > 0 ? `after ${backoffMs} ms` : 'at once';
    const how = `failed in ${attemptOf(job)}; tried again ${when}`;
    this.add(this.levels.attempts, job, error, { what: 'failed attempts', how });
  }

  /** Logs a permanently failed job. */
  deadLetter(job: FailedJob, error: StoredError): void {
    const where = job.attempt > 0 ? `in ${attemptOf(job)}` : 'before an attempt';
    const how = `failed ${where} and is a dead letter`;
    this.add(this.levels.deadLetters, job, error, { what: 'dead letters', how });
  }

  /** Logs an error that no store keeps, because its attempt lost its claim. */
  lost(job: FailedJob, error: StoredError): void {
    const how = `failed in ${attemptOf(job)} after its claim was lost; nothing was stored`;
    this.add(this.levels.attempts, job, error, { what: 'failed attempts without a claim', how });
  }

  /** Logs a job whose worker is gone, as a sweep found it. */
  workerLost({ id, status, worker = '' }: ReclaimedJob, queue: string): void {
    const level = status === 'failed' ? this.levels.deadLetters : this.levels.attempts;
    if (level === 'off') {
      return;
    }
    const which = worker && ` ${startOf(worker, LONGEST_ID)}`;
    const now = status === 'failed' ? 'a dead letter' : status;
    this.burst.add({
      level,
      kind: JSON.stringify(['lost its worker', queue, status]),
      plural: `jobs of queue "${queue}" lost their worker and are ${status === 'failed' ? 'dead letters' : status}`,
      jobId: id,
      message: `Job ${startOf(id, LONGEST_ID)} of queue "${queue}" lost its worker${which} and is now ${now}.`,
    });
  }

  /** Logs a dead letter that must not run, because a job of its `after` did not end well. */
  unmet(id: string, queue: string): void {
    const level = this.levels.deadLetters;
    if (level !== 'off') {
      const why = 'because a job of its `after` did not end well';
      this.burst.add({
        level,
        kind: JSON.stringify(['unmet', queue]),
        plural: `jobs of queue "${queue}" are dead letters, ${why}`,
        jobId: id,
        message: `Job ${startOf(id, LONGEST_ID)} of queue "${queue}" is a dead letter, ${why}.`,
      });
    }
  }

  /** Logs how many jobs that clients of the Redis pattern failed are dead letters of a queue now. */
  adopted(queue: string, count: number): void {
    const level = this.levels.deadLetters;
    if (count > 0 && level !== 'off') {
      this.logger.describe(
        level,
        `${counted(count, 'job')} that clients of the Redis pattern failed ${count === 1 ? 'is a dead letter' : 'are dead letters'} of queue "${queue}".`,
      );
    }
  }

  /** Logs how many dead letters the cap of a queue deleted. Also logged if failures are not: their payloads are gone. */
  dropped(queue: string, count: number): void {
    if (count > 0) {
      const what = `${counted(count, 'dead letter')} of queue "${queue}" with ${count === 1 ? 'its payload' : 'their payloads'}`;
      const remedy = 'Redrive or discard dead letters, or raise `deadLetterCap`.';
      this.logger.warn(`\`deadLetterCap\` deleted the oldest ${what}. ${remedy}`);
    }
  }

  /** Logs the current sums. */
  flush(): void {
    this.burst.flush();
  }

  private add(
    level: LogLevel | 'off',
    job: FailedJob,
    error: StoredError,
    { what, how }: { what: string; how: string },
  ): void {
    if (level === 'off') {
      return;
    }
    const { id, name, queue } = job;
    const of = `"${name}" in queue "${queue}"`;
    this.burst.add({
      level,
      kind: JSON.stringify([what, queue, name, kindText(error)]),
      plural: `${what} of ${of}`,
      jobId: id,
      message: `Job ${startOf(id, LONGEST_ID)} ("${name}" in queue "${queue}") ${how}`,
      description: describeStored(error),
    });
  }
}

function attemptOf({ attempt, maxAttempts }: FailedJob): string {
  return `attempt ${attempt} of ${maxAttempts}`;
}

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
class BurstLog {
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
      addLine(sum, line);
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
      this.logger[level](sumInWords(sum));
    }
  }

  private kindOf({ level, kind, plural }: BurstLine): [key: string, plural: string] {
    const key = `${level} ${kind}`;
    return this.sums.has(key) || this.sums.size < MOST_KINDS ? [key, plural] : [level, 'failures of other kinds'];
  }
}

function addLine(sum: Sum, { jobId, message, description }: BurstLine): void {
  sum.count++;
  sum.last = { message, description };
  if (sum.jobs.size < MOST_COUNTED) {
    sum.jobs.add(startOf(jobId, 128));
  }
}

function sumInWords({ count: times, plural, jobs, last }: Sum): string {
  const error = last.description && `, the last with ${last.description.split('\n', 1)[0]!}`;
  return `${times} more ${plural} within ${WINDOW_MS / 1_000} s (${jobsInWords(jobs)})${error ?? ''}`;
}

function jobsInWords(jobs: ReadonlySet<string>): string {
  const first = [...jobs].slice(0, MOST_NAMED).join(', ');
  const others = jobs.size - MOST_NAMED;
  const many = jobs.size === MOST_COUNTED ? 'at least ' : '';
  return `${jobs.size === 1 ? 'job' : 'jobs'} ${first}${others > 0 ? ` and ${many}${others} more` : ''}`;
}

/** Logs the error of a step that a worker repeats once, until the step succeeds or has another error. */
export class FaultLog {
  private readonly known = new Map<string, string>();

  constructor(private readonly logger: JobQueueLogger) {}

  /**
   * Logs an error, unless it is the last one of this step.
   *
   * @param step names the step, in this log only
   * @param before the line up to the error
   */
  failed(step: string, before: string, error: unknown, level: 'warn' | 'error' = 'warn'): void {
    const message = (error as Error | undefined)?.message ?? show(error); // a function of the app may throw anything
    if (this.known.get(step) !== message) {
      this.known.set(step, message);
      this.logger[level](`${before}: ${message}`);
    }
  }

  /** Forgets the error of a step. */
  succeeded(step: string): void {
    this.known.delete(step);
  }
}
