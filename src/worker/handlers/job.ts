import { setMaxListeners } from 'node:events';
import type { Batch } from '../../queue/batches/batch.js';
import { failedPayloads } from '../../queue/codec/failure-job.js';
import {
  redactValue,
  HIDE_ALL,
  hidingOf,
  type Redact,
  type RedactedPart,
  TextRedaction,
} from '../../queue/codec/redact.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { RetryLaterError, InvalidOptionError, type JobWaitsError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { readyAtMsOf, type ClaimedJob } from '../../queue/model/job.js';
import { NO_METADATA, type JobMetadata } from '../../queue/model/metadata.js';
import type { JobWait } from '../../queue/model/signal.js';
import {
  type Hiding,
  validateWithSchema,
  type StandardSchema,
} from '../../queue/validation/validate-with-schema.js';
import { JobSteps, type StepContext } from './job-steps.js';
import { JobWaits, type WaitEnd, type WaitOptions } from './job-waits.js';
import { checkLogLine } from './log-line.js';
import type { Measurement } from './measurement.js';

/** Writes progress, log lines and checkpoints of a running job. */
export interface JobReporter {
  /** The parts of its content that an error must not show. */
  readonly redact?: Redact;
  /** Checks that a limit may rest. Absent where the reporter reaches no queue. @throws InvalidOptionError */
  checkLimit?(limit: string, job: ClaimedJob): void;
  progress(job: ClaimedJob, value: unknown): Promise<void>;
  log(job: ClaimedJob, message: string): Promise<void>;
  /** Returns the batch of a job; undefined without one. Absent where the reporter reaches no queue. */
  batch?(job: ClaimedJob): Batch<JobQueue | string> | undefined;
  checkpoint(job: ClaimedJob, value: unknown): Promise<void>;
  /** Appends a chunk to the stream of a job, and resolves with its bytes. @throws InvalidPayloadError at once */
  stream(job: ClaimedJob, chunk: unknown): Promise<number>;
  /** Returns the results of the recorded steps, by name. */
  steps(job: ClaimedJob): Promise<ReadonlyMap<string, unknown>>;
  /** Records the result of a step, and returns it as later attempts get it. */
  recordStep(job: ClaimedJob, name: string, result: unknown): Promise<unknown>;
  /** Notes that the job waits, and returns what has become of that. */
  wait(job: ClaimedJob, name: string, kind: JobWait['kind'], timeoutMs: number | undefined): Promise<WaitEnd>;
}

/**
 * A job as its handler receives it.
 *
 * @example
 * async handle(job: Job<EmailPayload>) {
 *   await this.mailer.send(job.payload, { signal: job.signal });
 * }
 */
export class Job<Payload = unknown, Signals extends object = Readonly<Record<string, unknown>>, Chunk = unknown> {
  private controller: AbortController | undefined;
  private aborted: Error | undefined;
  private stepsOfAttempt: JobSteps | undefined;
  private writer: StreamWriter<Chunk> | undefined;
  private measuring: Measurement | undefined;
  private waitsOfAttempt: JobWaits | undefined;
  /** Made at the first use of `texts`. */
  private hiddenTexts: JobTexts | undefined;
  /** Private, so that a logged job does not show it: it leads to the connection, whose options contain a password. */
  readonly #reporter: JobReporter;

  /** @internal */
  constructor(
    private claim: ClaimedJob,
    reporter: JobReporter,
  ) {
    this.#reporter = reporter;
  }

  /** The id of the job. */
  get id(): string {
    return this.claim.id;
  }

  /** The name that selected the handler. */
  get name(): string {
    return this.claim.name;
  }

  /** The queue of the job. */
  get queue(): string {
    return this.claim.queue;
  }

  /** The enqueued payload. */
  get payload(): Payload {
    return this.claim.payload as Payload;
  }

  /** The group that it takes turns with; undefined without one. */
  get group(): string | undefined {
    return this.claim.options.group;
  }

  /** What measures the attempt; undefined without a request. @internal */
  get measurement(): Measurement | undefined {
    return this.measuring;
  }

  /** Lets a measurement follow the attempt. @internal */
  measureBy(measurement: Measurement | undefined): void {
    this.measuring = measurement;
  }

  /** The metadata of the enqueue; empty if there is none. */
  get metadata(): JobMetadata {
    return this.claim.options.metadata ?? NO_METADATA;
  }

