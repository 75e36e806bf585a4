import type { Job } from '../../worker/handlers/job.js';
import type { Durability } from '../../queue/model/job-options.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import type { QueueObserver } from '../../memory/server/observed-server.js';
import type { QueueView } from '../../memory/server/queue-view.js';
import { enqueuedJob, type EnqueuedJob } from './enqueued-job.js';

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
