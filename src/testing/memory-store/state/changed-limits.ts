import type { LimitChanges, QueueLimits, RuntimeLimits } from '../../../queue/model/limits.js';

/** Returns the limits in force with some of them changed; null takes one away. See lua/limits/set.lua. */
export function changedLimits(now: QueueLimits & RuntimeLimits, changes: LimitChanges): RuntimeLimits {
  const { overrides: _overrides, ...groups } = now.groups ?? {};
  const all = { ...now, ...(now.groups && { groups }), ...changes };
  const kept = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept);
}
