import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { orderOf } from './incident-backlog.js';
import { FOREIGN_QUEUE, INCIDENT_QUEUES } from './incident-queues.js';

const EVERY_MS = 1_000;
const MINUTE_MS = 60_000;

/** Jobs that come all the time, so failures arrive. */
@Injectable()
export class IncidentTraffic implements OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private order = 1_000_000;

  constructor(private readonly jobs: JobQueueService) {}

  /** Pauses a queue, makes a batch that waits for a late member, and starts the traffic. */
  async begin(): Promise<void> {
    await this.jobs.pause('export', { by: 'grace', reason: 'the file server moves today' });
    const batch = this.jobs.batch({
      id: 'monthly-report',
      finally: { name: 'report', payload: { month: 'all' } },
    });
    const months = Array.from({ length: 12 }, (_, month) => ({
      payload: { month: month + 1 },
      ...(month === 11 && { delayMs: 60 * MINUTE_MS }),
    }));
    await batch.addMany('report', months);
    await batch.seal();
    this.timer = setInterval(() => void this.goOn(), EVERY_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  private async goOn(): Promise<void> {
    try {
      for (const { name, perMinute } of INCIDENT_QUEUES) {
        const count = name === FOREIGN_QUEUE ? 0 : Math.floor(perMinute / 60);
        const jobs = Array.from({ length: count }, () => ({ payload: orderOf(this.order++) }));
        if (count > 0) await this.jobs.enqueueMany(name, jobs);
      }
    } catch {
      // Redis is away: the dashboard says so, and the next turn tries again.
    }
  }
}
