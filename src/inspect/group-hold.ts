import type { GroupStats } from '../queue/model/group.js';
import { HIDDEN, type ShownGroup } from './job-signs.js';
import type { GroupLimits } from '../queue/model/limits.js';

/** The reasons why a group runs no job. */
export type GroupHold =
  | { by: 'pause'; since: Date; until?: Date; who?: string; why?: string }
  /** Without an id: a job that the viewer may not see. */
  | { by: 'job'; id?: string }
  | { by: 'rate'; until: Date }
  | { by: 'max-running'; running: number };

/** Returns what holds a group back; undefined for nothing. @param limits of each group without limits of its own */
export function groupHoldOf(group: ShownGroup, limits: GroupLimits = {}, at = new Date()): GroupHold | undefined {
  const { pausedAt, pausedBy, pauseReason, pausedUntil, heldBy, opensAt, running } = group;
  if (pausedAt) {
    const note = {
      ...(pausedBy !== undefined && { who: pausedBy }),
      ...(pauseReason !== undefined && { why: pauseReason }),
      ...(pausedUntil !== undefined && { until: pausedUntil }),
    };
    return { by: 'pause', since: pausedAt, ...note };
  }
  if (heldBy !== null) {
    return { by: 'job', ...(heldBy !== HIDDEN && { id: heldBy }) };
  }
  if (opensAt && opensAt > at) {
    return { by: 'rate', until: opensAt };
  }
  return isFull(group, limits) ? { by: 'max-running', running } : undefined;
}

/** Returns whether a group runs as many jobs as it may. @param ofAll the limits of each group without its own */
export function isFull({ running, limits }: Pick<GroupStats, 'running' | 'limits'>, ofAll: GroupLimits): boolean {
  const { maxRunning = ofAll.maxRunning ?? Infinity } = limits;
  return running >= maxRunning;
}

/** Returns who paused it and why, as far as it is known: ` by ada: a leak`. */
export function pauseNote({ who, why }: { who?: string; why?: string }): string {
  return `${who === undefined ? '' : ` by ${who}`}${why === undefined ? '' : `: ${why}`}`;
}
