import { Batch } from '../../queue/batches/batch.js';
import { CodecError, decodeContent } from '../../queue/codec/codec.js';
import { encodeContent } from '../../queue/codec/encode-content.js';
import { isEncoded, parseJson } from '../../queue/codec/stored-value.js';
import { type Sealed, sealLine } from '../../queue/codec/sealed.js';
import { ClaimLostError, RedisStateError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import { checkRestedLimit } from '../../queue/model/shared-limit.js';
import { type JobWait, MOST_WAITS } from '../../queue/model/signal.js';
import { MOST_BYTES_OF_STEPS, MOST_STEPS, MOST_STEP_BYTES } from '../../queue/model/step.js';
import { otherQueue } from '../../queue/operate/opened-queues.js';
import { startOf, wellFormed } from '../../queue/runtime/cut.js';
import { splitRef } from '../../queue/store/job-ref.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { InvalidStepError } from '../handlers/job-steps.js';
import type { WaitEnd } from '../handlers/job-waits.js';
import type { JobReporter } from '../handlers/job.js';
import type { Outages } from './outages.js';
import { StreamWrites } from './stream-writes.js';

/** The number of the newest lines that a job's log keeps, and of the characters of each. */
const LOG_LINES = 100;
const LONGEST_LOG_LINE = 1_000;

/** The kinds of reports, and how many unsent ones of each count: only the last progress, for example. */
const KEPT = { progress: 1, checkpoint: 1, log: LOG_LINES };

type Kind = keyof typeof KEPT;

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
    const last = Object.keys(KEPT).flatMap((kind) => this.inFlight.get(keyOf(job, kind as Kind))?.last ?? []);
    return last.length > 0 ? Promise.allSettled(last) : undefined;
  }

  /** Forgets what a handler has streamed, once it has ended. */
  forget(job: ClaimedJob): void {
    this.streams.forget(job);
  }

  private async report(job: ClaimedJob, kind: Kind, json: Sealed): Promise<void> {
    if (!(await this.callsOf(job, kind).add(json))) {
      throw this.lost(job);
    }
  }

  private callsOf(job: ClaimedJob, kind: Kind): OrderedCalls<Sealed> {
    const key = keyOf(job, kind);
    let calls = this.inFlight.get(key);
    if (!calls) {
      const send = (values: Sealed[]) => this.send(job, kind, values);
      calls = new OrderedCalls(KEPT[kind], send, () => this.inFlight.delete(key));
      this.inFlight.set(key, calls);
    }
    return calls;
  }

  /** Sends a report. Progress and log lines are for people, so a full Redis does not hold up the job because of them. */
  private async send(job: ClaimedJob, kind: Kind, values: Sealed[]): Promise<boolean> {
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

  private callOf(job: ClaimedJob, kind: Kind, values: Sealed[]): StoreCall<boolean> {
    const [value] = values as [Sealed];
    return kind === 'log'
      ? this.calls.log({ claim: job, keep: LOG_LINES, lines: values })
      : kind === 'progress'
        ? this.calls.progress({ claim: job, progress: value })
        : this.calls.checkpoint({ claim: job, checkpoint: value });
  }
}

function keyOf({ fence }: ClaimedJob, kind: Kind): string {
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