  /**
   * The batch of a member or of a follow-up. Undefined for a job without one. A member adds further members while it
   * runs, also once the batch is sealed. A follow-up reads the members, which have ended.
   *
   * @example await job.batch!.add('page', { url }); // a member: the follow-ups wait for this job too
   * @example for await (const { id, status, result } of job.batch!.members()) { … } // a follow-up
   */
  get batch(): Batch<JobQueue | string> | undefined {
    const { batch, member } = this.claim.options;
    return batch === undefined && member === undefined ? undefined : this.#reporter.batch?.(this.claim);
  }

  /** The number of this attempt, from 1. */
  get attempt(): number {
    return this.claim.attempt;
  }

  /** The job's attempts in total. */
  get maxAttempts(): number {
    return this.claim.maxAttempts;
  }

  /**
   * A number that grows with every claim of this job. Use it in your writes (`WHERE fence < $1`), so that an attempt
   * that lost its claim cannot overwrite its successor.
   */
  get fence(): number {
    return this.claim.fence;
  }

  /** The time of the enqueue, by the server's clock. */
  get enqueuedAt(): Date {
    return new Date(this.claim.enqueuedAtMs);
  }

  /** The time when it was last redriven or run again, in ms of the epoch. For middleware. @internal */
  get startedOverAtMs(): number | undefined {
    return this.claim.options.startedOverAtMs;
  }

  /** When the job first became claimable, by the server's clock: `enqueuedAt`, or the start that its enqueue set. */
  get readyAt(): Date {
    return new Date(readyAtMsOf(this.claim));
  }

  /** The start of this attempt, by the server's clock. */
  get claimedAt(): Date {
    return new Date(this.claim.claimedAtMs);
  }

