import { Injectable } from '@nestjs/common';
import type { QueueStats } from 'nest-job-queue';
import { QueueAccess } from '../../jobs/queue-access.js';
import type { StatsView } from '../pattern-views.js';
import { PictureService, type Picture } from '../picture/picture.js';
import { WorkerPool } from '../pool/worker-pool.js';
import { Stage, type ShowName, type ShowStep } from '../show/stage.js';
import { settings } from '../../settings.js';
import { StatsService } from '../stats.service.js';
import { jobRow } from './job-row.js';
import { FIRST_PAGES, LISTS, Pages, type JobPage, type ListName, type Offsets } from './pages.js';

const PAGE = 5;

/** The content of the page at one instant, bounded for any number of jobs. */
export interface Snapshot {
  redis: boolean;
  /** True if one process does everything, without Redis. */
  inMemory: boolean;
  stats?: StatsView;
  lists?: Record<ListName, JobPage>;
  picture: Picture;
  /** The wanted number of workers. */
  size: number;
  /** The running story, or the last one. `offered`: a page is to begin the first by itself. */
  show: { running: boolean; offered: boolean; name?: ShowName; jobs: readonly string[]; steps: ShowStep[] };
}

/** The content of one instant, built once for all pages that show the same rows. */
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
    private readonly pictures: PictureService,
    private readonly stage: Stage,
  ) {}

  /** Looks at queue and pool; other rows of the lists are read for the pages that show them. */
  async look(): Promise<Moment> {
    try {
      const counted = await this.queue.stats();
      const stats = await this.statistics.view(counted);
      const pages = new Pages((name, offset) =>
        name === 'pending' ? this.pending(offset, counted) : this.page(name, offset, stats[`${name}_depth`]),
      );
      const { pending, completed, failed } = await pages.at(FIRST_PAGES);
      const ended = [...completed.jobs, ...failed.jobs];
      const picture = await this.pictures.draw(pending.jobs, ended, counted.processing);
      return new Moment({ redis: true, stats, picture, ...this.beside() }, pages);
    } catch {
      // Redis is away, so the page says so and keeps its content.
      return new Moment({ redis: false, picture: this.pictures.drawAway(), ...this.beside() });
    }
  }

  private beside() {
    const { running, offered, name, jobs, steps } = this.stage;
    return { inMemory: settings.inMemory, size: this.pool.size, show: { running, offered, name, jobs, steps } };
  }

  private async page(name: ListName, wanted: number, total: number): Promise<JobPage> {
    const offset = within(wanted, total);
    const jobs = await this.queue.list(name, offset, PAGE);
    const ends = name === 'processing' ? await this.queue.claimsEndIn(jobs.map(({ id }) => id)) : [];
    const now = Date.now();
    return { offset, total, jobs: jobs.map((job, i) => jobRow(job, now, ends[i])) };
  }

  private async pending(wanted: number, counted: QueueStats): Promise<JobPage> {
    const total = counted.pending + counted.scheduled;
    const offset = within(wanted, total);
    const jobs = await this.queue.waiting(offset, PAGE, counted);
    const now = Date.now();
    return { offset, total, jobs: jobs.map((job) => jobRow(job, now)) };
  }
}

/** Returns an offset within a list that became shorter, so that its last page is shown. */
function within(offset: number, total: number): number {
  return Math.min(offset, Math.max(0, Math.floor((total - 1) / PAGE) * PAGE));
}
