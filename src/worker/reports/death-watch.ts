import { hidesContent, sealUncaught, type Sealed } from '../../queue/codec/sealed.js';
import { nameOfCode, serializeError, type StoredError } from '../../queue/errors/stored-error.js';
import { show, oneLine } from '../../queue/errors/show.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ClaimRef } from '../../queue/model/job.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { Release } from '../../queue/store/attempt-forms.js';
import type { Job } from '../handlers/job.js';

/** The most running jobs that a line names. */
const MOST_JOBS = 10;

/** A runner of a worker, as far as its end concerns its jobs. */
interface Running {
  readonly name: string;
  readonly queue: JobQueue;
  readonly calls: StoreCalls;
  readonly settlements: { readonly releases: readonly { readonly settlement: Release }[] };
  readonly attempts: Iterable<{ readonly job: Job; readonly claim: ClaimRef; readonly isCalled: boolean }>;
}

/** The watch of one worker of this process. */
interface Watch {
  runners(): readonly Running[];
  report(origin: string, told: Told): void;
}

/** The words on an error. Any job of the process may have left it behind, so a queue that hides content decides for all. */
interface Told {
  /** The words for the log. */
  readonly inLog: string;
  /** The words for the jobs in Redis. */
  readonly inJobs: Sealed;
}

/** The watches of the workers of this process. They share one listener of the process. */
const watches = new Set<Watch>();

function onUncaught(error: unknown, origin: string): void {
  const told = wordsOn(error);
  watches.forEach((watch) => watch.report(origin, told));
}

/**
 * Returns the words on an error of this process. They have no message where a queue redacts or encrypts, since nobody knows
 * whose payload it quotes.
 */
function wordsOn(error: unknown): Told {
  const stored = serializeError(error);
  const queues = [...watches].flatMap((watch) => watch.runners().map(({ queue }) => queue));
  const hiding = queues.find(({ options }) => hidesContent(options));
  return {
    inLog: hiding ? withoutMessage(stored, hiding) : `${stored.name}: ${stored.message}`,
    inJobs: sealUncaught(
      queues.map(({ options }) => options),
      stored,
    ),
  };
}

function withoutMessage({ name }: StoredError, { name: queue, options }: JobQueue): string {
  const why = options.redact === undefined ? 'encrypts' : 'redacts';
  return `${nameOfCode(name)}. Its message is not shown, because the queue ${show(queue)} ${why}`;
}

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
  const report: Watch['report'] = (origin, { inLog, inJobs }) => {
    releaseIsolated();
    for (const runner of runners()) {
      noteDeath(runner, inJobs);
      sendReleases(runner);
    }
    const jobs = runners().flatMap(({ name, attempts }) =>
      [...attempts].filter(({ isCalled }) => isCalled).map(({ job }) => `${job.id} (${job.name} of "${name}")`),
    );
    if (jobs.length > 0) {
      const more = jobs.length > MOST_JOBS ? ` and ${jobs.length - MOST_JOBS} more` : '';
      logger.error(
        oneLine(
          `Uncaught error in this process (${origin}): ${inLog}. If the process ends, its running jobs get a ` +
            `crash: ${jobs.slice(0, MOST_JOBS).join(', ')}${more}. A job that has ended may have left the error behind.`,
          4_000,
        ),
      );
    }
  };
  if (watches.size === 0) {
    process.on('uncaughtExceptionMonitor', onUncaught);
  }
  const watch: Watch = { runners, report };
  watches.add(watch);
  return () => {
    watches.delete(watch);
    if (watches.size === 0) {
      process.off('uncaughtExceptionMonitor', onUncaught);
    }
  };
}

/** Sends words to Redis without waiting for the reply. The kernel delivers the call even if the process dies. */
function noteDeath({ queue, calls, attempts }: Running, words: Sealed): void {
  const claims = [...attempts].filter(({ isCalled }) => isCalled).map(({ claim }) => claim);
  if (claims.length > 0) {
    void queue.store.exec(calls.noteDeath({ claims, error: words })).catch(() => undefined); // it is in the log
  }
}

/** Sends the releases that wait, as `noteDeath`. A process that lives on sends them again, which changes nothing. */
function sendReleases({ queue, calls, settlements }: Running): void {
  if (settlements.releases.length > 0) {
    const releases = settlements.releases.map(({ settlement }) => settlement);
    void queue.store.exec(calls.release(releases)).catch(() => undefined); // its claim expires
  }
}
