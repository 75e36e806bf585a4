import { ALL_GROUPS_ORDER, BOUNDS, type GroupsOptions, type RuntimeLimits } from '../model/limits.js';
import type { LimitsInForce } from '../model/limits.js';

export type LimitsReply = [now: string, ...values: (string | null)[]];

/** The values of a reply. */
export const LIMITS_FIELDS = 21;

/** Decodes the reply of `lua/limits/get.lua`. */
export function decodeLimits(reply: LimitsReply): LimitsInForce {
  const [now, isSet, owner, maxRunning, limit, periodMs, burst, nextStartAt, restsUntil, ...others] = reply;
  const configured = others.pop() ?? null;
  const limits: LimitsInForce = {
    source: isSet ? 'set' : owner ? 'configuration' : 'none',
    ...decodeRuntimeLimits([maxRunning, limit, periodMs, burst, ...others]),
  };
  if (limit && Number(nextStartAt ?? 0) > Number(now)) {
    limits.nextStartAt = new Date(Number(nextStartAt));
  }
  if (Number(restsUntil ?? 0) > Number(now)) {
    limits.restsUntil = new Date(Number(restsUntil));
  }
  const ofCode = configured === null ? undefined : decodeConfigured(configured);
  return { ...limits, ...(ofCode && { configured: ofCode }) };
}

/** Decodes the limits that workers configure. Undefined for a text of another program. */
function decodeConfigured(text: string): RuntimeLimits | undefined {
  try {
    const values = text === '' ? [] : (JSON.parse(text) as unknown);
    return Array.isArray(values) && values.every((value) => typeof value === 'string')
      ? decodeRuntimeLimits(values, 0)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Decodes limits in the order of `lua/limits/set.lua`, of which the last ones are bounds of the queue. */
function decodeRuntimeLimits(
  values: readonly (string | null | undefined)[],
  bounds = BOUNDS.length,
): RuntimeLimits {
  const [maxRunning, limit, periodMs, burst, ...others] = values.map((value) => value ?? null);
  const ofGroups = others.slice(0, others.length - bounds);
  const groups = decodeGroupLimits(ofGroups);
  return {
    ...(maxRunning && { maxRunning: Number(maxRunning) }),
    ...(limit && { rateLimit: { limit: Number(limit), periodMs: Number(periodMs), burst: Number(burst) } }),
    ...(Object.keys(groups).length > 0 && { groups }),
    ...setNumbers(BOUNDS, others.slice(ofGroups.length)),
  };
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

function setNumbers<Name extends string>(
  names: readonly Name[],
  values: readonly (string | null)[],
): Partial<Record<Name, number>> {
  const set = names.flatMap((name, i) => (values[i] ? [[name, Number(values[i])]] : []));
  return Object.fromEntries(set) as Partial<Record<Name, number>>;
}
