import type { QueueObserver, QueueView } from '../../memory/server/observed-server.js';
import { ANY_PAYLOAD, decodeContent } from '../../queue/codec/codec.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { type Durability, JOB_OPTIONS, type JobOption, type JobOptionName } from '../../queue/model/job-options.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import { isRef, splitRef } from '../../queue/store/job-ref.js';
import type { Job } from '../../worker/handlers/job.js';

export const ENDS = [
  'completed',
  'retry',
  'failed',
  'cancelled',
  'released',
  'reclaimed',
] as const satisfies readonly TestedOutcome[];

/** The end of an attempt or a job. */
export type TestedOutcome = 'completed' | 'retry' | 'failed' | 'cancelled' | 'released' | 'reclaimed';

/** The number of attempts by outcome. */
export type DrainReport = Record<TestedOutcome, number>;

/** An error that a handler threw, or that failed its attempt. */
export interface HandlerFailure {
  /** The id of the job. */
  readonly id: string;
  /** The name of the job. */
  readonly name: string;
  /** The queue of the job. */
  readonly queue: string;
  /** The attempt, from 1. */
  readonly attempt: number;
  /** The error of the handler. */
  readonly error: unknown;
}

/** Records what happened in the queues of a test. */
export class TestLog implements QueueObserver {
  readonly jobs: EnqueuedJob[] = [];
  readonly ends: TestedOutcome[] = [];
  readonly failures: HandlerFailure[] = [];
  /** The errors of handlers, until their jobs are settled. */
  private readonly thrown = new Map<string, unknown>();

  threw({ queue, id }: Pick<Job, 'queue' | 'id'>, error: unknown): void {
    this.thrown.set(`${queue}:${id}`, error);
  }

  enqueued(queue: QueueView, id: string, asked: AskedOptions, durability?: Durability): void {
    const job = enqueuedJob(queue, id, asked);
    this.jobs.push(durability ? { ...job, options: { ...job.options, durability } } : job);
  }

  changed(queue: QueueView, id: string, status: string): void {
    if (!isEnd(status)) {
      return;
    }
    this.ends.push(status);
    const key = `${queue.name}:${id}`;
    if (status === 'retry' || status === 'failed' || status === 'reclaimed') {
      this.failures.push(failureOf(queue, id, this.thrown.get(key)));
    }
    this.thrown.delete(key);
  }

  clear(): void {
    this.jobs.length = 0;
    this.failures.length = 0;
  }

  /** Counts the ends from a position on. */
  reportSince(from: number): DrainReport {
    const since = this.ends.slice(from);
    const counts = ENDS.map((end) => [end, since.filter((each) => each === end).length]);
    return Object.fromEntries(counts) as DrainReport;
  }
}

function isEnd(status: string): status is TestedOutcome {
  return (ENDS as readonly string[]).includes(status);
}

function failureOf(queue: QueueView, id: string, thrown: unknown): HandlerFailure {
  const job = queue.job(id);
  return {
    id,
    name: job?.name ?? queue.name,
    queue: queue.name,
    attempt: Number(job?.attempts ?? 0),
    error: thrown ?? new Error(job?.last_error ?? `Job ${id} lost its worker.`),
  };
}

export function reportInWords(report: DrainReport): string {
  const parts = ENDS.filter((end) => report[end] > 0).map((end) => `${report[end]} ${end}`);
  return parts.join(', ') || 'no attempt ended';
}

/** A job as a test sees it enqueued. */
export interface EnqueuedJob<Payload = unknown> {
  /** The id of the job. */
  readonly id: string;
  /** The name of the job. */
  readonly name: string;
  /** The queue of the job. */
  readonly queue: string;
  /** The enqueued payload. */
  readonly payload: Payload;
  /** The options of its enqueue; absent ones were not given. */
  readonly options: EnqueueOptions;
  /** The schedule whose tick made it. */
  readonly schedule?: string;
  /** The time of its enqueue, by the clock of the test. */
  readonly at: Date;
}

/** Reads a job that was just added. */
function enqueuedJob(queue: QueueView, id: string, asked: AskedOptions): EnqueuedJob {
  const job = queue.job(id)!;
  return {
    id,
    name: job.name ?? queue.name,
    queue: queue.name,
    payload: decodeContent(queue.options.codec, JSON.parse(job.payload!), 'payload', {
      queue: queue.name,
      id,
      payloadId: ANY_PAYLOAD,
    }),
    options: optionsOf(queue, id, asked),
    ...(job.schedule !== undefined && { schedule: job.schedule }),
    at: new Date(queue.now),
  };
}

/** Returns the options of the enqueue. The batch of a member is not one of them. */
function optionsOf(queue: QueueView, id: string, asked: AskedOptions): EnqueueOptions {
  const { batch: _batch, stopsBatch: _stopsBatch, addedBy: _addedBy, ...others } = asked;
  const given = Object.entries(others).flatMap(([name, sent]): [string, unknown][] => {
    const option: JobOption | undefined = JOB_OPTIONS[name as JobOptionName];
    return option ? [[name, option.decode ? option.decode(sent as never) : sent]] : [];
  });
  const after = asked.after?.map((ref) => (isRef(ref) ? splitRef(queue.name, ref) : ref));
  const isOwnId = asked.request !== undefined && queue.job(id)?.request === asked.request;
  return { ...(Object.fromEntries(given) as EnqueueOptions), ...(after && { after }), ...(isOwnId && { id }) };
}
