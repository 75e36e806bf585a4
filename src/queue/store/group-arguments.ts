import type { GroupsOptions, RateLimit } from '../model/limits.js';

/** Encodes limits for lua/group/set.lua: '' for none. */
export function groupArguments(limits: GroupsOptions): string[] {
  const { maxRunning, rateLimit, weight, maxPending, onDeadHead, maxPendingBytes } = limits;
  return [
    ...runningAndRate(maxRunning, rateLimit),
    ...[weight, maxPending, onDeadHead, maxPendingBytes].map((value) => String(value ?? '')),
  ];
}

/** Returns the first of them, which a queue has too. */
export function runningAndRate(maxRunning: number | undefined, rateLimit: RateLimit | undefined): string[] {
  const { limit, periodMs, burst = 1 } = rateLimit ?? {};
  const rate = limit === undefined ? ['', '', ''] : [limit, periodMs, burst];
  return [maxRunning ?? '', ...rate].map(String);
}
