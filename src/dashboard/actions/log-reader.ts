import { Injectable } from '@nestjs/common';
import type { QueueVerdict } from '../../inspect/queue-signs.js';
import type { ActionFilter } from '../../queue/actions/action-log.js';
import { deedsOf } from '../../inspect/join-shards.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { wholeOfShard } from '../../queue/model/spread.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { ActionTarget } from '../../queue/store/action-entry.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { gatherVisible } from '../security/first-visible.js';
import { Permissions } from '../security/permissions.js';
import { ShownQueues } from '../shown-queues.js';
import type { ActionLogEntry, LogView } from '../views/log-view.js';

/** The most entries that one page shows. */
const SHOWN = 200;

/** What was read of the logs, before its verdicts are views. */
type ReadLog = Omit<LogView, 'unreadable'> & { unreadable: QueueVerdict[] };

/** Reads the action log of one queue, or of all that the viewer may see. */
@Injectable()
export class LogReader {
  constructor(
    private readonly queues: ShownQueues,
    private readonly permissions: Permissions,
  ) {}

  async read(request: DashboardRequest, queue: string | undefined, filter: ActionFilter): Promise<ReadLog> {
    const names = queue === undefined ? await this.visibleQueues(request) : [queue];
    const { found, unreadable } = await gatherVisible(this.queues, names, SHOWN, {
      read: (each, limit) => this.ofQueue(each, { ...filter, limit }),
      visible: (entries) => this.permitted(request, entries),
    });
    const entries = joinShards(found)
      .toSorted((a, b) => b.at - a.at)
      .slice(0, SHOWN);
    return { entries, isCut: entries.length === SHOWN, unreadable };
  }

  private async visibleQueues(request: DashboardRequest): Promise<string[]> {
    await this.queues.look();
    return this.permissions.visibleQueues(request, this.queues.names());
  }

  private async ofQueue(
    { name, actionLog }: JobQueue,
    filter: ActionFilter & { limit: number },
  ): Promise<ActionLogEntry[]> {
    const entries = await actionLog.latest(filter);
    return entries.map(({ entryId: _id, at, target = null, other = null, ...rest }) => ({
      ...rest,
      at: at.getTime(),
      queue: name,
      target,
      other,
    }));
  }

  /** Leaves out the actions on single objects that the request may not see, and the second objects of others. */
  private async permitted(
    request: DashboardRequest,
    entries: readonly ActionLogEntry[],
  ): Promise<ActionLogEntry[]> {
    const sees = async (queue: string, target: ActionTarget | null) => {
      const subject = target && (target.kind === 'group' ? { group: target.id } : { id: target.id });
      return subject === null || this.permissions.allows('view', request, { queue, ...subject });
    };
    const shown = await Promise.all(
      entries.map(async (entry) => {
        const { queue, target, other } = entry;
        return (await sees(queue, target)) ? [{ ...entry, other: (await sees(queue, other)) ? other : null }] : [];
      }),
    );
    return shown.flat();
  }
}

/** Joins the entries of an action on several shards of a queue. The joined entry has the name of the queue. */
function joinShards(entries: readonly ActionLogEntry[]): ActionLogEntry[] {
  return [...groupBy(entries, ({ queue }) => wholeOfShard(queue))].flatMap(([whole, own]) => {
    const shards = [...groupBy(own, ({ queue }) => queue).values()];
    return deedsOf(shards).map(({ entry, shards: { length } }) =>
      length > 1 ? { ...entry, queue: whole } : entry,
    );
  });
}
