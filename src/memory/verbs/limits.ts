import type { RuntimeLimits, LimitChanges, QueueLimits, RateLimit } from '../../queue/model/limits.js';
import type { LimitsInForce, LimitVerbs } from '../../queue/store/verbs/limit-verbs.js';
import { boundArrival, rateOpensAt } from '../state/gcra.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { storedLimits } from './stored-limits.js';
import { callOf } from './memory-call.js';
import { withoutUndefined } from '../../queue/runtime/fields.js';

export function limitVerbs(queue: MemoryQueue): LimitVerbs {
  const limit = (limits: RuntimeLimits | undefined): undefined => {
    queue.flow.change({ set: limits });
    queue.waits.clear();
    queue.restsUntil = limits ? queue.restsUntil : 0;
    queue.host.wake(queue.name);
  };
  return {
    get: () =>
      callOf<LimitsInForce>('limitsGet', () => {
        const { set, configured, limits } = queue.flow;
        const found = withoutUndefined(limits);
        const source = set ? 'set' : configured ? 'configuration' : 'none';
        const nextStartAt = rateOpensAt(limits.rateLimit, queue.flow.arrival);
        return {
          ...found,
          source,
          ...(nextStartAt > queue.now && { nextStartAt: new Date(nextStartAt) }),
          ...(queue.restsUntil > queue.now && { restsUntil: new Date(queue.restsUntil) }),
        };
      }),
    set: (limits) => callOf('limitsSet', () => limit(storedLimits(limits))),
    change: (changes) =>
      callOf('limitsSet', () => {
        const changed = changedLimits(queue.flow.limits, changes);
        return typeof changed === 'string' ? changed : limit(changed);
      }),
    clear: () => callOf('limitsClear', () => limit(undefined)),
  };
}

/** Bounds rates and rests by the latest that the clock of now can have made, as lua/lib/group/state. */
export function boundLimits(queue: MemoryQueue): void {
  const { flow, now } = queue;
  flow.arrival = boundArrival(flow.limits.rateLimit, flow.arrival, now);
  queue.restsUntil = Math.min(queue.restsUntil, now + queue.restMs);
  for (const [name, group] of flow.groups) {
    group.arrival = boundArrival(flow.limitsOf(name).rateLimit, group.arrival, now);
    group.restsUntil = Math.min(group.restsUntil, now + (group.restMs ?? Infinity));
  }
}

type Given = Record<string, unknown>;

/** Returns the limits in force with some of them changed, or which rate would have a part only. See lua/limits/set.lua. */
function changedLimits(now: QueueLimits & RuntimeLimits, changes: LimitChanges): RuntimeLimits | string {
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
