import { ActionLog } from '../actions/action-log.js';
import { onSubscription } from '../actions/noted-action.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { jobNameOf, type TopicSubscription } from '../model/topic.js';
import type { ActionAuthor } from '../store/action-entry.js';
import type { QueueAccess } from '../store/queue-store.js';
import { withoutUndefined, groupBy } from '../runtime/collections.js';
import { checkText } from '../validation/names.js';
import { OpenedQueues } from './opened-queues.js';

/** A subscription, and whether a live worker has its handler. */
export interface ListedSubscription extends TopicSubscription {
  /**
   * False if no live worker has its handler: its processes are away, or a deploy has dropped its code. Null if its queue could
   * not be read.
   */
  isHandled: boolean | null;
}

/** A queue, and the author of its actions; see JobAdmin.author. */
type AuthoredQueue = QueueAccess & { author?: ActionAuthor | null };

/**
 * The subscriptions of the topics of a Redis, also of apps that do not run now.
 *
 * @example await jobs.topics.remove('order.paid', 'receipts');
 */
export class Topics {
  /** @param queueOf returns any queue of the same Redis and prefix @internal */
  constructor(private readonly queueOf: () => AuthoredQueue) {}

  /** Returns the subscriptions of a topic, or of all topics, by topic and name. */
  async list(topic?: string): Promise<ListedSubscription[]> {
    return this.listIn(topic, () => true);
  }

  /** Returns those whose queue is wanted. Asks no other queue. @internal */
  async listIn(topic: string | undefined, isWanted: (queue: string) => boolean): Promise<ListedSubscription[]> {
    if (topic !== undefined) checkText('topic', topic);
    const all = (await this.of(topic)).filter(({ queue }) => isWanted(queue));
    const byQueue = [
      ...groupBy(all, ({ prefix, hashTag, queue }) => JSON.stringify([prefix, hashTag, queue])).values(),
    ];
    const listed = await Promise.all(byQueue.map((each) => this.looked(each)));
    return listed.flat().toSorted(byJobName);
  }

  /**
   * Ends a subscription whose code is gone: later publications add no job for it. Its jobs stay in their queue, whose action log
   * has an entry. Returns false if there was none.
   *
   * @throws InvalidOptionError while a live worker handles it, because that would declare it again. Also if its queue cannot be read
   */
  async remove(topic: string, name: string): Promise<boolean> {
    checkText('subscription', name);
    checkText('topic', topic);
    const found = (await this.of(topic)).find((each) => each.name === name);
    const [known] = found ? await this.looked([found]) : [];
    if (known?.isHandled === null) {
      throw new InvalidOptionError(
        `subscription ${show(name)} of topic ${show(topic)}`,
        'one whose queue can be read',
        `queue ${show(known.queue)}, which gave no reply`,
        'A live worker may handle it, and would declare it again. Try again later, or as a user who may read that queue.',
      );
    }
    if (known?.isHandled) {
      throw new InvalidOptionError(
        `subscription ${show(name)} of topic ${show(topic)}`,
        'one that no live worker handles',
        `a worker of queue ${show(known.queue)} that handles it`,
        'Deploy the app without it first. Its next start would declare it again.',
      );
    }
    if (!known) {
      return false;
    }
    const home = this.queueOf();
    const log = new ActionLog({ ...this.placeOf(known).accessTo(known.queue), author: home.author });
    const remove = () => home.exec((calls) => calls.topics.remove({ topic, name }));
    return log.record(onSubscription('remove-subscription', known), remove, { count: Number });
  }

  /** Returns the subscriptions with jobs in a queue that no live worker of it handles. @internal */
  async unhandledIn(queue: QueueAccess): Promise<TopicSubscription[]> {
    const own = (await this.of()).filter((each) => each.queue === queue.name && isAt(each, queue));
    const names = own.map(jobNameOf);
    const idle = own.length > 0 ? await queue.exec((calls) => calls.topics.unhandled({ names })) : [];
    return own.filter((each) => idle.includes(jobNameOf(each)));
  }

  /** Returns the subscriptions of a topic, or of all, without a look at workers. @internal */
  async of(topic?: string): Promise<TopicSubscription[]> {
    const found = await this.queueOf().exec((calls) => calls.topics.list({ topic }));
    return found.toSorted(byJobName);
  }

  /** Returns subscriptions of one queue, and whether live workers have their handlers. */
  private async looked(ofQueue: readonly TopicSubscription[]): Promise<ListedSubscription[]> {
    const [first] = ofQueue;
    const names = ofQueue.map(jobNameOf);
    try {
      const unhandled = await this.placeOf(first!).run(first!.queue, (calls) => calls.topics.unhandled({ names }));
      return ofQueue.map((each) => ({ ...each, isHandled: !unhandled.includes(jobNameOf(each)) }));
    } catch {
      return ofQueue.map((each) => ({ ...each, isHandled: null }));
    }
  }

  /** Returns the queues that have the keys of a subscription's queue. */
  private placeOf({ prefix, hashTag }: TopicSubscription): OpenedQueues {
    const home = this.queueOf();
    return new OpenedQueues(home, home.callLimit, withoutUndefined({ prefix, hashTag }));
  }
}

function byJobName(a: TopicSubscription, b: TopicSubscription): number {
  return jobNameOf(a) < jobNameOf(b) ? -1 : 1;
}

/** Returns whether a queue has the keys of a subscription's queue, as far as its declaration says. */
export function isAt({ prefix, hashTag }: TopicSubscription, { options, store }: QueueAccess): boolean {
  const isTagged = options.hashTag ?? store.isSharded;
  return (prefix ?? options.prefix) === options.prefix && (hashTag ?? isTagged) === isTagged;
}
