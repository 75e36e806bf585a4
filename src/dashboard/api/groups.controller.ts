import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { pauseInWords, pauseOf } from '../actions/job-actions.js';
import { isFull } from '../../inspect/why-not-running.js';
import { groupLimitsInWords } from '../../inspect/limits-in-words.js';
import { onTarget } from '../../queue/actions/noted-action.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { groupName, type GroupStats } from '../../queue/model/group.js';
import { groupLimitFields, type GroupLimits, withNames } from '../../queue/model/limits.js';
import { pauseOptions } from '../../queue/model/pause.js';
import type { ActionEntry } from '../../queue/store/action-entry.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { firstVisible, Permissions } from '../security/permissions.js';
import { SharedReads } from '../live/snapshot-feed.js';
import type { GroupsView, GroupView } from '../views/views.js';
import { queueName, Changes, Reads, Routes, type ChangeCall, type Outcome, type QueueCall } from './route.js';

const SHOWN = 100;
/** The latest actions in which the author of a limit is sought. */
const ACTIONS_READ = 500;

const groupsSchema = z.object({ queue: queueName });
const actSchema = z.strictObject({
  action: z.enum(['pause', 'resume', 'clean'], { error: 'expected pause, resume, clean' }),
  queue: queueName,
  group: groupName,
  ...pauseOptions.pick({ reason: true, forMs: true }).shape,
});
const limitsSchema = z.strictObject({
  queue: queueName,
  group: groupName,
  limits: z.strictObject(...withNames(groupLimitFields, ', or null to clear them')).nullable(),
});

/** Serves the groups of a queue that have jobs, the deepest first, and their actions. */
@Injectable()
export class GroupsController extends Routes {
  constructor(
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/groups', groupsSchema)
  async list(_query: z.output<typeof groupsSchema>, { queue, request }: QueueCall): Promise<GroupsView> {
    const ofAll = await this.reads.get(`group-limits ${queue.name}`, () => limitsOfAll(queue));
    const groups = await firstVisible(SHOWN, {
      read: (limit) => this.reads.get(`groups ${queue.name} ${limit}`, () => groupsOf(queue, ofAll, limit)),
      visible: (found) => this.visible(found, queue.name, request),
    });
    return { groups, ofAll: groupLimitsInWords(ofAll) };
  }

  @Changes('api/groups/act', actSchema, {
    logs: ({ action, group, ...note }) => onTarget(`${action}-group`, 'group', group, pauseInWords(note)),
  })
  async act(
    { action, group, reason, forMs }: z.output<typeof actSchema>,
    { queue: { groups }, user }: ChangeCall,
  ): Promise<Outcome> {
    switch (action) {
      case 'clean':
        return { done: await groups.clean(group) };
      case 'pause':
        return { done: Number(await groups.pause(group, pauseOf(user, { reason, forMs }))) };
      case 'resume':
        return { done: Number(await groups.resume(group)) };
    }
  }

  @Changes('api/groups/limits', limitsSchema, {
    logs: ({ group, limits }) =>
      limits
        ? onTarget('limit-group', 'group', group, groupLimitsInWords(limits) ?? 'no limit')
        : onTarget('clear-group', 'group', group),
  })
  async set({ group, limits }: z.output<typeof limitsSchema>, { queue }: ChangeCall): Promise<Outcome> {
    await (limits ? queue.groups.set(group, limits) : queue.groups.clear(group));
    return { done: 1 };
  }

  private async visible(
    groups: readonly GroupView[],
    queue: string,
    request: DashboardRequest,
  ): Promise<GroupView[]> {
    const seen = await Promise.all(
      groups.map(({ name: group }) => this.permissions.allows('view', request, { queue, group })),
    );
    const heads = groups.flatMap(({ heldBy }) => (heldBy === null ? [] : [{ queue, id: heldBy }]));
    const shown = new Set((await this.permissions.visible(request, heads)).map(({ id }) => id));
    return groups
      .filter((_, i) => seen[i])
      .map((group) => ({ ...group, heldBy: shown.has(group.heldBy ?? '') ? group.heldBy : null }));
  }
}

/** Returns the limits of each group without its own. */
async function limitsOfAll(queue: JobQueue): Promise<GroupLimits> {
  return (await queue.limits.get()).groups ?? {};
}

async function groupsOf(queue: JobQueue, ofAll: GroupLimits, limit: number): Promise<GroupView[]> {
  const groups = await queue.groups.list({ limit });
  const isLimited = groups.some(({ limits }) => Object.keys(limits).length > 0);
  const actions = isLimited ? await queue.actionLog.latest({ limit: ACTIONS_READ }) : [];
  return groups.map((group) => viewOf(group, ofAll, actions));
}

function viewOf(group: GroupStats, ofAll: GroupLimits, actions: readonly ActionEntry[]): GroupView {
  const { name, pending, running, oldestPendingAgeMs, heldBy, opensAt, limits, ...pause } = group;
  const limited = Object.keys(limits).length > 0 ? limitingOf(name, actions) : undefined;
  return {
    name,
    pending,
    running,
    oldestPendingAgeMs,
    pausedAt: pause.pausedAt?.getTime() ?? null,
    pausedUntil: pause.pausedUntil?.getTime() ?? null,
    pausedBy: pause.pausedBy ?? null,
    pauseReason: pause.pauseReason ?? null,
    heldBy,
    isHeld: heldBy !== null,
    opensAt: opensAt?.getTime() ?? null,
    isFull: isFull(group, ofAll),
    limits: groupLimitsInWords(limits),
    limitsSet: limits,
    limitedBy: limited?.by ?? null,
    limitedAt: limited?.at.getTime() ?? null,
  };
}

/** Returns the action that set the limits of a group. Limits that came after a clearing are those of code. */
function limitingOf(name: string, actions: readonly ActionEntry[]): ActionEntry | undefined {
  const last = actions.find(
    ({ action, target }) => ['limit-group', 'clear-group'].includes(action) && target?.id === name,
  );
  return last?.action === 'limit-group' ? last : undefined;
}
