import { ALL_GROUPS_ORDER, BOUNDS, type GroupsOptions } from '../model/limits.js';
import type { LimitsInForce } from '../store/verbs/limit-verbs.js';

export type LimitsReply = [now: string, ...values: (string | null)[]];

/** The values of a reply. */
export const LIMITS_FIELDS = 20;

/** Decodes the reply of `lua/limits/get.lua`. */
export function decodeLimits(reply: LimitsReply): LimitsInForce {
  const [now, isSet, owner, maxRunning, limit, periodMs, burst, nextStartAt, restsUntil, ...others] = reply;
  const [ofGroups, bounds] = [others.slice(0, -BOUNDS.length), others.slice(-BOUNDS.length)];
  const limits: LimitsInForce = { source: isSet ? 'set' : owner ? 'configuration' : 'none' };
  if (maxRunning) {
    limits.maxRunning = Number(maxRunning);
  }
  if (limit) {
    limits.rateLimit = { limit: Number(limit), periodMs: Number(periodMs), burst: Number(burst) };
    if (Number(nextStartAt ?? 0) > Number(now)) {
      limits.nextStartAt = new Date(Number(nextStartAt));
    }
  }
  const groups = decodeGroupLimits(ofGroups);
  if (Object.keys(groups).length > 0) {
    limits.groups = groups;
  }
  Object.assign(limits, setNumbers(BOUNDS, bounds));
  if (Number(restsUntil ?? 0) > Number(now)) {
    limits.restsUntil = new Date(Number(restsUntil));
  }
  return limits;
}

/** Decodes the settings of one group, or of all groups, in the order of `lua/group/set.lua`. '' and null: unset. */
export function decodeGroupLimits(values: readonly (string | null)[]): GroupsOptions {
  const [maxRunning, limit, periodMs, burst, ...others] = values;
  const { onDeadHead: _text, ...numbers } = setNumbers(ALL_GROUPS_ORDER, others);
  const onDeadHead = others[ALL_GROUPS_ORDER.indexOf('onDeadHead')];
  return {
    ...(maxRunning && { maxRunning: Number(maxRunning) }),
    ...(limit && { rateLimit: { limit: Number(limit), periodMs: Number(periodMs), burst: Number(burst) } }),
    ...numbers,
    ...(onDeadHead && { onDeadHead: onDeadHead as 'skip' | 'hold' }),
  };
}

/** Returns the numbers that are set, by their names. */
function setNumbers<Name extends string>(
  names: readonly Name[],
  values: readonly (string | null)[],
): Partial<Record<Name, number>> {
  const set = names.flatMap((name, i) => (values[i] ? [[name, Number(values[i])]] : []));
  return Object.fromEntries(set) as Partial<Record<Name, number>>;
}
