import type { GroupLimits, GroupsOptions, QueueLimits } from '../../queue/model/limits.js';
import { withoutUndefined } from '../../queue/runtime/fields.js';

/** Returns the limits of a group as Redis stores and shows them. A rate has a burst of one job by default. */
export function storedGroupLimits<Limits extends Pick<GroupLimits, 'rateLimit'>>(limits: Limits): Limits {
  const { rateLimit, ...others } = withoutUndefined<Limits>(limits);
  const stored = { ...others, ...(rateLimit && { rateLimit: { burst: 1, ...withoutUndefined(rateLimit) } }) };
  return stored as Limits;
}

/** Returns the limits of a queue as Redis stores and shows them. Those of single groups travel with their jobs. */
export function storedLimits<Limits extends QueueLimits>({ groups, ...limits }: Limits): Limits {
  const { overrides: _overrides, ...ofAll }: GroupsOptions = groups ?? {};
  const ofGroups = storedGroupLimits(ofAll);
  const stored = {
    ...storedGroupLimits(limits),
    ...(Object.keys(ofGroups).length > 0 && { groups: ofGroups }),
  };
  return stored as Limits;
}
