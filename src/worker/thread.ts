import { Worker as NodeThread, type ResourceLimits } from 'node:worker_threads';
import { NonRetryableError, RetryLaterError } from '../queue/errors.js';
import type { Job } from './job.js';
import { THREAD_URL } from './thread-source.js';
import { ThreadCrashedError, ThreadTerminatedError } from './worker-errors.js';

/** How threads run a handler's jobs. */
export interface ThreadSettings {
  /** The absolute path of the file whose default export is the handler. */
  file: string;
  /** How long a job may go on after its abort before its thread is terminated, in ms. */
  graceMs: number;
  resourceLimits?: ResourceLimits;
}

/** An error that crossed from the thread; `kind` names the class that says what becomes of the job. */
interface PlainError {
  name: string;
  message: string;
  stack?: string;
  kind?: string;
  delayMs?: number;
}

type FromThread =
  | { type: 'done'; run: number; result: unknown }
  | { type: 'failed'; run: number; error: PlainError; unusable: boolean }
  | { type: 'progress'; run: number; ask: number; value: unknown }
  | { type: 'log'; run: number; ask: number; message: string };

interface Run {
  job: Job;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** One thread. It runs one job at a time, and dies with a job that crashes it or ignores its abort. */
export class Thread {
  private readonly thread: NodeThread;
  private number = 0;
  private current: Run | undefined;
  private fault: unknown;
  private graceTimer: NodeJS.Timeout | undefined;
  private readonly exited: Promise<void>;
  /** False once it can run no more jobs. */
  usable = true;

  constructor(private readonly settings: ThreadSettings) {
    const { file, resourceLimits } = settings;
    this.thread = new NodeThread(THREAD_URL, { workerData: { file }, resourceLimits });
    this.thread.on('message', (message: FromThread) => this.take(message));
    this.thread.on('messageerror', (error) => this.settle((run) => run.reject(error)));
    this.thread.on('error', (error) => (this.fault = error));
    this.exited = new Promise((resolve) => {
      this.thread.once('exit', (code) => {
        this.usable = false;
        this.settle((run) => run.reject(new ThreadCrashedError(run.job.id, code, this.fault)));
        resolve();
      });
    });
  }

  /** @throws what the handler threw; ThreadCrashedError; ThreadTerminatedError */
  async run(job: Job): Promise<unknown> {
    const number = ++this.number;
    const onAbort = () => this.abort(number, job);
    this.thread.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.current = { job, resolve, reject };
        this.post({ type: 'run', run: number, job: fieldsOf(job) });
        if (job.signal.aborted) {
          onAbort();
        } else {
          job.signal.addEventListener('abort', onAbort);
        }
      });
    } finally {
      this.current = undefined;
      clearTimeout(this.graceTimer);
      job.signal.removeEventListener('abort', onAbort);
      this.thread.unref();
    }
  }

  /** Ends the thread, whatever it does; a job in it fails with `reason`. */
  async terminate(reason?: Error): Promise<void> {
    this.usable = false;
    this.settle((run) => run.reject(reason ?? new ThreadCrashedError(run.job.id, 1, undefined)));
    void this.thread.terminate();
    await this.exited;
  }

  private abort(number: number, job: Job): void {
    const { graceMs } = this.settings;
    const { name, message } = job.signal.reason as Error;
    this.post({ type: 'abort', run: number, reason: { name, message } });
    this.graceTimer = setTimeout(
      () => void this.terminate(new ThreadTerminatedError(job.id, graceMs, job.signal.reason)),
      graceMs,
    );
  }

  private take(message: FromThread): void {
    if (message.type === 'progress' || message.type === 'log') {
      void this.answer(message);
    } else if (message.run === this.number && message.type === 'done') {
      this.settle((run) => run.resolve(message.result));
    } else if (message.run === this.number && message.type === 'failed') {
      this.usable &&= !message.unusable;
      this.settle((run) => run.reject(revive(message.error)));
    }
  }

  private async answer(message: Extract<FromThread, { ask: number }>): Promise<void> {
    const { run, ask } = message;
    let error: { name: string; message: string } | undefined;
    try {
      const job = run === this.number ? this.current?.job : undefined;
      if (!job) {
        throw new Error('The job has ended.');
      }
      await (message.type === 'progress' ? job.progress(message.value) : job.log(message.message));
    } catch (thrown) {
      error = { name: (thrown as Error).name, message: (thrown as Error).message };
    }
    this.post({ type: 'answer', run, ask, error });
  }

  private post(message: object): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is no window
    this.thread.postMessage(message);
  }

  private settle(end: (run: Run) => void): void {
    const run = this.current;
    this.current = undefined;
    if (run) {
      end(run);
    }
  }
}

/** What a job's handler can read, as data. */
function fieldsOf({ id, name, queue, payload, attempt, maxAttempts, fence, enqueuedAt, claimedAt }: Job) {
  return { id, name, queue, payload, attempt, maxAttempts, fence, enqueuedAt, claimedAt };
}

function revive({ name, message, stack, kind, delayMs }: PlainError): Error {
  const error =
    kind === 'RetryLaterError' && delayMs !== undefined
      ? new RetryLaterError(delayMs, message)
      : kind === 'NonRetryableError'
        ? new NonRetryableError(message)
        : new Error(message);
  error.name = name;
  if (stack !== undefined) {
    error.stack = stack;
  }
  return error;
}
