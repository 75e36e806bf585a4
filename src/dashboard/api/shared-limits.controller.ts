import { Injectable, NotFoundException, ServiceUnavailableException } from '@nestjs/common';
import { z } from 'zod';
import { sharedLimitChangesInWords } from '../../inspect/limits-in-words.js';
import type { QueueSigns } from '../../inspect/queue-signs.js';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import { onSharedLimit } from '../../queue/actions/noted-action.js';
import { type ActionName, permissionsOf } from '../../queue/model/actions.js';
import { pauseOptions } from '../../queue/model/pause.js';
import { limitName, limitNamesOf, sharedLimitChanges } from '../../queue/model/shared-limit.js';
import type { SharedLimit } from '../../queue/operate/shared-limit.js';
import { pauseInWords, pauseOf } from '../actions/pause-of.js';
import { queuesOfLimit } from '../live/shared-limits-view.js';
import { SnapshotFeed } from '../live/snapshot-feed.js';
import type { Need } from '../security/permissions.js';
import { queueName } from './known-queue.js';
import { Changes, Routes } from './route.js';
import type { ChangeCall, Outcome } from './route-runner.js';

const named = {
  /** A queue that names the limit. Its action log has the entry. */
  queue: queueName,
  limit: limitName,
};
const actSchema = z.strictObject({
  ...named,
  action: z.enum(['pause', 'resume'], { error: 'expected pause, resume' }),
  ...pauseOptions.pick({ reason: true, forMs: true }).shape,
});
const setSchema = z.strictObject({
  ...named,
  /** null clears all that was set. */
  limits: sharedLimitChanges.nullable(),
});

type Subject = { queue: string; limit: string };

/** Steers the limits that queues share. A change needs its permission in each of these queues. */
@Injectable()
export class SharedLimitsController extends Routes {
  constructor(
    private readonly feed: SnapshotFeed,
    private readonly queues: QueueRegistry,
  ) {
    super();
  }

  @Changes('api/shared-limits/act', actSchema, {
    needs: ({ action, ...subject }, controller: SharedLimitsController) =>
      controller.needs(`${action}-shared-limit`, subject),
    logs: ({ action, limit, reason, forMs }) =>
      onSharedLimit(`${action}-shared-limit`, limit, pauseInWords({ reason, forMs })),
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
    logs: ({ limit, limits }) =>
      limits
        ? onSharedLimit('shared-limit', limit, sharedLimitChangesInWords(limits))
        : onSharedLimit('clear-shared-limit', limit),
  })
  async set(input: z.output<typeof setSchema>, call: ChangeCall): Promise<Outcome> {
    const limit = await this.limitOf(input, call);
    await (input.limits ? limit.change(input.limits) : limit.clear());
    return { done: 1 };
  }

  /** Returns the permissions for a limit: in each queue whose code names it, also without a live worker. */
  private async needs(action: ActionName, { queue, limit }: Subject): Promise<Need[]> {
    const here = this.queues.all.filter(({ options }) => limitNamesOf(options.limits).includes(limit));
    const queues = new Set([queue, ...here.map(({ name }) => name), ...queuesOfLimit(limit, await this.signs())]);
    const actions = ['view', ...permissionsOf(action)] as const; // a refusal names no queue that is hidden
    return [...queues].flatMap((name) => actions.map((each) => ({ action: each, queue: name })));
  }

  /** @throws NotFoundException if the workers of the queue do not name the limit */
  private async limitOf({ queue, limit }: Subject, call: ChangeCall): Promise<SharedLimit> {
    const signs = (await this.signs()).find((each) => each.queue === queue);
    if (!signs?.sharedLimits?.some(({ name }) => name === limit)) {
      throw new NotFoundException(
        'No live worker of this queue names this limit. The command "shared-limit" steers it without workers.',
      );
    }
    return call.queue.sharedLimit(limit);
  }

  private async signs(): Promise<QueueSigns[]> {
    const { overview } = await this.feed.current();
    if (!overview) {
      throw new ServiceUnavailableException('Redis gives no answer, so the queues of the limit are unknown.');
    }
    return overview.queues.map(({ signs }) => signs);
  }
}
