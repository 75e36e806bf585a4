import { Body, Injectable, Post, Req, Res } from '@nestjs/common';
import { z } from 'zod';
import { runtimeLimitFields } from '../../queue/operate/limits.js';
import { ActionLog } from '../actions/action-log.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { limitsInWords } from '../live/limits-in-words.js';
import { Permissions } from '../security/permissions.js';
import { checkInput, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';

const limitsSchema = z.strictObject({
  queue: queueName,
  limits: z
    .strictObject(runtimeLimitFields, { error: 'expected { maxRunning?, rateLimit? }, or null to clear them' })
    .nullable(),
});

/** Sets and clears the limits of a queue for the whole fleet. */
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
      // The limits of its groups are set elsewhere, and do not change.
      const { groups, maxPending, maxPendingBytes } = await queue.limits.get();
      const kept = {
        ...(groups && { groups }),
        ...(maxPending !== undefined && { maxPending }),
        ...(maxPendingBytes !== undefined && { maxPendingBytes }),
      };
      await (limits ? queue.limits.set({ ...kept, ...limits }) : queue.limits.clear());
      const subject = limits
        ? (limitsInWords({ ...limits, source: 'configuration' }) ?? 'no limit')
        : 'clear what was set at run time';
      await this.log.add(queue, { user: this.permissions.userOf(request), action: 'limits', subject, count: 1 });
      return { done: 1, spared: 0 };
    });
  }
}
