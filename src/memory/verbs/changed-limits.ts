import type { LimitChanges, QueueLimits, RateLimit, RuntimeLimits } from '../../queue/model/limits.js';
import { withoutUndefined } from '../../queue/runtime/fields.js';

type Given = Record<string, unknown>;

/** Returns the limits in force with some of them changed, or which rate would have a part only. See lua/limits/set.lua. */
export function changedLimits(now: QueueLimits & RuntimeLimits, changes: LimitChanges): RuntimeLimits | string {
  const { overrides: _overrides, ...groups } = now.groups ?? {};
  const all: RuntimeLimits = merged(now, changes);
  const ofGroups: RuntimeLimits['groups'] = changes.groups === null ? {} : merged(groups, changes.groups ?? {});
  if (isIncomplete(all.rateLimit)) {
    return 'rateLimit';
  }
  if (isIncomplete(ofGroups?.rateLimit)) {
    return 'groups.rateLimit';
  }
  const { groups: _groups, ...others } = all;
  return Object.keys(ofGroups ?? {}).length > 0 ? { ...others, groups: ofGroups } : others;
}

function merged(now: object, changes: Given): Given {
  const { rateLimit } = changes;
  const rate = rateLimit
    ? { rateLimit: { burst: 1, ...(now as RuntimeLimits).rateLimit, ...withoutUndefined(rateLimit) } }
    : {};
  const kept = Object.entries({ ...now, ...withoutUndefined(changes), ...rate });
  return Object.fromEntries(kept.filter(([, value]) => value !== null && value !== undefined));
}

function isIncomplete(rate: Partial<RateLimit> | undefined): boolean {
  return rate !== undefined && (rate.limit === undefined || rate.periodMs === undefined);
}