  /**
   * Aborts when the work has become pointless. Its reason is a ClaimLostError, JobCancelledError, HandlerTimeoutError
   * or ShutdownError. Created on first use, so that a handler that ignores it costs nothing more.
   */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      setMaxListeners(0, this.controller.signal); // it ends with the job, so Node's warning of a leak would be wrong
      if (this.aborted) {
        this.controller.abort(this.aborted);
      }
    }
    return this.controller.signal;
  }

  /**
   * Stores how far the job is, readable from other processes while it runs. It need not be awaited. A value that waits for
   * an earlier call is replaced by a later one.
   *
   * @throws ClaimLostError when the claim is no longer current; InvalidPayloadError when it is not JSON
   * @example await job.progress({ percent: 40 });
   */
  progress(value: unknown): Promise<void> {
    this.texts?.know('progress', value);
    return harmless(this.#reporter.progress(this.claim, value));
  }

  /**
   * Adds a line to the job's log. The newest 100 lines are kept, each of at most 1,000 characters.
   *
   * @throws ClaimLostError if the claim is no longer current; InvalidOptionError for a message that is not text
   */
  log(message: string): Promise<void> {
    return harmless(this.writeLog(message));
  }

  private async writeLog(message: string): Promise<void> {
    checkLogLine(message);
    return this.#reporter.log(this.claim, this.texts?.stored.text(message) ?? message);
  }

  /**
   * The last value of `checkpoint`, of this attempt or an earlier one; undefined if there is none. It is a stored value, so
   * validate it.
   */
  get lastCheckpoint(): unknown {
    return this.claim.checkpoint;
  }

  /**
   * Stores the progress of the work for later attempts. The next attempt can continue from there: after an error, a
   * crash, a snooze, a shutdown or a redrive. A later call replaces the value, which has at most `maxPayloadBytes`.
   *
   * @throws ClaimLostError if the claim is no longer current; InvalidPayloadError if it is not JSON
   * @example
   * for (let row = (job.lastCheckpoint as number | undefined) ?? 0; row < rows.length; row++) {
   *   await send(rows[row]);
   *   await job.checkpoint(row + 1);
   * }
   */
  checkpoint(value: unknown): Promise<void> {
    return harmless(this.storeCheckpoint(value));
  }

  private async storeCheckpoint(value: unknown): Promise<void> {
    this.texts?.know('checkpoint', value);
    await this.#reporter.checkpoint(this.claim, value);
    this.claim = { ...this.claim, checkpoint: value };
  }

  /**
   * Runs a step and records its result. A later attempt gets the result without another run. The steps are kept through errors,
   * crashes, a snooze, a shutdown and a redrive. The body runs at least once. Its result is JSON of at most 65,536 bytes. A job
   * has at most 256 steps, of 1,048,576 bytes in all.
   *
   * @param name its name, once in an attempt. In a loop put the item into it
   * @returns the result in the form that a later attempt gets
   * @throws InvalidStepError, which is not retried; ClaimLostError if the claim is no longer current: nothing was recorded.
   *   InvalidPayloadError if the result is not JSON
   * @example
   * const charge = await job.step('charge', ({ idempotencyKey }) => this.bank.charge(job.payload, idempotencyKey));
   * await job.step('mail', () => this.mail.send(charge.receipt));
   */
  step<Result>(name: string, run: (step: StepContext) => Result | Promise<Result>): Promise<Result> {
    this.stepsOfAttempt ??= new JobSteps(this, {
      read: async () => {
        const steps = await this.#reporter.steps(this.claim);
        steps.forEach((result) => this.texts?.knowStep(result));
        return steps;
      },
      record: (step, result) => {
        this.texts?.knowStep(result);
        return this.#reporter.recordStep(this.claim, step, result);
      },
    });
    const { parked } = this;
    return harmless(parked ? Promise.reject(parked) : (this.stepsOfAttempt.run(name, run) as Promise<Result>));
  }

  /**
   * Waits for a signal of this name, which `jobs.signal` sends by the id of the job. Without one it ends the attempt by a
   * JobWaitsError, which needs no slot and uses no attempt. The job runs again once the signal is there, or the time is over. Its
   * next attempt gets the answer from here, and so does every later one. A signal that came before is kept for it.
   *
   * @param name the name of the signal, once in an attempt
   * @returns the data of the signal; `timeoutValue` if none came in time
   * @throws SignalTimeoutError without a `timeoutValue`; InvalidStepError. Neither is retried. ClaimLostError if the claim is no
   *   longer current
   * @example
   * await job.step('ask', () => this.mail.send(job.payload.boss, link));
   * const answer = await job.waitFor('approved', { timeoutMs: 86_400_000, timeoutValue: null });
   */
  waitFor<Name extends keyof Signals & string, Value = never>(
    name: Name,
    options?: WaitOptions<Value>,
  ): Promise<Signals[Name] | Value> {
    return harmless(this.waits.forSignal(name, options) as Promise<Signals[Name] | Value>);
  }

  /**
   * Sleeps without a slot: ends the attempt by a JobWaitsError, which uses none. The next attempt begins after `delayMs`, and goes on
   * behind the sleep, as every later one does.
   *
   * @param delayMs 0 to a year
   * @param name its name, once in an attempt. @default `sleep 1`, `sleep 2` and so on, by the order in the attempt
   * @throws InvalidStepError, which is not retried; ClaimLostError if the claim is no longer current
   * @example await job.sleep(86_400_000, 'one day later');
   */
  sleep(delayMs: number, name?: string): Promise<void> {
    return harmless(this.waits.sleep(delayMs, name));
  }

  private get waits(): JobWaits {
    return (this.waitsOfAttempt ??= new JobWaits(
      this.id,
      async (name, kind, timeoutMs) => {
        const end = await this.#reporter.wait(this.claim, name, kind, timeoutMs);
        if (end.is === 'answered') {
          this.texts?.knowStep(end.data);
        }
        return end;
      },
      this.#reporter.redact && HIDE_ALL,
    ));
  }

  /** Sets the definition whose schemas parse the data of signals. For the worker. @internal */
  defineSignals(definition: Pick<JobDefinition, 'name' | 'signals'>): void {
    this.waits.define(definition);
  }

  /** The error by which an open wait has ended this attempt; undefined without one. For the worker. @internal */
  get parked(): JobWaitsError | undefined {
    return this.waitsOfAttempt?.parked;
  }

  /**
   * Writes the stream of the job, which any process reads by `jobs.stream(name, id)` while the job runs. A handler that is an async
   * generator writes what it yields.
   *
   * @example await job.stream.write('Hello');
   */
  get stream(): StreamWriter<Chunk> {
    this.writer ??= new StreamWriter<Chunk>((chunk) => {
      this.texts?.know('chunk', chunk);
      return harmless(this.#reporter.stream(this.claim, chunk));
    });
    return this.writer;
  }

  /** The stream, if the handler has used it. For the worker. @internal */
  get usedStream(): StreamWriter | undefined {
    return this.writer;
  }

  /** Ends this attempt and runs the job again after `delayMs`, without using an attempt. Never returns. */
  snooze(delayMs: number): never {
    throw new RetryLaterError(delayMs);
  }

  /** Checks that the queue has a limit that an error rests. For middleware. @throws InvalidOptionError @internal */
  checkLimit(limit: string): void {
    this.#reporter.checkLimit?.(limit, this.claim);
  }

  /** Returns how an error hides parts of its content. For the worker. @internal */
  hiding(part: RedactedPart['part']): Hiding | undefined {
    const { id, name, queue } = this;
    return hidingOf(this.#reporter.redact, { part, job: { id, name, queue } });
  }

  /** What words about this job must not tell; undefined where its queue hides nothing. @internal */
  get texts(): JobTexts | undefined {
    const { redact } = this.#reporter;
    return redact && (this.hiddenTexts ??= new JobTexts(redact, this.claim));
  }

  /** Returns a text about this job without its hidden parts. For middleware. @internal */
  shownText(text: string): string {
    return this.texts?.shown.text(text) ?? text;
  }

  /** The payload without its hidden parts. For middleware. @internal */
  get shownPayload(): unknown {
    const { redact } = this.#reporter;
    const { id, name, queue } = this;
    return redactValue(redact, this.payload, { part: 'payload', job: { id, name, queue } });
  }

  /** Replaces the payload with the one that the schema parsed. For the worker. @internal */
  setPayload(payload: unknown): void {
    this.texts?.knowPayload(payload);
    this.claim = { ...this.claim, payload };
  }

  /** Aborts the handler's signal. For the worker. @internal */
  abort(reason: Error): void {
    this.aborted ??= reason;
    this.controller?.abort(this.aborted);
  }

  /** Why the signal aborted; undefined while it has not. */
  get abortReason(): Error | undefined {
    return this.aborted;
  }
}

/** Prevents an unhandled rejection if the handler does not await the promise. */
function harmless<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}

/** A claim, as far as words about its job may quote it. */
interface QuotedClaim {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly payload: unknown;
  readonly checkpoint?: unknown;
}

/** What words about one job must not tell, in a queue with `redact`. */
export class JobTexts {
  private readonly payload = new TextRedaction();
  /** The texts of all other parts. No window knows them once the parts have changed. */
  private readonly others = new TextRedaction();
  private readonly job: RedactedPart['job'];
  /** The jobs of its call, whose payloads an error may quote too. */
  private peers: readonly JobTexts[] = [];

  constructor(
    private readonly redact: Redact,
    { id, name, queue, payload, checkpoint }: QuotedClaim,
  ) {
    this.job = { id, name, queue };
    this.knowPayload(payload);
    this.know('checkpoint', checkpoint);
  }

  /** Hides what `redact` hides of the payload, in each form that the handler gets. */
  knowPayload(payload: unknown): void {
    const about = { part: 'payload', job: this.job } as const;
    const all = failedPayloads(this.job.name, payload) ?? [payload];
    const known = all.filter((each) => each !== undefined);
    known.forEach((each) => this.payload.know(this.redact, each, about));
    if (known.length === 0) {
      this.payload.hideAll();
    }
  }

  know(part: Exclude<RedactedPart['part'], 'payload'>, value: unknown): void {
    this.others.know(this.redact, value, { part, job: this.job });
  }

  /** Hides all texts of the result of a step, which no window shows. */
  knowStep(result: unknown): void {
    this.others.knowAll(result);
  }

  shareErrors(jobs: readonly JobTexts[]): void {
    this.peers = jobs;
  }

  /** Returns what the stored words hide: all but the job's payload, which each window knows. */
  get stored(): TextRedaction {
    const stored = new TextRedaction().include(this.others);
    for (const peer of this.peers) {
      if (stored.hidesAll) break;
      if (peer !== this) stored.include(peer.payload).include(peer.others);
    }
    return stored;
  }

  /** Returns what is hidden in words for people. */
  get shown(): TextRedaction {
    return this.stored.include(this.payload);
  }
}

/** How many yielded chunks may wait for Redis before the next is asked for. */
const MOST_UNWRITTEN = 64;

/** The schema of the chunks of a definition. */
interface ChunkSchema {
  readonly name: string;
  readonly chunk: StandardSchema;
}

/** Sends a chunk. Resolves with its bytes once Redis has it. */
type SendChunk = (chunk: unknown) => Promise<number>;

/**
 * Writes the stream of a job, which any process can read while the job runs: `job.stream`.
 *
 * @example for await (const token of model.answer(job.payload)) await job.stream.write(token);
 */
export class StreamWriter<Chunk = unknown> {
  private last: Promise<void> | undefined;
  /** The chunks that Redis has, and their bytes as stored. For metrics. @internal */
  readonly written = { chunks: 0, bytes: 0 };
  private unanswered = 0;
  private fault: { readonly error: unknown } | undefined;
  /** Private, so that a logged job does not show it. */
  readonly #send: SendChunk;
  #check: ((chunk: unknown) => void) | undefined;
  #refused: Promise<never> | undefined;

  /** @internal */
  constructor(send: SendChunk) {
    this.#send = send;
  }

  /**
   * Appends a chunk: text, JSON or bytes, of at most 262,144 bytes as stored. It need not be awaited: chunks keep their order, and the
   * attempt does not end before Redis has them. Awaiting it holds up a handler that is faster than Redis. If a chunk cannot be stored,
   * the attempt fails, because its stream would have a gap.
   *
   * @throws InvalidPayloadError at once, for a chunk that is too large, no JSON, or not as its definition has it
   * @returns rejects with a ClaimLostError after the end of the claim or the handler. Else with the error of Redis
   * @example await job.stream.write('Hello');
   */
  write(chunk: Chunk): Promise<void> {
    if (this.#refused) {
      return this.#refused;
    }
    this.#check?.(chunk);
    const written = this.count(this.#send(chunk));
    this.unanswered++;
    this.last = written.catch((error: unknown) => void (this.fault ??= { error })).finally(() => this.unanswered--);
    return written;
  }

  private async count(sent: Promise<number>): Promise<void> {
    const bytes = await sent;
    this.written.chunks++;
    this.written.bytes += bytes;
  }

  /** Sets the schema that checks each chunk. For the worker. @internal */
  define({ name, chunk: schema }: ChunkSchema, hiding: Hiding | undefined): void {
    this.#check = (chunk) => {
      const checked = validateWithSchema('chunk', schema, chunk, hiding);
      if (checked instanceof Promise) {
        checked.catch(() => undefined); // the schema is refused, whatever it says
        const expected = 'a schema without asynchronous parts, because chunks keep their order';
        throw new InvalidOptionError(`defineJob(${show(name)}).chunk`, expected, 'an asynchronous one');
      }
    };
  }

  /** Refuses what is written behind the end of the handler, because the attempt waits for nothing more. @internal */
  end(reason: Error): void {
    this.#refused ??= Promise.reject(reason);
    this.#refused.catch(() => undefined);
  }

  /** The end of the chunks that Redis has not answered; undefined if there are none. It does not reject. @internal */
  get pending(): Promise<void> | undefined {
    return this.unanswered > 0 ? this.last : undefined;
  }

  /** Waits until Redis has all chunks. @throws the error of the first that was not stored @internal */
  async flush(): Promise<void> {
    await this.last;
    if (this.fault) {
      throw this.fault.error;
    }
  }
}

/** Returns whether a handler returned chunks to stream. */
export function isStreamed(returned: unknown): returned is AsyncIterable<unknown> {
  return typeof returned === 'object' && returned !== null && Symbol.asyncIterator in returned;
}

/** The job of a handler that yields. */
interface StreamedJob {
  readonly stream: StreamWriter;
  readonly abortReason: Error | undefined;
}

/**
 * Writes what a handler yields to the stream of its job. Stops at the next chunk once the signal of the job has aborted.
 *
 * @returns what the generator returns: the result of the job
 */
export async function streamed(job: StreamedJob, chunks: AsyncIterable<unknown>): Promise<unknown> {
  const iterator = chunks[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (let count = 1; ; count++) {
      const step = await iterator.next();
      if (step.done) {
        isOver = true;
        return step.value;
      }
      if (job.abortReason) {
        throw job.abortReason;
      }
      const written = job.stream.write(step.value);
      if (count % MOST_UNWRITTEN === 0) await written;
    }
  } finally {
    if (!isOver) await iterator.return?.().catch(() => undefined); // the error of the loop counts
  }
}
