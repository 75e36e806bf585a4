import { z } from 'zod';
import type { ContentRules } from '../codec/codec.js';
import { groupLimitFields, type GroupLimits, type GroupOverrides, type GroupsOptions } from '../model/limits.js';
import { checkOptions } from '../validation/validate-options.js';

const EXPECTED = 'expected the limits of a group, or undefined';
const schema = z
  .custom<object>((limits) => !(limits instanceof Promise), EXPECTED) // it has no field of its own
  .pipe(z.strictObject(groupLimitFields, { error: EXPECTED }));

/** The options of a queue for a new job. */
export interface EnqueueRules extends ContentRules {
  readonly groups?: Pick<GroupsOptions, 'overrides'> | undefined;
}

/**
 * Returns the code's limits for a group; null if this group has none, undefined if the queue has no overrides.
 *
 * @throws InvalidOptionError if a function returns invalid limits
 */
export function overrideOf(group: string, overrides: GroupOverrides | undefined): GroupLimits | null | undefined {
  if (overrides === undefined) {
    return undefined;
  }
  if (typeof overrides !== 'function') {
    return Object.hasOwn(overrides, group) ? overrides[group]! : null;
  }
  const limits = overrides(group);
  const subject = `groups.overrides(${JSON.stringify(group)})`;
  return limits === undefined ? null : checkOptions(subject, schema, limits);
}
