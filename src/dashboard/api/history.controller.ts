import { Get, Injectable, Query, Req, Res } from '@nestjs/common';
import { z } from 'zod';
import type { DashboardRequest } from '../dashboard-options.js';
import { HistoryCache, historyView } from '../live/history-cache.js';
import { Permissions } from '../security/permissions.js';
import { checkInput, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';

const historySchema = z.object({
  queue: queueName,
  hours: z.enum(['1', '24', '72'], { error: 'expected 1, 24 or 72' }).default('1'),
});

/** The figures of a queue for the charts. */
@Injectable()
export class HistoryController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly history: HistoryCache,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/history')
  async read(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, hours } = checkInput(historySchema, query);
      await this.permissions.require('view', request, { queue: name });
      return historyView(await this.history.read(this.queues.get(name), Number(hours) as 1 | 24 | 72));
    });
  }
}
