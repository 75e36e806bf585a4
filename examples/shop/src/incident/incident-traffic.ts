import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { orderOf } from './incident-backlog.js';
import { IncidentDatabase } from './incident-database.js';
import { DEADLY_QUEUE, FOREIGN_QUEUE, INCIDENT_QUEUES } from './incident-queues.js';

const EVERY_MS = 1_000;
const MINUTE_MS = 60_000;

/** Jobs that come all the time, so failures arrive. */
@Injectable()
export class IncidentTraffic implements OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private order = 1_000_000;

  constructor(
    private readonly jobs: JobQueueService,
    private readonly database: IncidentDatabase,
  ) {}

  /** Does what people did before: a pause, a limit, marks of errors. Leaves rows in the outbox, and starts the traffic. */
  async begin(): Promise<void> {
    await this.jobs.pause('export', { by: 'grace', reason: 'the file server moves today' });
    await this.jobs.queue('thumbnail').limits.change({ maxRunning: 2 });
    await this.markErrors();
    await this.leaveRows();
    await this.jobs.enqueueMany(DEADLY_QUEUE, [{ payload: { order: 0, customer: 'acme' } }]);
    await this.makeBatch();
    this.timer = setInterval(() => void this.goOn(), EVERY_MS).unref();
  }

  /** Makes a batch that waits for a late member. */
  private async makeBatch(): Promise<void> {
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
  }

  /** Says of one error that it is known. Another one is quiet for an hour. */
  private async markErrors(): Promise<void> {
    const mark = async (name: string, text: string, words: { known?: true; quietForMs?: number; note: string }) => {
      const { deadLetters } = this.jobs.queue(name);
      const found = (await deadLetters.kinds()).find(({ error }) => error?.includes(text));
      if (found) await deadLetters.markKind(found.kind, { by: 'grace', ...words });
    };
    await mark('payment', 'card has expired', { known: true, note: 'customers get a mail, nothing to do' });
    await mark('webhook', '410 Gone', { quietForMs: 60 * MINUTE_MS, note: 'two customers are moving' });
  }

  /** Leaves rows in the outbox. No process of this app moves them. */
  private async leaveRows(): Promise<void> {
    const transaction = await this.database.client.transaction('write');
    for (let order = 1; order <= 12; order++) {
      await this.jobs.enqueue('reminder', orderOf(order), { transaction });
    }
    await transaction.commit();
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
