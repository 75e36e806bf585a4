import { Batch } from '../../queue/batches/batch.js';
import { CodecError, decodeContent, type ContentRules } from '../../queue/codec/codec.js';
import { encodeContent } from '../../queue/codec/encode-content.js';
import { isEncoded, parseJson } from '../../queue/codec/stored-value.js';
import { type Sealed, sealLine } from '../../queue/codec/sealed.js';
import { ClaimLostError, RedisStateError, InvalidPayloadError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { LONGEST_CHUNK } from '../../queue/model/job-stream.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import { checkRestedLimit } from '../../queue/model/shared-limit.js';
import { type JobWait, MOST_WAITS } from '../../queue/model/signal.js';
import { MOST_BYTES_OF_STEPS, MOST_STEPS, MOST_STEP_BYTES } from '../../queue/model/step.js';
import { otherQueue } from '../../queue/operate/opened-queues.js';
import type { Clock } from '../../queue/runtime/clock.js';
import { startOf, wellFormed } from '../../queue/runtime/cut.js';
import { splitRef } from '../../queue/store/job-ref.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { StoredChunk, StreamWrite } from '../../queue/verbs/stream.js';
import { InvalidStepError } from '../handlers/job-steps.js';
import type { WaitEnd } from '../handlers/job-waits.js';
import type { JobReporter } from '../handlers/job.js';

/** The number of the newest lines that a job's log keeps, and of the characters of each. */
const LOG_LINES = 100;
const LONGEST_LOG_LINE = 1_000;

/** The kinds of reports, and how many unsent ones of each count: only the last progress, for example. */
const MOST_UNSENT = { progress: 1, checkpoint: 1, log: LOG_LINES };

type ReportKind = keyof typeof MOST_UNSENT;

/** The result of a step, or the data of a signal, as a codec gets it. */
interface Bound {
  name: string;
  value: unknown;
}

/** Writes a handler's progress, log and checkpoints while its claim is current. */
export class QueueReporter implements JobReporter {
  /** The reports in flight, by the kind and the fence of their claim. Empty if no handler reports anything. */
  private readonly inFlight = new Map<string, OrderedCalls<Sealed>>();
  private readonly streams: StreamWrites;

  constructor(
    private readonly queue: JobQueue,
    private readonly calls: StoreCalls,
    private readonly outages: Pick<Outages, 'drop'>,
    private readonly onLost: (job: ClaimedJob) => void,
  ) {
    this.streams = new StreamWrites(queue, calls, onLost);
  }

  get redact() {
    return this.queue.options.redact;
  }

  checkLimit(limit: string, { options }: Pick<ClaimedJob, 'options'>): void {
    checkRestedLimit(limit, this.queue, options.group);
  }

  async progress(job: ClaimedJob, value: unknown): Promise<void> {
    await this.report(job, 'progress', encodeContent('progress', value, this.queue.options, job));
  }

  async log(job: ClaimedJob, message: string): Promise<void> {
    const { options, name: queue } = this.queue;
    const line = wellFormed(startOf(message, LONGEST_LOG_LINE));
    await this.report(job, 'log', sealLine(options.codec, line, { queue, field: 'log', id: job.id }));
  }

  async checkpoint(job: ClaimedJob, value: unknown): Promise<void> {
    await this.report(job, 'checkpoint', encodeContent('checkpoint', value, this.queue.options, job));
  }

  stream(job: ClaimedJob, chunk: unknown): Promise<number> {
    return this.streams.write(job, chunk);
  }

  async steps(job: ClaimedJob): Promise<ReadonlyMap<string, unknown>> {
    const steps = await this.queue.store.exec(this.calls.step({ claim: job }));
    if (typeof steps === 'string') {
      throw this.lost(job);
    }
    return new Map(steps.map(({ name, result }) => [name, this.stepResult(job, name, result)]));
  }

  async recordStep(job: ClaimedJob, name: string, value: unknown): Promise<unknown> {
    const { options } = this.queue;
    // A codec binds the result to the name too, so that the result of another step cannot take its place.
    const bound = options.codec ? { name, value } : value;
    const json = value === undefined ? '' : encodeContent('step', bound, options, job, `step ${show(name)}`);
    const bytes = Buffer.byteLength(json);
    if (bytes > MOST_STEP_BYTES) {
      throw new InvalidStepError(name, `a result of at most ${MOST_STEP_BYTES} bytes`, `${bytes}`);
    }
    const outcome = await this.queue.store.exec(this.calls.step({ claim: job, step: { name, result: json } }));
    if (outcome === 'lost') {
      throw this.lost(job);
    }
    if (outcome === 'steps') {
      throw new InvalidStepError(name, `at most ${MOST_STEPS} steps of a job`, 'one more');
    }
    if (outcome === 'bytes') {
      throw new InvalidStepError(name, `at most ${MOST_BYTES_OF_STEPS} bytes of all steps of a job`, 'more');
    }
    return this.stepResult(job, name, json);
  }

  private stepResult(job: ClaimedJob, name: string, json: string): unknown {
    return this.boundValue(job, 'step', name, json);
  }

  async wait(
    job: ClaimedJob,
    name: string,
    kind: JobWait['kind'],
    timeoutMs: number | undefined,
  ): Promise<WaitEnd> {
    const reply = await this.queue.store.exec(this.calls.wait({ claim: job, name, kind, timeoutMs }));
    switch (reply.is) {
      case 'lost':
        throw this.lost(job);
      case 'waits':
        throw new InvalidStepError(name, `at most ${MOST_WAITS} waits of a job`, 'one more');
      case 'answered':
        return { is: 'answered', data: this.boundValue(job, 'signal', name, reply.data) };
      default:
        return { is: reply.is };
    }
  }

  /** Returns the result of a step, or the data of a signal, of this name. */
  private boundValue({ queue, id }: ClaimedJob, field: 'step' | 'signal', name: string, json: string): unknown {
    const stored = json === '' ? undefined : parseJson(json).value;
    if (!isEncoded(stored)) {
      return stored;
    }
    const bound = decodeContent(this.queue.options.codec, stored, field, { queue, id }) as Bound | null;
    if (bound?.name !== name) {
      const what = field === 'step' ? 'result of step' : 'data of signal';
      throw new CodecError(
        `The ${what} ${show(name)} of job ${show(id)} was stored for another ${field}. Discard the job.`,
      );
    }
    return bound.value;
  }

  private lost(job: ClaimedJob): ClaimLostError {
    this.onLost(job);
    return new ClaimLostError(job.id);
  }

  batch(job: ClaimedJob): Batch<JobQueue | string> | undefined {
    const { batch, member } = job.options;
    const ref = batch ?? member;
    if (ref === undefined) {
      return undefined;
    }
    const { queue, id } = splitRef(this.queue.name, ref);
    const check = async () => void (await this.steps(job));
    return new Batch(
      queue === this.queue.name ? this.queue : otherQueue(this.queue, queue),
      id,
      (name, asked, members) => this.queue.queueOfMember(name, asked, members),
      { adder: { queue: this.queue.name, id: job.id, token: job.token, check } },
    );
  }

  /** Returns the end of a job's reports in flight; undefined if there are none. */
  answered(job: ClaimedJob): Promise<unknown> | undefined {
    if (this.inFlight.size === 0) {
      return undefined;
    }
    const last = Object.keys(MOST_UNSENT).flatMap(
      (kind) => this.inFlight.get(keyOf(job, kind as ReportKind))?.last ?? [],
    );
    return last.length > 0 ? Promise.allSettled(last) : undefined;
  }

  /** Forgets what a handler has streamed, once it has ended. */
  forget(job: ClaimedJob): void {
    this.streams.forget(job);
  }

  private async report(job: ClaimedJob, kind: ReportKind, json: Sealed): Promise<void> {
    if (!(await this.callsOf(job, kind).add(json))) {
      throw this.lost(job);
    }
  }

  private callsOf(job: ClaimedJob, kind: ReportKind): OrderedCalls<Sealed> {
    const key = keyOf(job, kind);
    let calls = this.inFlight.get(key);
    if (!calls) {
      const send = (values: Sealed[]) => this.send(job, kind, values);
      calls = new OrderedCalls(MOST_UNSENT[kind], send, () => this.inFlight.delete(key));
      this.inFlight.set(key, calls);
    }
    return calls;
  }

  /** Sends a report. Progress and log lines are for people, so a full Redis does not hold up the job because of them. */
  private async send(job: ClaimedJob, kind: ReportKind, values: Sealed[]): Promise<boolean> {
    try {
      return await this.queue.store.exec(this.callOf(job, kind, values));
    } catch (error) {
      if (kind === 'checkpoint' || !(error instanceof RedisStateError)) {
        throw error;
      }
      this.outages.drop(error);
      return true;
    }
  }

  private callOf(job: ClaimedJob, kind: ReportKind, values: Sealed[]): StoreCall<boolean> {
    const [value] = values as [Sealed];
    return kind === 'log'
      ? this.calls.log({ claim: job, keep: LOG_LINES, lines: values })
      : kind === 'progress'
        ? this.calls.progress({ claim: job, progress: value })
        : this.calls.checkpoint({ claim: job, checkpoint: value });
  }
}

function keyOf({ fence }: ClaimedJob, kind: ReportKind): string {
  return `${fence} ${kind}`;
}

/**
 * Sends calls of one kind for one job, each after the reply to the one before. Redis may refuse a call of an unknown
 * script, and the repeat would arrive behind a later call. Values that wait meanwhile share the next call.
 */
class OrderedCalls<Value> {
  private waiting: Value[] = [];
  private current: Promise<boolean> | undefined;
  /** The call of the waiting values. */
  private next: Promise<boolean> | undefined;

  /**
   * @param keep how many of the newest waiting values are sent
   * @param onIdle called when all calls are answered
   */
  constructor(
    private readonly keep: number,
    private readonly send: (values: Value[]) => Promise<boolean>,
    private readonly onIdle: () => void,
  ) {}

  /** The end of the last call; undefined if all are answered. */
  get last(): Promise<boolean> | undefined {
    return this.next ?? this.current;
  }

  /** Sends a value. Resolves to false if its claim is lost. */
  add(value: Value): Promise<boolean> {
    this.waiting.push(value);
    if (this.waiting.length > this.keep) {
      this.waiting.shift();
    }
    return this.current
      ? (this.next ??= this.current.then(this.sendWaiting, this.sendWaiting))
      : this.sendWaiting();
  }

  private readonly sendWaiting = (): Promise<boolean> => {
    const values = this.waiting;
    this.waiting = [];
    this.next = undefined;
    this.current = this.send(values);
    this.current.then(this.answered, this.answered);
    return this.current;
  };

  private readonly answered = (): void => {
    if (!this.next) {
      this.current = undefined;
      this.onIdle();
    }
  };
}

/** The most bytes of chunks in one call. Heartbeats and claims would wait behind more. */
const MOST_CALL_BYTES = 262_144;

/** The most arguments of one call, fewer than the 3,999 that some hosts of Redis allow. An attempt has six beside its chunks. */
const MOST_CALL_ARGS = 3_500;
const ARGS_OF_ATTEMPT = 6;

/** A chunk that is not acknowledged. */
interface UnacknowledgedChunk extends StoredChunk {
  readonly bytes: number;
  readonly resolve: (bytes: number) => void;
  readonly reject: (error: unknown) => void;
}

/** The chunks of one attempt. */
interface AttemptChunks {
  readonly claim: ClaimedJob;
  /** How many of its chunks were sent. */
  sent: number;
  waiting: UnacknowledgedChunk[];
  /** Why a chunk was not stored. Then no later one is, because the stream would have a gap. */
  fault?: { readonly error: unknown };
}

/**
 * Writes the chunks of all running jobs of a queue. One call is in flight at a time. Chunks that are written meanwhile share the next
 * one, whatever their job. So each job's chunks keep their order.
 */
class StreamWrites {
  private readonly writes = new Map<number, AttemptChunks>();
  private isSending = false;
  private readonly rules: ContentRules;
  private readonly longest: number;

  constructor(
    private readonly queue: JobQueue,
    private readonly calls: StoreCalls,
    private readonly onLost: (job: ClaimedJob) => void,
  ) {
    const { codec, redact, stream } = queue.options;
    this.rules = { maxPayloadBytes: Infinity, ...(codec && { codec }), ...(redact && { redact }) };
    this.longest = Math.min(LONGEST_CHUNK, stream.maxBytes);
  }

  /**
   * Writes a chunk; resolves with its bytes once Redis has it.
   *
   * @throws InvalidPayloadError at once
   */
  write(job: ClaimedJob, chunk: unknown): Promise<number> {
    const stored = this.stored(job, chunk);
    const writes = this.writesOf(job);
    if (writes.fault) {
      return Promise.reject(writes.fault.error);
    }
    const written = new Promise<number>((resolve, reject) => writes.waiting.push({ ...stored, resolve, reject }));
    if (!this.isSending) {
      void this.send();
    }
    return written;
  }

  /** Forgets an attempt whose handler has ended. All its chunks are answered by then. */
  forget({ fence }: ClaimedJob): void {
    this.writes.delete(fence);
  }

  private writesOf(claim: ClaimedJob): AttemptChunks {
    const { fence } = claim;
    const known = this.writes.get(fence) ?? { claim, sent: 0, waiting: [] };
    this.writes.set(fence, known);
    return known;
  }

  private stored(job: ClaimedJob, chunk: unknown): StoredChunk & { readonly bytes: number } {
    const isBytes = chunk instanceof Uint8Array;
    if (chunk === undefined) {
      throw new InvalidPayloadError('chunk', 'text, JSON or bytes', 'undefined');
    }
    const value = isBytes
      ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('base64')
      : chunk;
    const json = encodeContent('chunk', value, this.rules, job);
    const bytes = Buffer.byteLength(json);
    if (bytes > this.longest) {
      throw new InvalidPayloadError(
        'chunk',
        `at most ${this.longest} bytes as stored; write it in several chunks`,
        `${bytes} bytes`,
      );
    }
    return { kind: isBytes ? 'b' : 'j', json, bytes };
  }

  private async send(): Promise<void> {
    this.isSending = true;
    for (let taken = this.take(); taken.length > 0; taken = this.take()) {
      try {
        const calls = taken.map(({ writes: { claim, sent }, chunks }): StreamWrite => ({
          claim,
          first: sent + 1,
          chunks,
        }));
        const lost = await this.queue.store.exec(this.calls.streams.write({ writes: calls }));
        taken.forEach((each, i) => (lost.includes(i) ? this.lose(each.writes, each.chunks) : confirmChunks(each)));
      } catch (error) {
        taken.forEach(({ writes, chunks }) => failChunks(writes, chunks, error));
      }
    }
    this.isSending = false;
  }

  /** Takes waiting chunks, of each attempt from its first on. Attempts take turns, so that none starves the others. */
  private take(): { writes: AttemptChunks; chunks: UnacknowledgedChunk[] }[] {
    const taken: { writes: AttemptChunks; chunks: UnacknowledgedChunk[] }[] = [];
    let [bytes, args] = [0, 0];
    for (const writes of this.writes.values()) {
      const chunks: UnacknowledgedChunk[] = [];
      for (const chunk of writes.waiting) {
        if (args > 0 && (bytes + chunk.bytes > MOST_CALL_BYTES || args > MOST_CALL_ARGS)) break;
        args += chunks.length === 0 ? ARGS_OF_ATTEMPT + 2 : 2;
        bytes += chunk.bytes;
        chunks.push(chunk);
      }
      if (chunks.length > 0) {
        writes.waiting.splice(0, chunks.length);
        taken.push({ writes, chunks });
      }
    }
    for (const { writes } of taken) {
      this.writes.delete(writes.claim.fence);
      this.writes.set(writes.claim.fence, writes); // behind the others
    }
    return taken;
  }

  private lose(writes: AttemptChunks, chunks: readonly UnacknowledgedChunk[]): void {
    this.writes.delete(writes.claim.fence); // its handler may write on, and learns the same again
    this.onLost(writes.claim);
    failChunks(writes, chunks, new ClaimLostError(writes.claim.id));
  }
}

function confirmChunks({
  writes,
  chunks,
}: {
  writes: AttemptChunks;
  chunks: readonly UnacknowledgedChunk[];
}): void {
  writes.sent += chunks.length;
  chunks.forEach(({ resolve, bytes }) => resolve(bytes));
}

function failChunks(writes: AttemptChunks, chunks: readonly UnacknowledgedChunk[], error: unknown): void {
  writes.fault = { error };
  [...chunks, ...writes.waiting.splice(0)].forEach(({ reject }) => reject(error));
}

const FIRST_REST_MS = 1_000;
/** Short, because jobs that write nothing to Redis go on in between, and make room. */
const LONGEST_REST_MS = 10_000;
/** The time without a refusal after which an outage is over, in ms. */
const OVER_AFTER_MS = 60_000;

/** What the handlers of a queue met while Redis refused calls because of its state. Each outage is logged once. */
export class Outages {
  private restMs = 0;
  private restsUntil = -Infinity;
  private droppedAt = -Infinity;

  constructor(
    private readonly queue: string,
    private readonly clock: Clock,
    private readonly warn: (message: string) => void,
  ) {}

  /** Notes a job that goes back because of a refusal. Returns how long its queue or group rests, in ms. */
  rest({ message }: RedisStateError): number {
    const now = this.clock.monotonic();
    const isNew = now > this.restsUntil + OVER_AFTER_MS;
    if (now >= this.restsUntil) {
      this.restMs = isNew ? FIRST_REST_MS : Math.min(LONGEST_REST_MS, 2 * this.restMs);
      this.restsUntil = now + this.restMs;
    }
    if (isNew) {
      this.warn(
        `A handler of queue "${this.queue}" could not go on: ${message} Its job goes back without using an attempt. ` +
          `The queue, or the job's group, rests for a second, and for up to ${LONGEST_REST_MS / 1_000} s while this goes on.`,
      );
    }
    return Math.max(1, Math.ceil(this.restsUntil - now));
  }

  /** Notes progress or a log line that is not stored. */
  drop({ message }: RedisStateError): void {
    const now = this.clock.monotonic();
    if (now > this.droppedAt + OVER_AFTER_MS) {
      this.warn(
        `Progress and log lines of running jobs of queue "${this.queue}" are dropped until Redis takes them: ${message}`,
      );
    }
    this.droppedAt = now;
  }
}
