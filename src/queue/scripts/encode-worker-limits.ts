// The limits that a worker announces, as arguments of the scripts.
import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { GroupChanges, LimitChanges, QueueLimits, RuntimeLimits } from '../model/limits.js';
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

/** Encodes changes for lua/limits/set.lua: '=' keeps a limit, '' removes it. */
export function limitChangeArguments({ groups, ...changes }: LimitChanges): string[] {
  return [
    ...changedRunningAndRate(changes),
    ...changedGroupArguments(groups === null ? NO_GROUP_LIMITS : (groups ?? {})),
    changed(changes.maxPending),
    changed(changes.maxPendingBytes),
  ];
}

/** The changes that remove every limit of all groups. */
const NO_GROUP_LIMITS: Required<GroupChanges> = {
  maxRunning: null,
  rateLimit: null,
  weight: null,
  maxPending: null,
  onDeadHead: null,
  ungroupedWeight: null,
  maxPendingBytes: null,
};

function changedGroupArguments(groups: GroupChanges): string[] {
  const { weight, maxPending, onDeadHead, ungroupedWeight, maxPendingBytes } = groups;
  return [
    ...changedRunningAndRate(groups),
    ...[weight, maxPending, onDeadHead, ungroupedWeight, maxPendingBytes].map(changed),
  ];
}

function changedRunningAndRate({
  maxRunning,
  rateLimit,
}: Pick<GroupChanges, 'maxRunning' | 'rateLimit'>): string[] {
  const { limit, periodMs, burst } = rateLimit ?? {};
  const rate = [limit, periodMs, burst].map((part) => (rateLimit === null ? '' : changed(part)));
  return [changed(maxRunning), ...rate];
}

function changed(value: string | number | null | undefined): string {
  return value === undefined ? '=' : String(value ?? '');
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

/** Returns whether a worker with these options configures limits for the fleet. */
export function configuresLimits({ maxRunning, rateLimit, groups }: QueueLimits): boolean {
  return maxRunning !== undefined || rateLimit !== undefined || groups !== undefined;
}

/** Returns the limits as lua/worker/register.lua reads them; '' if the worker configures none. */
export function configuredLimits(options: QueueLimits): string {
  return configuresLimits(options) ? JSON.stringify(limitArguments(options)) : '';
}
