import type { ResourceLimits } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { loadPeer } from '../../queue/errors/load-peer.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import type { ContentRules } from '../../queue/codec/codec.js';
import type { Job } from '../handlers/job.js';
import { ThreadRun } from './thread-run.js';
import type { ThreadContent } from './thread-values.js';
import { ShutdownError, ThreadCrashedError } from '../attempt/worker-errors.js';

/** The time a thread without a job is kept, in ms. */
const IDLE_MS = 60_000;

/** The settings of a handler's threads. */
export interface ThreadSettings {
  /** The name of the option in errors. */
  subject: string;
  /** The absolute path of the file whose default export is the handler. */
  file: string;
  /** The time a job may continue after its abort before its thread is terminated, in ms. */
  graceMs: number;
  resourceLimits?: ResourceLimits;
}

/**
 * The threads of one handler, from piscina. There are as many as the worker runs jobs at once, so every claimed job has a
 * thread. They start with jobs.
 */
export class ThreadPool {
  private pool: Piscina | undefined;
  private readonly runs = new Set<ThreadRun>();
  private fault: unknown;
  private closed = false;
  private content: ThreadContent = { asJson: true, isRedacted: false };

  constructor(private readonly settings: ThreadSettings) {}

  /**
   * Starts the pool, whose threads start with jobs.
   *
   * @param rules how the queue stores and shows content
   * @throws InvalidOptionError where piscina is not installed, or the library is part of a bundle
   */
  async open(threads: number, { codec, redact }: Partial<ContentRules> = {}): Promise<void> {
    this.content = { asJson: codec?.takesJson ?? codec === undefined, isRedacted: redact !== undefined };
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
      // The event loop of an idle thread keeps turning, so leftover work of a job ends there.
      atomics: 'disabled',
      recordTiming: false,
    });
    // The error of an idle thread follows its exit. Without a listener that error would end the process.
    this.pool.on('workerDestroy', () => {
      this.fault = undefined;
      queueMicrotask(() => this.failStranded());
    });
    this.pool.on('error', (error) => (this.fault = error));
  }

  /** Runs a job: a handler function is the same for the worker as one that runs in its own thread. */
  readonly handle = async (job: Job): Promise<unknown> => {
    if (this.closed) {
      throw new ShutdownError();
    }
    const run = new ThreadRun(job, this.settings.graceMs, this.content);
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
   * Terminates all threads and waits for their end, at most `timeoutMs`. A thread in native code ends when that code
   * returns.
   */
  async close(timeoutMs: number): Promise<void> {
    this.closed = true;
    if (this.pool) {
      await within(systemClock, timeoutMs, this.pool.destroy(), () => undefined);
    }
  }

  /**
   * Fails stranded jobs. Piscina never settles a job whose thread died during its start. Without a thread the job has
   * crashed.
   */
  private failStranded(): void {
    for (const run of this.runs) {
      if (!run.isTaken && this.pool!.queueSize > 0) {
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
