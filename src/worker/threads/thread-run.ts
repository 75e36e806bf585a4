import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import type { Piscina } from 'piscina';
import type { BatchReader } from '../../queue/batches/batch-reader.js';
import type { BatchJobOptions } from '../../queue/batches/batch.js';
import { JobDefinition, type PayloadFor } from '../../queue/enqueue/define-job.js';
import {
  InvalidPayloadError,
  NonRetryableError,
  RateLimitedError,
  RedisStateError,
  RetryLaterError,
} from '../../queue/errors/errors.js';
import { stateErrorIn } from '../../queue/errors/redis-errors.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import { systemClock, type Timer } from '../../queue/runtime/clock.js';
import { CHECKED } from '../../queue/validation/validate-with-schema.js';
import { ThreadCrashedError, ThreadTerminatedError } from '../attempt/worker-errors.js';
import type { Job, StreamWriter } from '../handlers/job.js';
import {
  portable,
  receivedValue,
  type SentValue,
  type ThreadContent,
  type SentJob,
  type SentMember,
} from './thread-values.js';

/** A member that a handler in a thread added: the fields of its handle. */
export type ThreadMember = Pick<JobHandle, 'id' | 'name' | 'queue' | 'outcome'>;

/** The batch of a job in a thread. Each call is a message to the main thread. */
export type ThreadBatch = Pick<
  BatchReader,
  'id' | 'queue' | 'status' | 'results' | 'members' | 'wait' | 'progress'
> & {
  /**
   * Enqueues a job as a member, while the member that adds it runs.
   *
   * @param job its name, or its definition
   * @throws as `job.batch.add` in the process
   * @example await job.batch!.add('page', { url });
   */
  add<Definition extends string | JobDefinition>(
    job: Definition,
    payload: PayloadFor<Definition>,
    options?: BatchJobOptions<string>,
  ): Promise<ThreadMember>;
  /**
   * Enqueues many jobs of one name as members, at most 500 in one atomic step.
   *
   * @throws as `job.batch.addMany` in the process
   * @example await job.batch!.addMany('page', urls.map((url) => ({ payload: { url } })));
   */
  addMany<Definition extends string | JobDefinition>(
    job: Definition,
    jobs: readonly ({ payload: PayloadFor<Definition> } & Omit<BatchJobOptions, 'queue'>)[],
    options?: Pick<BatchJobOptions<string>, 'queue'>,
  ): Promise<ThreadMember[]>;
};

/**
 * A job for a handler in a thread, which works by messages. Its payload is copied as plain data (structured clone). Its
 * result, progress and checkpoints become the same JSON as in the process. The reason of its signal is an Error with the
 * original's name and message.
 *
 * @example
 * // render.worker.ts
 * export default async function render(job: ThreadJob<Scene>) {
 *   for (const [i, frame] of job.payload.frames.entries()) {
 *     job.signal.throwIfAborted();
 *     draw(frame);
 *     await job.progress({ frame: i });
 *   }
 * }
 */
export type ThreadJob<Payload = unknown> = Pick<
  Job<Payload>,
  | 'id'
  | 'name'
  | 'queue'
  | 'payload'
  | 'group'
  | 'metadata'
  | 'attempt'
  | 'maxAttempts'
  | 'fence'
  | 'enqueuedAt'
  | 'readyAt'
  | 'claimedAt'
  | 'signal'
  | 'progress'
  | 'checkpoint'
  | 'lastCheckpoint'
  | 'log'
  | 'snooze'
> & {
  /** Writes the stream of the job. */
  readonly stream: Pick<StreamWriter, 'write'>;
  /** The batch of a member or a follow-up. Undefined for every other job. */
  readonly batch: ThreadBatch | undefined;
};

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

/** A message of a thread that waits for an answer. */
type Question = { ask: number } & (
  | ({ type: 'progress' | 'checkpoint' } & SentValue)
  | { type: 'log'; message: string }
  | ({ type: 'stream'; isBytes: boolean } & SentValue)
  | { type: 'batch.status' | 'batch.wait' | 'batch.results'; options?: object }
  | { type: 'batch.add'; job: SentJob; payload: SentValue; options: object }
  | { type: 'batch.addMany'; job: SentJob; members: SentMember[]; options: object }
);

/** Does what a thread asks for, and returns the answer. @throws the error of the call */
async function answerOf(job: Job, question: Question): Promise<unknown> {
  switch (question.type) {
    case 'log':
      return job.log(question.message);
    case 'stream': {
      const chunk = receivedValue(question);
      return job.stream.write(question.isBytes ? Buffer.from(chunk as string, 'base64') : chunk);
    }
    case 'batch.status':
      return job.batch!.status();
    case 'batch.wait':
      return job.batch!.wait(question.options);
    case 'batch.results':
      return job.batch!.results(question.options);
    case 'batch.add': {
      const payload = receivedValue(question.payload);
      return memberOf(await job.batch!.add(jobOf(question.job), payload, question.options));
    }
    case 'batch.addMany': {
      const members = question.members.map(({ payload, options }) => ({
        ...options,
        payload: receivedValue(payload),
      }));
      return (await job.batch!.addMany(jobOf(question.job), members, question.options)).map(memberOf);
    }
    default:
      return job[question.type](receivedValue(question));
  }
}

/**
 * Returns an error as data: its name, its message, and what it has besides, such as its code. Of causes it has only the
 * refusal by the state of Redis, which decides about the job.
 */
function errorData(error: Error): object {
  const { name, message } = error;
  const fields = Object.entries(error).filter(([, value]) => isData(value));
  const cause = stateErrorIn(error.cause);
  return {
    ...Object.fromEntries(fields.map(([key, value]) => [key, portable(value)])),
    name,
    message,
    ...(cause && { cause: { name: cause.name, message: cause.message } }),
  };
}

/** Returns the name, or a definition whose payloads the thread has checked. */
function jobOf({ name, defaults }: SentJob): string | JobDefinition {
  return defaults ? new JobDefinition(name as string, { ...defaults, payload: CHECKED }) : (name as string);
}

function memberOf({ id, name, queue, outcome }: JobHandle): ThreadMember {
  return { id, name, queue, outcome };
}

function isData(value: unknown): boolean {
  return Array.isArray(value) || !['object', 'function', 'symbol'].includes(typeof value);
}
