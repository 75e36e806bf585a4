import { systemClock, type Clock } from '../../queue/runtime/clock.js';
import type { ReclaimedJob } from '../../queue/store/call-outcomes.js';
import { type StoredError, describeStored } from '../../queue/errors/stored-error.js';
import { kindText } from '../../queue/errors/error-kind.js';
import { counted } from '../../queue/errors/show.js';
import type { LogLevel, SafeLogger } from '../../queue/errors/safe-logger.js';
import { BurstLog } from './burst-log.js';
import { startOf } from '../../queue/runtime/cut.js';

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
