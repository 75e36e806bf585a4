import { z } from 'zod';
import type { Logged } from '../actions/action-log.js';
import { inWords, onTarget } from '../actions/noted-action.js';
import { LARGEST_PAGE, YEAR_MS } from '../runtime/bounds.js';
import { InvalidOptionError } from '../errors/errors.js';
import { groupName, type GroupStats } from '../model/group.js';
import { pauseOptions, type PauseOptions } from '../model/pause.js';
import { show } from '../errors/show.js';
import { groupLimitFields, withNames, type GroupLimits } from '../model/limits.js';
import { checkCount, checkKnown, checkMs, checkOptions } from '../validation/validate-options.js';
import { tryToDeliver } from './maintain-batches.js';
import type { ChangedQueue, QueueAccess } from '../store/queue-store.js';
import type { CleanOptions } from './clean.js';

/** The most jobs that one call of the script looks at. */
const SLICE = 500;

const limitsSchema = z.strictObject(...withNames(groupLimitFields));

/** The groups of a list. */
export interface GroupListOptions {
  /** `depth`: the most waiting jobs first. `age`: the longest wait first, only groups with waiting jobs. @default `depth` */
  by?: 'depth' | 'age' | undefined;
  /** The number of groups to skip. @default 0 */
  offset?: number | undefined;
  /** At most 1,000. @default 50 */
  limit?: number | undefined;
}

/**
 * The groups of a queue: which have jobs, and the limits of single groups. All changes apply to the whole fleet at
 * once.
 *
 * @example
 * await queue.enqueue({ to: 'ada@example.com' }, { group: 'tenant-42' });
 * await queue.groups.set('tenant-42', { weight: 3, maxRunning: 5 });
 * const [deepest] = await queue.groups.list({ limit: 1 });
 */
export class Groups {
  /** @internal */
  constructor(private readonly queue: ChangedQueue & Logged & QueueAccess) {}

  /**
   * Returns one page of the groups that have waiting or running jobs.
   *
   * @throws InvalidOptionError
   */
  async list(options: GroupListOptions = {}): Promise<GroupStats[]> {
    checkKnown('groups.list', options, ['by', 'offset', 'limit']);
    const { by = 'depth', offset = 0, limit = 50 } = options;
    if (by !== 'depth' && by !== 'age') {
      throw new InvalidOptionError('groups.list by', "'depth' or 'age'", show(by));
    }
    checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
    checkCount('limit', limit, 1, LARGEST_PAGE);
    return this.queue.exec((calls) => calls.groups.list({ by, offset, limit }));
  }

  /** Returns one group, also one without jobs. @throws InvalidOptionError */
  async get(name: string): Promise<GroupStats> {
    const checked = checkGroup(name);
    const [group] = await this.queue.exec((calls) => calls.groups.named({ names: [checked] }));
    return group!;
  }

  /**
   * Sets limits for one group. They take precedence over the queue's `groups` until `clear`, also across deploys.
   * Limits left out are those of all groups. Ends no running job.
   *
   * @throws InvalidOptionError
   * @example await queue.groups.set('tenant-42', { maxRunning: 1, onDeadHead: 'hold' });
   */
  async set(name: string, limits: GroupLimits): Promise<void> {
    const checked = checkOptions('group limits', limitsSchema, limits);
    const group = checkGroup(name);
    const action = onTarget('limit-group', 'group', group, inWords(checked) || 'none');
    await this.queue.actionLog.record(action, () =>
      this.queue.exec((calls) => calls.groups.set({ name: group, limits: checked })),
    );
    await this.queue.afterChange?.('groups');
  }

  /** Clears a group's own limits, and ends its rest and its hold. A pause stays. @throws InvalidOptionError */
  async clear(name: string): Promise<void> {
    const group = checkGroup(name);
    await this.queue.actionLog.record(onTarget('clear-group', 'group', group), () =>
      this.queue.exec((calls) => calls.groups.clear({ name: group })),
    );
  }

  /**
   * Pauses one group: it takes jobs in and starts none. Returns false if it was already paused, and keeps the first
   * pause's author, reason and end. With `forMs` it lengthens a pause that has an end, and then returns true.
   *
   * @throws InvalidOptionError
   * @example await queue.groups.pause('tenant-42', { by: 'ada', reason: 'a leak', forMs: 3_600_000 });
   */
  async pause(name: string, options: PauseOptions = {}): Promise<boolean> {
    const group = checkGroup(name);
    const checked = checkOptions('groups.pause', pauseOptions, options);
    const { forMs } = checked;
    const hasChanged = await this.queue.actionLog.record(
      onTarget('pause-group', 'group', group, inWords(checked)),
      async () => {
        const isNew = await this.queue.exec((calls) => calls.groups.pause({ name: group, ...checked }));
        return isNew || (forMs !== undefined && (await this.extendPause(group, forMs)));
      },
      { count: Number },
    );
    await this.queue.afterChange?.('groups');
    return hasChanged;
  }

  /** Gives a pause that has an end a later one. */
  private async extendPause(group: string, forMs: number): Promise<boolean> {
    const { pausedUntil } = await this.get(group);
    return (
      pausedUntil !== undefined &&
      this.queue.exec((calls) =>
        calls.groups.extendPause({ name: group, knownEndMs: pausedUntil.getTime(), forMs }),
      )
    );
  }

  /** Ends the pause of a group. Returns false when it was not paused. @throws InvalidOptionError */
  async resume(name: string): Promise<boolean> {
    const group = checkGroup(name);
    const action = onTarget('resume-group', 'group', group);
    return this.queue.actionLog.record(
      action,
      () => this.queue.exec((calls) => calls.groups.resume({ name: group })),
      {
        count: Number,
      },
    );
  }

  /**
   * Deletes the waiting jobs of a group, in bounded slices. Scheduled jobs stay.
   *
   * @param options.olderThanMs the minimum age since it became claimable, in ms. Default 0: all
   * @param options.limit the most jobs to delete. Default: all that are old enough
   * @returns how many were deleted
   * @throws InvalidOptionError
   */
  async clean(name: string, options: CleanOptions = {}): Promise<number> {
    const group = checkGroup(name);
    checkKnown('groups.clean', options, ['olderThanMs', 'limit']);
    const { olderThanMs = 0, limit = Number.MAX_SAFE_INTEGER } = options;
    checkMs('olderThanMs', olderThanMs, 0, YEAR_MS);
    checkCount('limit', limit, 1, Number.MAX_SAFE_INTEGER);
    const action = onTarget('clean-group', 'group', group, inWords(options));
    return this.queue.actionLog.record(action, () => this.cleanSlices(group, olderThanMs, limit), {
      count: Number,
    });
  }

  private async cleanSlices(group: string, olderThanMs: number, limit: number): Promise<number> {
    let total = 0;
    for (let next: number | undefined = 0; next !== undefined && total < limit;) {
      const most = Math.min(SLICE, limit - total);
      const passed: number = next;
      const reply = await this.queue.exec((calls) =>
        calls.groups.clean({ name: group, olderThanMs, limit: most, passed }),
      );
      total += reply.deleted;
      next = reply.next;
    }
    if (total > 0) {
      await tryToDeliver(this.queue); // a batch of them may have fired
    }
    return total;
  }
}

function checkGroup(name: string): string {
  return checkOptions('group', groupName, name);
}
