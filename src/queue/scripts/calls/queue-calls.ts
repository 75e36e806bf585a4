import type { ResolvedQueueOptions } from '../../model/queue-options.js';
import type { StoreCalls } from '../../store/store-calls.js';
import { EVICTED_TTL_MS } from '../lifetimes.js';
import { publishArg } from '../publish-arg.js';
import type { QueueKeys } from '../queue-keys.js';
import type { CallContext } from '../script-call.js';
import { adminCalls } from './admin-calls.js';
import { attemptCalls } from './attempt-calls.js';
import { AuditCalls } from './audit-calls.js';
import { BatchCalls } from './batch-calls.js';
import { DeadLetterCalls } from './dead-letter-calls.js';
import { GroupCalls } from './group-calls.js';
import { HistoryCalls } from './history-calls.js';
import { jobCalls } from './job-calls.js';
import { limitCalls } from './limit-calls.js';
import { ScheduleCalls } from './schedule-calls.js';
import { sweepCalls } from './sweep-calls.js';
import { workerCalls } from './worker-calls.js';

/** The calls of one queue on Redis. */
export type QueueCalls = ReturnType<typeof queueCalls>;

/**
 * Returns the calls of `lua/`, one verb for each script. Nothing else knows the order of KEYS and ARGV or the form of a
 * reply. The header of each script has its contract.
 */
export function queueCalls(keys: QueueKeys, options: ResolvedQueueOptions) {
  const retention = retentionOf(options);
  const context: CallContext = { keys, options, retention };
  return {
    key: keys.jobPrefix,
    keys,
    options,
    retention,
    ...jobCalls(context),
    ...attemptCalls(context),
    ...sweepCalls(context),
    ...adminCalls(context),
    ...workerCalls(context),
    ...limitCalls(context),
    deadLetters: new DeadLetterCalls(keys),
    schedules: new ScheduleCalls(keys),
    batches: new BatchCalls(keys, retention),
    history: new HistoryCalls(keys),
    audit: new AuditCalls(keys),
    groups: new GroupCalls(keys),
  } satisfies StoreCalls & CallContext;
}

/** Returns the first arguments of each script that ends jobs; see lua/lib/retention/retention_args.lua. */
function retentionOf(options: ResolvedQueueOptions): CallContext['retention'] {
  return [
    options.failedHistory,
    options.cancelledHistory,
    options.deadLetterCap,
    options.resultTtlMs,
    options.cancelledTtlMs,
    EVICTED_TTL_MS,
    publishArg(options),
    options.maxAttempts,
    options.maxCrashes,
  ];
}
