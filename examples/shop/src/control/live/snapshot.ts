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

type ReadPage = (name: ListName, offset: number) => Promise<JobPage>;

/** Pages of the lists at one moment, each read once, for however many who look at it. */
class Pages {
  private readonly read = new Map<string, Promise<JobPage>>();

  constructor(private readonly readPage: ReadPage) {}

  async at(offsets: Offsets): Promise<Record<ListName, JobPage>> {
    const pages = await Promise.all(
      LISTS.map(async (name) => [name, await this.page(name, offsets[name])] as const),
    );
    return Object.fromEntries(pages) as Record<ListName, JobPage>;
  }

  private page(name: ListName, offset: number): Promise<JobPage> {
    const key = `${name} ${offset}`;
    let page = this.read.get(key);
    if (!page) this.read.set(key, (page = this.readPage(name, offset)));
    return page;
  }
}

/** What there is to tell of one moment, put together once for all pages that show the same rows. */
export class Moment {
  private readonly texts = new Map<string, Promise<string>>();

  constructor(
    private readonly common: Omit<Snapshot, 'lists'>,
    private readonly pages?: Pages,
  ) {}

  textFor(offsets: Offsets): Promise<string> {
    const key = LISTS.map((name) => offsets[name]).join();
    let text = this.texts.get(key);
    if (!text) this.texts.set(key, (text = this.put(offsets)));
    return text;
  }

  private async put(offsets: Offsets): Promise<string> {
    try {
      return JSON.stringify({ ...this.common, lists: await this.pages?.at(offsets) } satisfies Snapshot);
    } catch {
      // Redis has gone away between the numbers and the rows.
      return JSON.stringify({ ...this.common, redis: false, stats: undefined } satisfies Snapshot);
    }
  }
}

@Injectable()
export class SnapshotService {
  constructor(
    private readonly queue: QueueAccess,
    private readonly statistics: StatsService,
    private readonly pool: WorkerPool,
    private readonly story: Story,
    private readonly show: CrashShow,
  ) {}

  /** Looks at queue and pool; the rows of the lists are read for the pages that are open. */
  async look(): Promise<Moment> {
    const beside = this.beside();
    try {
      const counted = await this.queue.stats();
      const stats = await this.statistics.view(counted);
      const pages = new Pages((name, offset) =>
        name === 'pending' ? this.pending(offset, counted) : this.page(name, offset, stats[`${name}_depth`]),
      );
      return new Moment({ redis: true, stats, ...beside }, pages);
    } catch {
      // Redis is away: the page says so, and keeps what it showed.
      return new Moment({ redis: false, ...beside });
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
