import { systemClock, type Timer } from '../../queue/runtime/clock.js';
import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import {
  InvalidPayloadError,
  NonRetryableError,
  RateLimitedError,
  RedisStateError,
  RetryLaterError,
} from '../../queue/errors/errors.js';
import type { Job } from '../handlers/job.js';
import { ThreadCrashedError, ThreadTerminatedError } from '../attempt/worker-errors.js';
import { answerOf, errorData, type Question } from './thread-answers.js';
import { portable, receivedValue, type SentValue, type ThreadContent } from './thread-values.js';

/** An error that crossed from the thread; `kind` names the class that says what becomes of the job. */
interface PlainError {
  name: string;
  message: string;
  stack?: string;
  kind?: string;
  delayMs?: number;
  retryAfterMs?: number;
  limit?: string;
  cause?: PlainError;
  errors?: PlainError[];
}

type Outcome =
  | ({ type: 'done' } & SentValue)
  | { type: 'refused'; path: string; expected: string; found: string }
  | { type: 'failed'; error: PlainError };

/** What the thread has measured. */
interface SentProfile {
  type: 'profile';
  json: string;
}

/** Runs one job in a thread, with its own message port. */
export class ThreadRun {
  private readonly port: MessagePort;
  private readonly threadPort: MessagePort;
  /** Its abort ends the thread. */
  private readonly end = new AbortController();
  private graceTimer: Timer | undefined;
  private outcome: Outcome | undefined;
  private taken = false;

  constructor(
    private readonly job: Job,
    private readonly graceMs: number,
    private readonly content: ThreadContent,
  ) {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    this.threadPort = port2;
  }

  /** True if a thread has taken the job. */
  get isTaken(): boolean {
    return this.taken;
  }

  /** @throws the handler's error; ThreadCrashedError; ThreadTerminatedError */
  async in(pool: Piscina, file: string): Promise<unknown> {
    const { job, port, end } = this;
    const onAbort = () => this.abort();
    port.on('message', (message: Outcome | Question | SentProfile) => this.take(message));
    if (job.signal.aborted) {
      onAbort();
    } else {
      job.signal.addEventListener('abort', onAbort);
    }
    let fault: unknown;
    try {
      await pool.run(this.task(file), { transferList: [this.threadPort], signal: end.signal });
    } catch (error) {
      fault = error;
    } finally {
      systemClock.clear(this.graceTimer);
      job.signal.removeEventListener('abort', onAbort);
    }
    // Messages sent before the thread's end are here, but may not have been read.
    for (let sent = receiveMessageOnPort(port); sent; sent = receiveMessageOnPort(port)) {
      this.take(sent.message as Outcome | Question | SentProfile);
    }
    port.close();
    return this.result(fault);
  }

  /** Fails the job, and ends its thread. */
  fail(reason: Error): void {
    this.end.abort(reason);
  }

  /** Returns the error of a job whose thread died of `cause`. */
  crash(cause: unknown): ThreadCrashedError {
    // Piscina reports an exit only as text.
    const code = /^worker exited with code: (\d+)$/.exec((cause as Error | undefined)?.message ?? '')?.[1];
    return new ThreadCrashedError(this.job.id, Number(code ?? 1), code === undefined ? cause : undefined);
  }

  private task(file: string): object {
    const { threadPort } = this;
    const took = () => {
      this.taken = true;
    };
    return {
      file,
      fields: fieldsOf(this.job),
      content: this.content,
      measured: this.job.measurement?.move(),
      // Read when a thread takes the job: only then is the task cloned.
      get port() {
        took();
        return threadPort;
      },
    };
  }

  /** Returns the result. A message of the thread counts, even if the thread died right afterwards. */
  private result(fault: unknown): unknown {
    if (this.outcome?.type === 'done') {
      return receivedValue(this.outcome);
    }
    if (this.outcome?.type === 'refused') {
      const { path, expected, found } = this.outcome;
      return new RefusedResult(new InvalidPayloadError(path, expected, found));
    }
    if (this.outcome) {
      throw revive(this.outcome.error);
    }
    const { aborted, reason } = this.end.signal;
    throw aborted ? reason : this.crash(fault);
  }

  private abort(): void {
    const { job, graceMs } = this;
    const { name, message } = job.signal.reason as Error;
    this.post({ type: 'abort', reason: { name, message } });
    this.graceTimer = systemClock.setTimeout(
      () => this.fail(new ThreadTerminatedError(job.id, graceMs, job.signal.reason)),
      graceMs,
    );
  }

  private take(message: Outcome | Question | SentProfile): void {
    if (message.type === 'profile') {
      this.job.measurement?.receive(message.json);
    } else if (message.type === 'done' || message.type === 'refused' || message.type === 'failed') {
      this.outcome = message;
    } else {
      void this.answer(message);
    }
  }

  private async answer(question: Question): Promise<void> {
    const { job } = this;
    try {
      this.post({ type: 'answer', ask: question.ask, value: await answerOf(job, question) });
    } catch (thrown) {
      this.post({ type: 'answer', ask: question.ask, error: errorData(thrown as Error) });
    }
  }

  private post(message: object): void {
    this.port.postMessage(message);
  }
}

/** A result that its thread could not send. Its refusal is thrown where the result is stored, as in the process. */
class RefusedResult {
  readonly #error: InvalidPayloadError;

  constructor(error: InvalidPayloadError) {
    this.#error = error;
  }

  toJSON(): never {
    throw this.#error;
  }
}

/** Returns the fields of a job that its handler can read, as data. */
function fieldsOf(job: Job) {
  const { id, name, queue, group, metadata, attempt, maxAttempts, fence, enqueuedAt, readyAt, claimedAt } = job;
  const fields = { id, name, queue, group, metadata, attempt, maxAttempts, fence };
  const [payload, lastCheckpoint] = [portable(job.payload), portable(job.lastCheckpoint)];
  const batch = job.batch && { id: job.batch.id, queue: job.batch.queue };
  return Object.assign(fields, { payload, enqueuedAt, readyAt, claimedAt, lastCheckpoint, batch });
}

function revive(plain: PlainError): Error {
  const { name, stack, cause, errors } = plain;
  const error = ofItsKind(plain);
  error.name = name;
  if (cause) {
    error.cause = revive(cause);
  }
  if (errors) {
    Object.assign(error, { errors: errors.map(revive) });
  }
  if (stack !== undefined) {
    error.stack = stack;
  }
  return error;
}

/** @throws InvalidOptionError for an invalid delay or rest, as the error's own class does */
function ofItsKind({ message, kind, delayMs, retryAfterMs, limit }: PlainError): Error {
  switch (kind) {
    case 'RetryLaterError':
      return delayMs === undefined ? new Error(message) : new RetryLaterError(delayMs, message);
    case 'RateLimitedError':
      return retryAfterMs === undefined
        ? new Error(message)
        : new RateLimitedError({ retryAfterMs, limit }, message);
    case 'RedisStateError':
    case 'RedisOutOfMemoryError':
      return new RedisStateError(message);
    case 'NonRetryableError':
      return new NonRetryableError(message);
    default:
      return new Error(message);
  }
}
