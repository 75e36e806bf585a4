import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { HistoryCache, historyView } from '../live/history-cache.js';
import type { HistoryView } from '../views/history-view.js';
import { queueName } from './known-queue.js';
import { Reads, Routes } from './route.js';
import type { QueueCall } from './route-runner.js';

const historySchema = z.object({
  queue: queueName,
  hours: z.enum(['1', '24', '72'], { error: 'expected 1, 24 or 72' }).default('1'),
});

/** The figures of a queue for the charts. */
@Injectable()
export class HistoryController extends Routes {
  constructor(private readonly history: HistoryCache) {
    super();
  }

  @Reads('api/history', historySchema)
  async read({ hours }: z.output<typeof historySchema>, { queue }: QueueCall): Promise<HistoryView> {
    return historyView(await this.history.read(queue, Number(hours) as 1 | 24 | 72));
  }
}
