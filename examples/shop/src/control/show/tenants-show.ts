import { Injectable } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { QueueAccess } from '../../jobs/queue-access.js';
import { WorkerPool } from '../pool/worker-pool.js';
import { Stage, type End } from './stage.js';

const BIG = { group: 'big tenant', jobs: 10_000 };
const SMALL = { group: 'small tenant', jobs: 8 };
const SLICE = 1_000;
/** The duration of one report, in ms. */
const PACE = { firstMs: 500, againMs: 500 };

/** A tenant with ten thousand jobs beside a small one: groups take turns. */
@Injectable()
export class TenantsShow {
  constructor(
    private readonly stage: Stage,
    private readonly pool: WorkerPool,
    private readonly queue: QueueAccess,
    private readonly jobs: JobQueueService,
  ) {}

  /** @throws ConflictException while a story runs; ServiceUnavailableException while Redis is away */
  async begin(): Promise<readonly string[]> {
    const ids = await this.stage.begin('tenants', () => this.enqueue());
    void this.play(this.pool.staff());
    return ids;
  }

  private async enqueue(): Promise<string[]> {
    for (let from = 0; from < BIG.jobs; from += SLICE) await this.add(BIG.group, SLICE);
    this.stage.tell('flood', `The big tenant enqueues ${BIG.jobs.toLocaleString('en')} reports.`);
    const ids = await this.add(SMALL.group, SMALL.jobs);
    this.stage.jobs = ids;
    this.stage.tell('small', `After it the small tenant enqueues ${SMALL.jobs}.`);
    return ids;
  }

  private async add(group: string, count: number): Promise<string[]> {
    const payload = { kind: 'Report', recipient: group, pace: PACE };
    const jobs = Array.from({ length: count }, () => ({ payload, group }));
    const handles = await this.queue.ask(() => this.jobs.enqueueMany('other', jobs, { queue: this.queue.name }));
    return handles.map(({ id }) => id);
  }

  private async play(dismiss: () => void): Promise<void> {
    await this.stage.play(() => this.look());
    // The rest of the big tenant would keep the shop busy for an hour.
    await this.queue.ask(() => this.groups.clean(BIG.group)).catch(() => 0);
    dismiss();
  }

  private async look(): Promise<End | undefined> {
    if (this.pool.size === 0) return ['The workers were stopped: nobody is there to take the jobs.', 'bad'];
    const [big, small] = await Promise.all([this.ended(BIG), this.ended(SMALL)]);
    if (big + small > 0) {
      this.stage.tell(
        'turns',
        `They take turns: ${small} reports of the small tenant are made, and ${big} of the big one.`,
      );
    }
    if (small < SMALL.jobs) return undefined;
    const waiting = (BIG.jobs - big).toLocaleString('en');
    return [
      `The small tenant has all its reports, while ${waiting} of the big one wait. The rest is deleted now.`,
      'good',
    ];
  }

  private async ended({ group, jobs }: { group: string; jobs: number }): Promise<number> {
    const { pending, running } = await this.queue.ask(() => this.groups.get(group));
    return Math.max(0, jobs - pending - running);
  }

  private get groups() {
    return this.jobs.queue(this.queue.name).groups;
  }
}
