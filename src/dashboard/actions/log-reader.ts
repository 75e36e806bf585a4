import { Injectable } from '@nestjs/common';
import { noneIfUnreadable } from '../../inspect/unreadable.js';
import type { ActionFilter } from '../../queue/actions/action-log.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import { ShownQueues } from '../shown-queues.js';
import type { ActionLogEntry } from '../views/views.js';

/** The most entries that one page shows. */
const SHOWN = 200;

/** Reads the action log of one queue, or of all that the viewer may see. */
@Injectable()
export class LogReader {
  constructor(
    private readonly queues: ShownQueues,
    private readonly permissions: Permissions,
  ) {}

  async read(
    request: DashboardRequest,
    queue: string | undefined,
    filter: ActionFilter,
  ): Promise<{ entries: ActionLogEntry[]; isCut: boolean }> {
    const names = queue === undefined ? await this.visibleQueues(request) : [queue];
    const read = await Promise.all(names.map((name) => noneIfUnreadable(name, this.ofQueue(name, filter))));
    const all = read.flat().toSorted((a, b) => b.at - a.at);
    const shown = all.slice(0, SHOWN);
    return { entries: await this.permitted(request, shown), isCut: all.length > SHOWN || shown.length === SHOWN };
  }

  private async visibleQueues(request: DashboardRequest): Promise<string[]> {
    await this.queues.look();
    const names = this.queues.names();
    const seen = await Promise.all(names.map((queue) => this.permissions.allows('view', request, { queue })));
    return names.filter((_, i) => seen[i]);
  }

  private async ofQueue(queue: string, filter: ActionFilter): Promise<ActionLogEntry[]> {
    const entries = await this.queues.get(queue).actionLog.latest({ limit: SHOWN, ...filter });
    return entries.map(({ entryId: _id, at, target = null, ...rest }) => ({
      ...rest,
      at: at.getTime(),
      queue,
      target,
    }));
  }

  /** Leaves out the actions on single jobs, groups, schedules and batches that the request may not see. */
  private async permitted(
    request: DashboardRequest,
    entries: readonly ActionLogEntry[],
  ): Promise<ActionLogEntry[]> {
    const seen = await Promise.all(
      entries.map(async ({ queue, target }) => {
        const subject = target && (target.kind === 'group' ? { group: target.id } : { id: target.id });
        return subject === null || this.permissions.allows('view', request, { queue, ...subject });
      }),
    );
    return entries.filter((_, i) => seen[i]);
  }
}
