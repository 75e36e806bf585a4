// What a worker announces of its limits, as text that the scripts read.
import type { QueueLimits, ResolvedQueueOptions } from '../model/queue-options.js';

/** As lua/lib/retention/announced_queue_limits.lua reads it. */
export function limitsText(options: ResolvedQueueOptions): string {
  const limits = {
    completed_history: options.completedHistory,
    failed_history: options.failedHistory,
    cancelled_history: options.cancelledHistory,
    dead_letter_cap: options.deadLetterCap,
    dead_letter_age: options.deadLetterAgeMs,
    result_ttl: options.resultTtlMs,
    cancelled_ttl: options.cancelledTtlMs,
    visibility: options.visibilityMs,
    foreign_visibility: options.foreignVisibilityMs,
  };
  return Object.entries(limits)
    .map(([name, limit]) => `${name}=${limit}`)
    .join(' ');
}

/** As lua/queue/set-limits.lua takes them: '' where there is none. */
export function limitArguments({ maxRunning, rateLimit }: QueueLimits): string[] {
  const { limit, periodMs, burst = 1 } = rateLimit ?? {};
  const rate = limit === undefined ? ['', '', ''] : [limit, periodMs, burst];
  return [maxRunning ?? '', ...rate].map(String);
}

/** As lua/queue/register-worker.lua reads them; '' where the worker configures none. */
export function configuredLimits(options: QueueLimits): string {
  const configures = options.maxRunning !== undefined || options.rateLimit !== undefined;
  return configures ? JSON.stringify(limitArguments(options)) : '';
}
