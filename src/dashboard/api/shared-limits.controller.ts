import { Injectable, NotFoundException, ServiceUnavailableException } from '@nestjs/common';
import { z } from 'zod';
import { sharedLimitChangesInWords } from '../../inspect/limits-in-words.js';
import type { QueueSigns } from '../../inspect/queue-signs.js';
import { inTime } from '../../inspect/unreadable.js';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import { limitInLog, onSharedLimit } from '../../queue/actions/noted-action.js';
import { type ActionName, permissionsOf } from '../../queue/model/actions.js';
import { groupName } from '../../queue/model/group.js';
import { pauseOptions } from '../../queue/model/pause.js';
import {
  limitName,
  limitNamesOf,
  sharedLimitChanges,
  type SharedLimitState,
} from '../../queue/model/shared-limit.js';
import type { SharedLimit } from '../../queue/operate/shared-limit.js';
import { pauseInWords, pauseOf } from '../actions/job-actions.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { queuesOfLimit, sharedKeyView } from '../live/shared-limits-view.js';
import { SharedReads, SnapshotFeed } from '../live/snapshot-feed.js';
import { type Need, Permissions } from '../security/permissions.js';
import type { SharedKeysView } from '../views/views.js';
import { queueName, Changes, Reads, Routes, type ChangeCall, type Outcome, type QueueCall } from './route.js';

const named = {
  /** A queue that names the limit. Its action log has the entry. */
  queue: queueName,
  limit: limitName,
};
/** One key of the limit, or the limit itself. */
const ofKey = { key: groupName.optional() };
const keysSchema = z.object(named);
const actSchema = z.strictObject({
  ...named,
  ...ofKey,
  action: z.enum(['pause', 'resume'], { error: 'expected pause, resume' }),
  ...pauseOptions.pick({ reason: true, forMs: true }).shape,
});
const setSchema = z.strictObject({
  ...named,
  ...ofKey,
  /** null clears all that was set. */
  limits: sharedLimitChanges.nullable(),
});

type Subject = { queue: string; limit: string; key?: string | undefined };

/** The most keys of a limit that are shown. */
const SHOWN_KEYS = 50;

/** Shows the keys of limits that queues share, and steers both. A change needs its permission in each of these queues. */
@Injectable()
export class SharedLimitsController extends Routes {
  constructor(
    private readonly feed: SnapshotFeed,
    private readonly queues: QueueRegistry,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  /** Returns the keys that the viewer may see: those of groups that are visible in each queue of the limit. */
  @Reads('api/shared-limits/keys', keysSchema)
  async keys({ limit }: z.output<typeof keysSchema>, { queue, request }: QueueCall): Promise<SharedKeysView> {
    const signs = await this.signs();
    const state = stateOf(limit, queue.name, signs);
    const { keys = [], maxRunning, rateLimit } = state ?? {};
    const queues = this.queuesOf({ queue: queue.name, limit }, signs);
    const areSeen = await Promise.all(keys.map((group) => this.seesGroup(request, queues, group)));
    const seen = keys.filter((_, i) => areSeen[i]);
    const shown = seen.slice(0, SHOWN_KEYS);
    // As configured, so that `set` says what was set for the key itself.
    const ofLimit = { source: 'configuration' as const, maxRunning, rateLimit: rateLimit ?? [] };
    const read = await this.reads.get(`shared-keys ${JSON.stringify([queue.name, limit, shown])}`, () =>
      Promise.allSettled(shown.map((key) => inTime(queue, queue.sharedLimit(limit).key(key).getUnder(ofLimit)))),
    );
    const states = read.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const [first] = read;
    if (first?.status === 'rejected' && states.length === 0) {
      throw first.reason;
    }
    return {
      keys: states.map(sharedKeyView),
      unread: shown.filter((_, i) => read[i]!.status === 'rejected'),
      hasMore: seen.length > SHOWN_KEYS,
    };
  }

  @Changes('api/shared-limits/act', actSchema, {
    needs: ({ action, ...subject }, controller: SharedLimitsController) =>
      controller.needs(`${action}-shared-limit`, subject),
    logs: ({ action, limit, key, reason, forMs }) =>
      onSharedLimit(`${action}-shared-limit`, limitInLog(limit, key), pauseInWords({ reason, forMs })),
  })
  async act(input: z.output<typeof actSchema>, call: ChangeCall): Promise<Outcome> {
    const limit = await this.limitOf(input, call);
    const { action, reason, forMs } = input;
    const isChanged = await (action === 'pause'
      ? limit.pause(pauseOf(call.user, { reason, forMs }))
      : limit.resume());
    return { done: Number(isChanged) };
  }

  @Changes('api/shared-limits/set', setSchema, {
    needs: (subject, controller: SharedLimitsController) => controller.needs('shared-limit', subject),
    logs: ({ limit, key, limits }) =>
      limits
        ? onSharedLimit('shared-limit', limitInLog(limit, key), sharedLimitChangesInWords(limits))
        : onSharedLimit('clear-shared-limit', limitInLog(limit, key)),
  })
  async set(input: z.output<typeof setSchema>, call: ChangeCall): Promise<Outcome> {
    const limit = await this.limitOf(input, call);
    await (input.limits ? limit.change(input.limits) : limit.clear());
    return { done: 1 };
  }

  /** Returns the permissions for a limit: in each queue whose code names it, also without a live worker. */
  private async needs(action: ActionName, { key, ...subject }: Subject): Promise<Need[]> {
    const queues = this.queuesOf(subject, await this.signs());
    const actions = ['view', ...permissionsOf(action)] as const; // a refusal names no queue that is hidden
    const ofGroup = key === undefined ? {} : { group: key };
    return queues.flatMap((name) => actions.map((each) => ({ action: each, queue: name, ...ofGroup })));
  }

  private queuesOf({ queue, limit }: Subject, signs: readonly QueueSigns[]): string[] {
    const here = this.queues.all.filter(({ options }) => limitNamesOf(options.limits).includes(limit));
    return [...new Set([queue, ...here.map(({ name }) => name), ...queuesOfLimit(limit, signs)])];
  }

  private async seesGroup(request: DashboardRequest, queues: readonly string[], group: string): Promise<boolean> {
    const seen = await this.permissions.visibleQueues(request, queues, { group });
    return seen.length === queues.length;
  }

  /** @throws NotFoundException if the workers of the queue do not name the limit */
  private async limitOf({ queue, limit, key }: Subject, call: ChangeCall): Promise<SharedLimit> {
    if (!stateOf(limit, queue, await this.signs())) {
      throw new NotFoundException(
        'No live worker of this queue names this limit. The command "shared-limit" steers it without workers.',
      );
    }
    const whole = call.queue.sharedLimit(limit);
    return key === undefined ? whole : whole.key(key);
  }

  private async signs(): Promise<QueueSigns[]> {
    const { overview } = await this.feed.current();
    if (!overview) {
      throw new ServiceUnavailableException('Redis gives no answer, so the queues of the limit are unknown.');
    }
    return overview.queues.map(({ signs }) => signs);
  }
}

/** Returns a limit that workers of a queue name; undefined if none does. */
function stateOf(limit: string, queue: string, signs: readonly QueueSigns[]): SharedLimitState | undefined {
  const ofQueue = signs.find((each) => each.queue === queue);
  return ofQueue?.sharedLimits?.find(({ name }) => name === limit);
}
