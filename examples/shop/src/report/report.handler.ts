import { Logger } from '@nestjs/common';
import { JobHandler, type Job } from 'nest-job-queue';
import { logLine } from '../log-line.js';
import { Storage } from '../storage/storage.js';
import { ordersOf } from './orders.js';

export interface ReportPayload {
  year: number;
}

export interface ReportResult {
  orders: number;
  totalCents: number;
}

// A separate queue, so that a long report delays no mail. A process makes one at a time.
@JobHandler('report', { concurrency: 1 })
export class ReportHandler {
  private readonly logger = new Logger(ReportHandler.name);

  constructor(private readonly storage: Storage) {}

  /** Streams each line as it is made, for whoever waits for the report. */
  async *handle(job: Job<ReportPayload>): AsyncGenerator<string, ReportResult> {
    const { year } = job.payload;
    const lines = ['month,orders,total_cents'];
    yield lines[0]!;
    const result: ReportResult = { orders: 0, totalCents: 0 };
    for (let month = 1; month <= 12; month++) {
      job.signal.throwIfAborted();
      const orders = await ordersOf(year, month);
      const totalCents = orders.reduce((sum, order) => sum + order.totalCents, 0);
      const line = `${year}-${String(month).padStart(2, '0')},${orders.length},${totalCents}`;
      lines.push(line);
      yield line;
      result.orders += orders.length;
      result.totalCents += totalCents;
      await job.progress({ month, of: 12 });
    }
    await this.storage.write('reports', `${job.id}.csv`, `${lines.join('\n')}\n`);
    this.logger.log(logLine`${job.id}: ${year}, ${result.orders} orders`);
    return result;
  }
}
