import { Get, Injectable, Query, Req, Res } from '@nestjs/common';
import { z } from 'zod';
import type { GroupStats } from '../../queue/model/group.js';
import { duration } from '../../inspect/words.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/shared-reads.js';
import { Permissions } from '../security/permissions.js';
import { checkInput, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';
import type { GroupView } from './views.js';

const SHOWN = 100;
const groupsSchema = z.object({ queue: queueName });

/** The groups of a queue that have jobs, the deepest first. */
@Injectable()
export class GroupsController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {}

  @Get('api/groups')
  async list(@Query() query: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name } = checkInput(groupsSchema, query);
      await this.permissions.require('view', request, { queue: name });
      const queue = this.queues.get(name);
      const groups = await this.reads.get(`groups ${name}`, () => queue.groups.list({ limit: SHOWN }));
      return { groups: groups.map(viewOf) };
    });
  }
}

function viewOf(group: GroupStats): GroupView {
  const { name, pending, running, oldestPendingAgeMs, pausedAt, heldBy, opensAt, limits } = group;
  const { maxRunning, rateLimit, weight } = limits;
  const parts = [
    ...(weight === undefined ? [] : [`weight ${weight}`]),
    ...(maxRunning === undefined ? [] : [`at most ${maxRunning} run at once`]),
    ...(rateLimit ? [`${rateLimit.limit} start in ${duration(rateLimit.periodMs)}`] : []),
  ];
  return {
    name,
    pending,
    running,
    oldestPendingAgeMs,
    pausedAt: pausedAt?.getTime() ?? null,
    heldBy,
    opensAt: opensAt?.getTime() ?? null,
    limits: parts.length > 0 ? parts.join(', ') : null,
  };
}
