import { BatchReader } from '../../queue/batches/batch-reader.js';
import { ClaimLostError } from '../../queue/errors/errors.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { encodeContent } from '../../queue/codec/codec.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { JobReporter } from '../handlers/job.js';

/** The number of the newest lines that a job's log keeps, and of the characters of each. */
const LOG_LINES = 100;
const LONGEST_LOG_LINE = 1_000;

/** Writes a handler's progress, log and checkpoints while its claim is current. */
export class QueueReporter implements JobReporter {
  constructor(
    private readonly queue: JobQueue,
    private readonly calls: StoreCalls,
    private readonly onLost: (job: ClaimedJob) => void,
  ) {}

  async progress(job: ClaimedJob, value: unknown): Promise<void> {
    const json = encodeContent('progress', value, this.queue.options);
    this.refuseLost(job, await this.queue.store.exec(this.calls.progress(job, json)));
  }

  async log(job: ClaimedJob, message: string): Promise<void> {
    const line = JSON.stringify(message.slice(0, LONGEST_LOG_LINE));
    this.refuseLost(job, await this.queue.store.exec(this.calls.log(job, LOG_LINES, [line])));
  }

  async checkpoint(job: ClaimedJob, value: unknown): Promise<void> {
    const json = encodeContent('checkpoint', value, this.queue.options);
    this.refuseLost(job, await this.queue.store.exec(this.calls.checkpoint(job, json)));
  }

  batch(id: string): BatchReader {
    return new BatchReader(this.queue, id);
  }

  private refuseLost(job: ClaimedJob, isCurrent: boolean): void {
    if (!isCurrent) {
      this.onLost(job);
      throw new ClaimLostError(job.id);
    }
  }
}
