import { attemptsByHand, type ResolvedQueueOptions } from '../model/queue-options.js';
import { EVICTED_TTL_MS } from '../runtime/lifetimes.js';
import { VERBS } from '../verbs/table.js';
import { callsOf } from '../verbs/verb.js';
import type { QueueKeys } from './queue-keys.js';
import type { CallContext } from './script-call.js';

/** The calls of one queue on Redis. */
export type QueueCalls = ReturnType<typeof allCalls>;

/**
 * Returns the calls of the table of verbs, each named as its script. The scripts of jobs, attempts and the queue are methods
 * here. Each other folder of lua is a property.
 */
export function allCalls(keys: QueueKeys, options: ResolvedQueueOptions) {
  const context = contextOf(keys, options);
  const { retention, announced } = context;
  return { key: keys.jobPrefix, keys, options, retention, announced, ...callsOf(VERBS, context) };
}

/** Returns the data that the calls of a queue share. */
function contextOf(keys: QueueKeys, options: ResolvedQueueOptions): CallContext {
  const { events, eventExtras } = options;
  const published = eventExtras?.results && events !== 'off' ? `${events}+results` : events;
  const enqueuesPublished = eventExtras?.enqueued ? events : 'off';
  return { keys, options, published, enqueuesPublished, announced: {}, retention: retentionOf(options, published) };
}

/** Returns the first arguments of each script that ends jobs; see lua/lib/retention/retention_args.lua. */
function retentionOf(options: ResolvedQueueOptions, published: string): CallContext['retention'] {
  return [
    options.failedHistory,
    options.cancelledHistory,
    options.deadLetterCap,
    options.resultTtlMs,
    options.cancelledTtlMs,
    EVICTED_TTL_MS,
    published,
    attemptsByHand(options),
    options.maxCrashes,
    options.rememberedIds,
  ];
}
