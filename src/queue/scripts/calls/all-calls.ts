import { attemptsByHand, type ResolvedQueueOptions } from '../../model/queue-options.js';
import type { StoreCalls } from '../../store/store-calls.js';
import { EVICTED_TTL_MS } from '../../runtime/lifetimes.js';
import type { QueueKeys } from '../queue-keys.js';
import type { CallContext } from '../script-call.js';
import { JOB } from '../../verbs/job.js';
import { callsOf } from '../../verbs/verb.js';
import { alertCalls } from './alert-calls.js';
import { attemptCalls } from './attempt-calls.js';
import { actionCalls } from './trails/action-calls.js';
import { auditCalls } from './trails/audit-calls.js';
import { outcomeCalls } from './trails/outcome-calls.js';
import { batchCalls } from './batch-calls.js';
import { deadLetterCalls } from './dead-letter-calls.js';
import { doctorCalls } from './doctor-calls.js';
import { groupCalls } from './group-calls.js';
import { historyCalls } from './history-calls.js';
import { limitsCalls } from './limits-calls.js';
import { onceCalls } from './once-calls.js';
import { queueCalls } from './queue-calls.js';
import { scheduleCalls } from './schedule-calls.js';
import { sweepCalls } from './sweep-calls.js';
import { workerCalls } from './worker-calls.js';

/** The calls of one queue on Redis. */
export type QueueCalls = ReturnType<typeof allCalls>;

/**
 * Returns the calls of `lua/`, each named as its script. The scripts of jobs, attempts and the queue are methods here.
 * Each other folder is a property. Nothing else knows the order of KEYS and ARGV or the form of a reply. The header of
 * each script has its contract.
 */
export function allCalls(keys: QueueKeys, options: ResolvedQueueOptions) {
  const context = contextOf(keys, options);
  return {
    key: keys.jobPrefix,
    keys,
    options,
    retention: context.retention,
    announced: context.announced,
    ...callsOf(JOB, context),
    ...attemptCalls(context),
    ...queueCalls(context),
    ...outcomeCalls(context),
    sweep: sweepCalls(context),
    workers: workerCalls(context),
    limits: limitsCalls(context),
    deadLetters: deadLetterCalls(context),
    schedules: scheduleCalls(context),
    batches: batchCalls(context),
    groups: groupCalls(context),
    once: onceCalls(context),
    history: historyCalls(context),
    audit: auditCalls(context),
    actions: actionCalls(context),
    alerts: alertCalls(context),
    doctor: doctorCalls(context),
  } satisfies StoreCalls & Pick<CallContext, 'keys' | 'options' | 'retention'> & { doctor: object };
}

/** Returns the data that the calls of a queue share. */
export function contextOf(keys: QueueKeys, options: ResolvedQueueOptions): CallContext {
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
