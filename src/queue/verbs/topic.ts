// The verbs of topics: the scripts of lua/topic. Their key is the register of topics, which is of no queue.
import { parseJson } from '../codec/stored-value.js';
import type { TopicSubscription } from '../model/topic.js';
import { show } from '../errors/show.js';
import { MOST_SHARDS } from '../model/spread.js';
import { flagOf, listOf, rowsOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { UnexpectedReply } from '../store/store-call.js';
import { each, fields, flag, number, optional, own, text, verb } from './verb.js';

const register = (keys: QueueKeys) => [keys.topics];

export const TOPICS = {
  /**
   * Adds subscriptions to the register. With `keepsKnown` a known subscription keeps its queue. Returns each subscription whose
   * queue has changed, with the queue before.
   */
  declare: verb('topicDeclare', {
    keys: register,
    args: {
      keepsKnown: optional(flag, '0'),
      subscriptions: each(
        fields({
          topic: text,
          name: text,
          queue: text,
          prefix: optional(text),
          hashTag: optional(flag),
          shards: optional(number),
        }),
      ),
    },
    repeat: 'same',
    reply: (reply, { subscriptions }) =>
      rowsOf(listOf(reply), 2).map(([place, before]) => ({
        ...subscriptions[wholeNumberOf(place) - 1]!,
        before: textOf(before),
      })),
  }),

  /** Returns the subscriptions of a topic, or of all topics. */
  list: verb('topicList', {
    keys: register,
    args: { topic: optional(text) },
    reply: (reply) => rowsOf(listOf(reply), 2).flatMap(([topic, stored]) => decode(topic!, stored!)),
  }),

  /** Ends a subscription. Returns whether there was one. */
  remove: verb('topicRemove', {
    keys: register,
    args: { topic: text, name: text },
    reply: flagOf,
  }),

  /** Returns which of these names have no handler of their own in a live worker of the queue. */
  unhandled: verb('topicUnhandled', {
    keys: ({ names }) => [names],
    args: { seenMs: own(() => WORKER_SEEN_MS), names: each(text) },
    reply: (reply, { names }) => listOf(reply).map((index) => names[wholeNumberOf(index) - 1]!),
  }),
};

/** @throws UnexpectedReply for a value that another program wrote. A publication must not take it for no subscription. */
function decode(topic: string, stored: string): TopicSubscription[] {
  const { value } = parseJson(stored);
  if (typeof value !== 'object' || value === null) {
    const remedy = 'restart its apps, which declare them again';
    throw new UnexpectedReply(`the subscriptions of topic ${show(topic)} as JSON (${remedy})`, stored);
  }
  return Object.entries(
    value as Record<string, { queue: string; since: string; prefix?: unknown; tagged?: unknown; shards?: unknown }>,
  ).map(([name, { queue, since, prefix, tagged, shards }]) => ({
    topic,
    name,
    queue: textOf(queue),
    since: new Date(Number(since)),
    ...(typeof prefix === 'string' && { prefix }),
    ...(typeof tagged === 'string' && { hashTag: tagged === '1' }),
    ...(shards !== undefined && { shards: shardsOf(shards) }),
  }));
}

/** @throws UnexpectedReply for a number that no queue has: a publication would make as many names */
function shardsOf(stored: unknown): number {
  const shards = wholeNumberOf(stored);
  if (shards < 1 || shards > MOST_SHARDS) {
    throw new UnexpectedReply(`1 to ${MOST_SHARDS} shards`, stored);
  }
  return shards;
}
