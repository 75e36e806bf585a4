import type { ResourceLimits } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { loadPeer } from '../../queue/errors/load-peer.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/within.js';
import type { Job } from '../handlers/job.js';
import { ThreadRun } from './thread-run.js';
import { ShutdownError, ThreadCrashedError } from '../attempt/worker-errors.js';

/** How long a thread without a job is kept, in ms. */
const IDLE_MS = 60_000;

/** How threads run a handler's jobs. */
export interface ThreadSettings {
  /** How errors name the option. */
  subject: string;
  /** The absolute path of the file whose default export is the handler. */
  file: string;
  /** How long a job may go on after its abort before its thread is terminated, in ms. */
  graceMs: number;
  resourceLimits?: ResourceLimits;
}

/**
 * The threads of one handler: piscina's, as many as the jobs that the worker runs at once, so that nothing is claimed that
 * no thread has room for. They begin when jobs come.
 */
export class ThreadPool {
  private pool: Piscina | undefined;
  private readonly runs = new Set<ThreadRun>();
  private fault: unknown;
  private closed = false;

  constructor(private readonly settings: ThreadSettings) {}

  /** @throws InvalidOptionError where piscina is not installed, or the library is part of a bundle */
  async open(threads: number): Promise<void> {
    const { subject, resourceLimits } = this.settings;
    const Threads = await loadPiscina(subject);
    this.pool = new Threads({
      filename: await entryFile(subject),
      name: 'run',
      minThreads: 0,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      idleTimeout: IDLE_MS,
      resourceLimits,
      // The event loop of a thread turns while it waits for a job, and what is left in it ends there.
      atomics: 'disabled',
      recordTiming: false,
    });
    // First it is gone, then follows why, where it had no job. Without a listener such an error would end the process.
    this.pool.on('workerDestroy', () => {
      this.fault = undefined;
      queueMicrotask(() => this.failStranded());
    });
    this.pool.on('error', (error) => (this.fault = error));
  }

  /** A handler function: the same for the worker as one that runs in its own thread. */
  readonly handle = async (job: Job): Promise<unknown> => {
    if (this.closed) {
      throw new ShutdownError();
    }
    const run = new ThreadRun(job, this.settings.graceMs);
    this.runs.add(run);
    try {
      return await run.in(this.pool!, this.settings.file);
    } catch (error) {
      throw this.closed && error instanceof ThreadCrashedError ? new ShutdownError() : error;
    } finally {
      this.runs.delete(run);
    }
  };

  /**
   * Ends all threads, whatever they do, and waits for their end for `timeoutMs` at most: one that is inside native code
   * ends when it comes back from there.
   */
  async close(timeoutMs: number): Promise<void> {
    this.closed = true;
    if (this.pool) {
      await within(systemClock, timeoutMs, this.pool.destroy(), () => undefined);
    }
  }

  /** Piscina lets a job wait for ever whose thread died while it started. There is none for it: it has crashed. */
  private failStranded(): void {
    for (const run of this.runs) {
      if (!run.taken && this.pool!.queueSize > 0) {
        run.fail(run.crash(this.fault));
      }
    }
  }
}

async function loadPiscina(subject: string): Promise<typeof Piscina> {
  const { Piscina: pool } = await loadPeer('piscina', subject, 'whose threads they are', () => import('piscina'));
  return pool;
}

async function entryFile(subject: string): Promise<string> {
  const { file } = await import('./thread-entry.cjs');
  if (!file?.endsWith('thread-entry.cjs')) {
    throw new InvalidOptionError(
      subject,
      'the library as files, of which a thread loads one',
      'it in a bundle',
      'Mark nest-job-queue, piscina, @nestjs/common and @nestjs/core as external.',
    );
  }
  return file;
}
