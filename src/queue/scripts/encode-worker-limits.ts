// The limits that a worker announces, as arguments of the scripts.
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { LimitChanges, QueueLimits, RuntimeLimits } from '../model/limits.js';
import { groupArguments, runningAndRate } from '../store/group-arguments.js';

/** Returns the limits as lua/lib/retention/announced_queue_limits.lua reads them. */
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

/** Encodes limits for lua/limits/set.lua: '' for none. */
export function runtimeLimitArguments({ maxPending, maxPendingBytes, ...limits }: RuntimeLimits): string[] {
  return [...limitArguments(limits), String(maxPending ?? ''), String(maxPendingBytes ?? '')];
}

const LIMIT_OF_ARGUMENT: readonly (keyof RuntimeLimits)[] = [
  'maxRunning',
  ...Array.from({ length: 3 }, () => 'rateLimit' as const),
  ...Array.from({ length: 9 }, () => 'groups' as const),
  'maxPending',
  'maxPendingBytes',
];

/** Returns changes as lua/limits/set.lua takes them: '=' for what stays. */
export function limitChangeArguments(changes: LimitChanges): string[] {
  const given = Object.entries(changes).filter(([, value]) => value !== null && value !== undefined);
  const values = runtimeLimitArguments(Object.fromEntries(given));
  return values.map((value, i) => (changes[LIMIT_OF_ARGUMENT[i]!] === undefined ? '=' : value));
}

/** Returns the limits as lua/worker/register.lua passes them on: '' for none. */
function limitArguments({ maxRunning, rateLimit, groups = {} }: QueueLimits): string[] {
  return [
    ...runningAndRate(maxRunning, rateLimit),
    ...groupArguments(groups).slice(0, -1),
    String(groups.ungroupedWeight ?? ''),
    String(groups.maxPendingBytes ?? ''),
  ];
}

/** Returns the limits as lua/worker/register.lua reads them; '' if the worker configures none. */
export function configuredLimits(options: QueueLimits): string {
  const configures = [options.maxRunning, options.rateLimit, options.groups].some((limit) => limit !== undefined);
  return configures ? JSON.stringify(limitArguments(options)) : '';
}
