import { Injectable } from '@nestjs/common';
import type { JobRecord, QueueStats } from 'nest-job-queue';
import type { StatsView } from '../pattern-views.js';
import { WorkerPool } from '../pool/worker-pool.js';
import { QueueAccess } from '../../jobs/queue-access.js';
import { CrashShow, type ShowStep } from '../show/crash-show.js';
import { StatsService } from '../stats.service.js';
import { Story, type StoryLine } from '../story/story.js';

export const LISTS = ['pending', 'processing', 'completed', 'failed'] as const;
export type ListName = (typeof LISTS)[number];
/** Which row each of the four lists begins at. */
export type Offsets = Record<ListName, number>;

const PAGE = 5;
const LONGEST_TEXT = 240;

/** All that the page shows at one moment: bounded, however many jobs there are. */
export interface Snapshot {
  redis: boolean;
  stats?: StatsView;
  lists?: Record<ListName, JobPage>;
  /** How many workers there are to be. */
  size: number;
  workers: WorkerView[];
  story: StoryLine[];
  /** The crash that is shown, or was last. */
  show: { running: boolean; steps: ShowStep[] };
}

interface JobPage {
  offset: number;
  total: number;
  jobs: JobRow[];
}

type JobRow = Awaited<ReturnType<SnapshotService['row']>>;
type WorkerView = ReturnType<SnapshotService['workers']>[number];

@Injectable()
export class SnapshotService {
  constructor(
    private readonly queue: QueueAccess,
    private readonly statistics: StatsService,
    private readonly pool: WorkerPool,
    private readonly story: Story,
    private readonly show: CrashShow,
  ) {}

  async take(offsets: Offsets): Promise<Snapshot> {
    try {
      const counted = await this.queue.stats();
      const stats = await this.statistics.view(counted);
      const pages = await Promise.all(
        LISTS.map((name) =>
          name === 'pending'
            ? this.pending(offsets.pending, counted)
            : this.page(name, offsets[name], stats[`${name}_depth`]),
        ),
      );
      const lists = Object.fromEntries(LISTS.map((name, i) => [name, pages[i]!])) as Record<ListName, JobPage>;
      return { redis: true, stats, lists, ...this.beside() };
    } catch {
      // Redis is away: the page says so, and keeps what it showed.
      return { redis: false, ...this.beside() };
    }
  }

  private beside() {
    const { running, steps } = this.show;
    return { size: this.pool.size, workers: this.workers(), story: this.story.lines, show: { running, steps } };
  }

  workers() {
    const now = Date.now();
    return this.pool.list().map(({ name, pid, state, job, processed }) => ({
      name,
      pid,
      state,
      processed,
      job: job && { id: job.id, name: job.name, attempt: job.attempt, forMs: now - job.since },
    }));
  }

  private async page(name: ListName, wanted: number, total: number): Promise<JobPage> {
    const offset = within(wanted, total);
    const jobs = await this.queue.list(name, offset, PAGE);
    const ends = name === 'processing' ? await this.queue.claimsEndIn(jobs.map(({ id }) => id)) : [];
    return { offset, total, jobs: jobs.map((job, i) => this.row(job, ends[i])) };
  }

  private async pending(wanted: number, counted: QueueStats): Promise<JobPage> {
    const total = counted.pending + counted.scheduled;
    const offset = within(wanted, total);
    const jobs = await this.queue.waiting(offset, PAGE, counted);
    return { offset, total, jobs: jobs.map((job) => this.row(job)) };
  }

  row(job: JobRecord, claimEndsInMs?: number) {
    return {
      id: job.id,
      name: job.name,
      status: job.status,
      attempts: job.attempts,
      maxAttempts: job.maxAttempts,
      crashes: job.crashes,
      payload: short(job.brokenPayload ?? job.payload),
      result: job.result === undefined ? undefined : short(job.result),
      error: job.lastError === undefined ? undefined : short(job.lastError),
      claimEndsInMs,
    };
  }
}

/** A list that has become shorter shows its last page, not nothing. */
function within(offset: number, total: number): number {
  return Math.min(offset, Math.max(0, Math.floor((total - 1) / PAGE) * PAGE));
}

/** As text of a bounded length: one payload may be a megabyte. */
function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
