import { BatchReader } from '../../queue/batches/batch-reader.js';
import { ClaimLostError } from '../../queue/errors/errors.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { encodeContent } from '../../queue/codec/codec.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { JobReporter } from '../handlers/job.js';
import { OrderedCalls } from './ordered-calls.js';
import { startOf, wellFormed } from '../../queue/runtime/cut.js';

/** The number of the newest lines that a job's log keeps, and of the characters of each. */
const LOG_LINES = 100;
const LONGEST_LOG_LINE = 1_000;

/** The kinds of reports, and how many unsent ones of each count: only the last progress, for example. */
const KEPT = { progress: 1, checkpoint: 1, log: LOG_LINES };

type Kind = keyof typeof KEPT;

/** Writes a handler's progress, log and checkpoints while its claim is current. */
export class QueueReporter implements JobReporter {
  /** The reports in flight, by the kind and the fence of their claim. Empty if no handler reports anything. */
  private readonly inFlight = new Map<string, OrderedCalls<string>>();

  constructor(
    private readonly queue: JobQueue,
    private readonly calls: StoreCalls,
    private readonly onLost: (job: ClaimedJob) => void,
  ) {}

  get redact() {
    return this.queue.options.redact;
  }

  async progress(job: ClaimedJob, value: unknown): Promise<void> {
    await this.report(job, 'progress', encodeContent('progress', value, this.queue.options, job));
  }

  async log(job: ClaimedJob, message: string): Promise<void> {
    await this.report(job, 'log', JSON.stringify(wellFormed(startOf(message, LONGEST_LOG_LINE))));
  }

  async checkpoint(job: ClaimedJob, value: unknown): Promise<void> {
    await this.report(job, 'checkpoint', encodeContent('checkpoint', value, this.queue.options, job));
  }

  batch(id: string): BatchReader {
    return new BatchReader(this.queue, id);
  }

  /** Returns the end of a job's reports in flight; undefined if there are none. */
  answered(job: ClaimedJob): Promise<unknown> | undefined {
    if (this.inFlight.size === 0) {
      return undefined;
    }
    const last = Object.keys(KEPT).flatMap((kind) => this.inFlight.get(keyOf(job, kind as Kind))?.last ?? []);
    return last.length > 0 ? Promise.allSettled(last) : undefined;
  }

  private async report(job: ClaimedJob, kind: Kind, json: string): Promise<void> {
    if (!(await this.callsOf(job, kind).add(json))) {
      this.onLost(job);
      throw new ClaimLostError(job.id);
    }
  }

  private callsOf(job: ClaimedJob, kind: Kind): OrderedCalls<string> {
    const key = keyOf(job, kind);
    let calls = this.inFlight.get(key);
    if (!calls) {
      const send = (values: string[]) => this.queue.store.exec(this.callOf(job, kind, values));
      calls = new OrderedCalls(KEPT[kind], send, () => this.inFlight.delete(key));
      this.inFlight.set(key, calls);
    }
    return calls;
  }

  private callOf(job: ClaimedJob, kind: Kind, values: string[]): StoreCall<boolean> {
    return kind === 'log' ? this.calls.log(job, LOG_LINES, values) : this.calls[kind](job, values[0]!);
  }
}

function keyOf({ fence }: ClaimedJob, kind: Kind): string {
  return `${fence} ${kind}`;
}
