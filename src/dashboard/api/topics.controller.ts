import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import { onSubscription } from '../../queue/actions/noted-action.js';
import { PUBLICATIONS } from '../../queue/model/topic.js';
import type { ListedSubscription } from '../../queue/operate/topics.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/snapshot-feed.js';
import { Permissions } from '../security/permissions.js';
import { ShownQueues } from '../shown-queues.js';
import type { SubscriptionView, TopicsView } from '../views/views.js';
import { queueName, Changes, Reads, Routes, type Call, type ChangeCall, type Outcome } from './route.js';

const noInput = z.object({});
const text = z.string({ error: 'expected text' }).min(1, 'expected text').max(200);
const removeSchema = z.strictObject({
  /** The queue of its jobs. The permission is asked for it, and its action log has the entry. */
  queue: queueName,
  topic: text,
  subscription: text,
});

/** Serves the subscriptions of topics, and ends one whose code is gone. */
@Injectable()
export class TopicsController extends Routes {
  constructor(
    private readonly registry: QueueRegistry,
    private readonly queues: ShownQueues,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/topics', noInput)
  async list(_query: z.output<typeof noInput>, { request }: Call): Promise<TopicsView> {
    const mayShow = (queue: string) => this.queues.mayShow(queue);
    const shown = await this.reads.get('topics', () => this.register().topics.listIn(undefined, mayShow));
    const names = [...new Set(shown.map(({ queue }) => queue))];
    const visible = new Set(await this.permissions.visibleQueues(request, names));
    const seen = shown.filter(({ queue }) => visible.has(queue));
    return { subscriptions: await Promise.all(seen.map((each) => this.viewOf(each, request))) };
  }

  @Changes('api/topics/remove', removeSchema, {
    logs: ({ topic, subscription }) => onSubscription('remove-subscription', { topic, name: subscription }),
  })
  async remove({ topic, subscription }: z.output<typeof removeSchema>, { queue }: ChangeCall): Promise<Outcome> {
    const { topics } = this.register().as(null); // the route writes the log
    const known = (await topics.of(topic)).find(({ name }) => name === subscription);
    if (known?.queue !== queue.name) {
      throw new NotFoundException('There is no such subscription any more.');
    }
    return { done: Number(await topics.remove(topic, subscription)) };
  }

  /** Returns the queue through which the register of topics is read. */
  private register() {
    return this.registry.reference(PUBLICATIONS);
  }

  private async viewOf(listed: ListedSubscription, request: DashboardRequest): Promise<SubscriptionView> {
    const { topic, name, queue, since, isHandled } = listed;
    const canBeRemoved =
      isHandled === false && (await this.permissions.allows('remove-subscription', request, { queue }));
    return { topic, name, queue, since: since.getTime(), isHandled, canBeRemoved };
  }
}
