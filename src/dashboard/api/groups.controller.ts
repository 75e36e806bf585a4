import { Body, Get, Injectable, Post, Query, Req, Res } from '@nestjs/common';
import { z } from 'zod';
import { ActionLog } from '../actions/action-log.js';
import { groupName, type GroupStats } from '../../queue/model/group.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { groupLimitFields } from '../../queue/model/limits.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { groupLimitsInWords } from '../../inspect/limits-in-words.js';
import { SharedReads } from '../live/shared-reads.js';
import { Permissions } from '../security/permissions.js';
import { checkInput, KnownQueues, queueName } from './known-queue.js';
import { Responder } from './responder.js';
import type { GroupView } from '../views/group-views.js';
import { pauseOf } from '../actions/pause-of.js';

const SHOWN = 100;
/** The permission that each action needs: cleaning a group removes jobs. */
const PERMISSIONS = { pause: 'pause', resume: 'resume', clean: 'remove' } as const;
type GroupAction = keyof typeof PERMISSIONS;

const groupsSchema = z.object({ queue: queueName });
const actSchema = z.strictObject({
  action: z.enum(['pause', 'resume', 'clean'], { error: 'expected pause, resume, clean' }),
  queue: queueName,
  group: groupName,
});
const limitsSchema = z.strictObject({
  queue: queueName,
  group: groupName,
  limits: z
    .strictObject(groupLimitFields, {
      error:
        'expected { maxRunning?, rateLimit?, weight?, maxPending?, maxPendingBytes?, onDeadHead? }, or null to clear them',
    })
    .nullable(),
});

/** Serves the groups of a queue that have jobs, the deepest first, and their actions. */
@Injectable()
export class GroupsController {
  constructor(
    private readonly queues: KnownQueues,
    private readonly log: ActionLog,
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

  @Post('api/groups/act')
  async act(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { action, queue: name, group } = checkInput(actSchema, body);
      await this.permissions.require(PERMISSIONS[action], request, { queue: name, group });
      const queue = this.queues.get(name);
      const user = this.permissions.userOf(request);
      const done = await doTo(queue, group, action, user);
      await this.log.add(queue, { user, action: `${action} group`, subject: `group ${group}`, count: done });
      this.reads.forget();
      return { done, spared: 0 };
    });
  }

  @Post('api/groups/limits')
  async set(@Body() body: unknown, @Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      const { queue: name, group, limits } = checkInput(limitsSchema, body);
      await this.permissions.require('limits', request, { queue: name, group });
      const queue = this.queues.get(name);
      await (limits ? queue.groups.set(group, limits) : queue.groups.clear(group));
      const words = limits ? (groupLimitsInWords(limits) ?? 'no limit') : 'clear its own limits';
      const user = this.permissions.userOf(request);
      await this.log.add(queue, { user, action: 'group limits', subject: `group ${group}: ${words}`, count: 1 });
      this.reads.forget();
      return { done: 1, spared: 0 };
    });
  }
}

/** Returns how many jobs were deleted; of a pause and its end 1 where it changed something. */
async function doTo(queue: JobQueue, group: string, action: GroupAction, user: string): Promise<number> {
  switch (action) {
    case 'clean':
      return queue.groups.clean(group);
    case 'pause':
      return Number(await queue.groups.pause(group, pauseOf(user)));
    case 'resume':
      return Number(await queue.groups.resume(group));
  }
}

function viewOf(group: GroupStats): GroupView {
  const { name, pending, running, oldestPendingAgeMs, pausedAt, heldBy, opensAt, limits } = group;
  return {
    name,
    pending,
    running,
    oldestPendingAgeMs,
    pausedAt: pausedAt?.getTime() ?? null,
    heldBy,
    opensAt: opensAt?.getTime() ?? null,
    limits: groupLimitsInWords(limits),
    limitsSet: limits,
  };
}
