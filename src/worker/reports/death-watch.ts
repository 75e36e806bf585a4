import { serializeError } from '../../queue/errors/serialize-error.js';
import { oneLine } from '../../queue/errors/one-line.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ClaimRef } from '../../queue/model/job.js';
import type { Release, StoreCalls } from '../../queue/store/store-calls.js';
import type { Job } from '../handlers/job.js';

/** The most running jobs that a line names. */
const MOST_JOBS = 10;

/** The most characters of an error that the crash of a job quotes. */
const LONGEST_QUOTE = 500;

/** A runner of a worker, as far as its end concerns its jobs. */
interface Running {
  readonly name: string;
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly settlements: { readonly releases: readonly { readonly settlement: Release }[] };
  readonly attempts: Iterable<{ readonly job: Job; readonly claim: ClaimRef; readonly isCalled: boolean }>;
}

type Report = (error: unknown, origin: string) => void;

/** The reports of the workers of this process. They share one listener of the process. */
const reports = new Set<Report>();

const onUncaught: Report = (error, origin) => reports.forEach((report) => report(error, origin));

/**
 * Logs each uncaught error of the process with the jobs that run in it, and notes it in these jobs. Node calls it before
 * it ends the process. Each of these jobs then gets a crash, also if a job that has ended left the error behind. Isolated
 * jobs that wait go back, so that the next process starts them first. Returns a function that ends the watch.
 *
 * @param releaseIsolated releases the isolated jobs that wait
 */
export function watchDeath(
  runners: () => readonly Running[],
  logger: JobQueueLogger,
  releaseIsolated: () => void,
): () => void {
  const report: Report = (error, origin) => {
    releaseIsolated();
    for (const runner of runners()) {
      noteDeath(runner, error);
      sendReleases(runner);
    }
    const jobs = runners().flatMap(({ name, attempts }) =>
      [...attempts].filter(({ isCalled }) => isCalled).map(({ job }) => `${job.id} (${job.name} of "${name}")`),
    );
    if (jobs.length > 0) {
      const { name, message } = serializeError(error);
      const more = jobs.length > MOST_JOBS ? ` and ${jobs.length - MOST_JOBS} more` : '';
      logger.error(
        oneLine(
          `Uncaught error in this process (${origin}): ${name}: ${message}. If the process ends, its running jobs get a ` +
            `crash: ${jobs.slice(0, MOST_JOBS).join(', ')}${more}. A job that has ended may have left the error behind.`,
          4_000,
        ),
      );
    }
  };
  if (reports.size === 0) {
    process.on('uncaughtExceptionMonitor', onUncaught);
  }
  reports.add(report);
  return () => {
    reports.delete(report);
    if (reports.size === 0) {
      process.off('uncaughtExceptionMonitor', onUncaught);
    }
  };
}

/**
 * Sends the error to Redis without waiting for the reply: the kernel delivers the call even if the process dies. A queue
 * that redacts stores only the error's name, because the message may quote a payload.
 */
function noteDeath({ queue, calls, attempts }: Running, error: unknown): void {
  const claims = [...attempts].filter(({ isCalled }) => isCalled).map(({ claim }) => claim);
  if (claims.length > 0) {
    const { name, message } = serializeError(error);
    const quote = queue.options.redact === undefined ? `${name}: ${message}` : name;
    void queue.store.exec(calls.noteDeath(claims, oneLine(quote, LONGEST_QUOTE))).catch(() => undefined); // it is in the log
  }
}

/** Sends the releases that wait, as `noteDeath`. A process that lives on sends them again, which changes nothing. */
function sendReleases({ queue, calls, settlements }: Running): void {
  if (settlements.releases.length > 0) {
    const releases = settlements.releases.map(({ settlement }) => settlement);
    void queue.store.exec(calls.release(releases)).catch(() => undefined); // its claim expires
  }
}
