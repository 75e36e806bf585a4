// Limits as arguments of the scripts.
import { LATE_AFTER_MS, type ResolvedQueueOptions } from '../model/queue-options.js';
import type { AttemptLimits } from '../store/attempt-forms.js';
import {
  ALL_GROUPS_ORDER,
  BOUNDS,
  configuresLimits,
  GROUP_ORDER,
  type GroupChanges,
  type GroupsOptions,
  type LimitChanges,
  type QueueLimits,
  ratesOf,
  type RuntimeLimits,
} from '../model/limits.js';
import { hasValues, type SharedLimitChanges, type SharedLimitValues } from '../model/shared-limit.js';

/** Returns the limits as lua/lib/retention/announced_queue_limits.lua reads them. */
export function limitsText(options: ResolvedQueueOptions): string {
  const limits = {
    completed_history: options.completedHistory,
    failed_history: options.failedHistory,
    cancelled_history: options.cancelledHistory,
    remembered_ids: options.rememberedIds,
    dead_letter_cap: options.deadLetterCap,
    dead_letter_age: options.deadLetterAgeMs,
    result_ttl: options.resultTtlMs,
    cancelled_ttl: options.cancelledTtlMs,
    visibility: options.visibilityMs,
    foreign_visibility: options.foreignVisibilityMs,
    max_payload: options.maxPayloadBytes,
    ...(options.lateAfterMs !== LATE_AFTER_MS && { late_after_ms: options.lateAfterMs }), // each of them costs every claim
  };
  return Object.entries(limits)
    .map(([name, limit]) => `${name}=${limit}`)
    .join(' ');
}

/** Returns the limits of handlers as lua/worker/register.lua reads them: a name, its limits, and so on. */
export function handlerLimitsText(handlers: readonly AttemptLimits[]): string[] {
  return handlers.flatMap(({ name, maxAttempts, maxCrashes }) => [name, `${maxAttempts}:${maxCrashes}`]);
}

/** Encodes limits for lua/group/set.lua: '' for none. */
export function groupArguments(limits: GroupsOptions): string[] {
  return [...runningAndRate(limits), ...GROUP_ORDER.map((name) => String(limits[name] ?? ''))];
}

/** Returns the first of them, which a queue has too. */
function runningAndRate({ maxRunning, rateLimit }: Pick<GroupsOptions, 'maxRunning' | 'rateLimit'>): string[] {
  const { limit, periodMs, burst = 1 } = rateLimit ?? {};
  const rate = limit === undefined ? ['', '', ''] : [limit, periodMs, burst];
  return [maxRunning ?? '', ...rate].map(String);
}

/** Encodes limits for lua/limits/set.lua: '' for none. */
export function runtimeLimitArguments(limits: RuntimeLimits): string[] {
  return [...limitArguments(limits), ...BOUNDS.map((name) => String(limits[name] ?? ''))];
}

/** Encodes changes for lua/limits/set.lua: '=' keeps a limit, '' removes it. */
export function limitChangeArguments({ groups, ...changes }: LimitChanges): string[] {
  return [
    ...changedRunningAndRate(changes),
    ...changedGroupArguments(groups === null ? NO_GROUP_LIMITS : (groups ?? {})),
    ...BOUNDS.map((name) => changed(changes[name])),
  ];
}

/** The changes that remove every limit of all groups. */
const NO_GROUP_LIMITS: GroupChanges = {
  maxRunning: null,
  rateLimit: null,
  ...Object.fromEntries(ALL_GROUPS_ORDER.map((name) => [name, null])),
};

function changedGroupArguments(groups: GroupChanges): string[] {
  return [...changedRunningAndRate(groups), ...ALL_GROUPS_ORDER.map((name) => changed(groups[name]))];
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
function limitArguments({ groups = {}, ...limits }: QueueLimits): string[] {
  const ofGroups = ALL_GROUPS_ORDER.map((name) => String(groups[name] ?? ''));
  return [...runningAndRate(limits), ...runningAndRate(groups), ...ofGroups];
}

/** Returns the limits as lua/worker/register.lua reads them; '' if the worker configures none. */
export function configuredLimits(options: QueueLimits): string {
  return configuresLimits(options) ? JSON.stringify(limitArguments(options)) : '';
}

/** Returns rates of a shared limit as lua/lib/shared_limit/write.lua reads them: each a list of texts. */
function rateTexts(values: Pick<SharedLimitValues, 'rateLimit'>): string[][] {
  return ratesOf(values).map(({ limit, periodMs, burst = 1 }) => [limit, periodMs, burst].map(String));
}

/** Returns the values of a shared limit as lua/shared-limit/declare.lua reads them; '' for none. */
export function sharedLimitText(values: SharedLimitValues): string {
  if (!hasValues(values)) {
    return '';
  }
  return JSON.stringify([String(values.maxRunning ?? ''), rateTexts(values)]);
}

/** Returns the values of a limit as the store of a key takes them. */
export function valuesOfKey(values: SharedLimitValues): string {
  return sharedLimitText(values) || '["",[]]';
}

/** Encodes changes of a shared limit for lua/shared-limit/set.lua: '=' keeps a value, '' and no rates are none. */
export function sharedLimitArguments({ maxRunning, rateLimit }: SharedLimitChanges): string[] {
  const rates = rateLimit === undefined ? '=' : JSON.stringify(rateTexts({ rateLimit: rateLimit ?? [] }));
  return [changed(maxRunning), rates];
}
