import { Body, Injectable, Post, Req, Res } from '@nestjs/common';
import { z } from 'zod';
import { limitChangesSchema } from '../../queue/model/limits.js';
import { ActionLog } from '../actions/action-log.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { limitChangesInWords } from '../../inspect/limits-in-words.js';
import { Permissions } from '../security/permissions.js';
import { checkInput, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';

const limitsSchema = z.strictObject({
  queue: queueName,
  /** null clears all that was set. */
  limits: limitChangesSchema.nullable(),
});

/** Changes and clears the limits of a queue for the whole fleet. */
@Injectable()
export class LimitsController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly log: ActionLog,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Post('api/queue/limits')
  async set(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, limits } = checkInput(limitsSchema, body);
      await this.permissions.require('limits', request, { queue: name });
      const queue = this.queues.get(name);
      await (limits ? queue.limits.change(limits) : queue.limits.clear());
      const subject = limits ? limitChangesInWords(limits) : 'clear what was set at run time';
      await this.log.add(queue, { user: this.permissions.userOf(request), action: 'limits', subject, count: 1 });
      return { done: 1, spared: 0 };
    });
  }
}
