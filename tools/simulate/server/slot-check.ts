// Checks that a claim takes no more jobs than the limits in force let run.
import type { QueueView } from '#memory/server/observed-server.js';
import { groupLimitsOf, limitsOf, markOf } from './queue-reads.js';

/** Returns the limits that a claim broke. A lower limit ends no running job, so only a claim must keep it. */
export function overTaken(queue: QueueView, before: ReadonlyMap<string, unknown>): string[] {
  const claimed = queue.claims.members();
  const taken = claimed.filter((id) => !before.has(id));
  if (taken.length === 0) {
    return [];
  }
  const { maxRunning, isPaused } = limitsOf(queue);
  const groups = new Set(taken.flatMap((id) => groupOf(queue, id) ?? []));
  return [
    ...(claimed.length > maxRunning
      ? [`limits: a claim left ${claimed.length} jobs running of ${maxRunning}`]
      : []),
    ...(isPaused ? [`limits: a claim took ${taken[0]} from the paused queue`] : []),
    ...[...groups].flatMap((group) => overTakenIn(queue, group, claimed)),
    ...taken.filter((id) => isAhead(queue, id)).map((id) => `ahead: a claim took ${id}, whose limits need a slot`),
  ];
}

function groupOf(queue: QueueView, id: string): string | undefined {
  return queue.jobField(id, 'group');
}

/** Returns whether a job was claimed before a slot is free for it, although it has limits. An isolated job waits alone. */
function isAhead(queue: QueueView, id: string): boolean {
  const job = queue.job(id);
  const limits = [limitsOf(queue), ...(job?.group === undefined ? [] : [groupLimitsOf(queue, job.group)])];
  const isLimited = limits.some(({ maxRunning, hasRate }) => maxRunning < Infinity || hasRate);
  return isLimited && job !== undefined && markOf(job) === '1' && job.crashes === undefined;
}

function overTakenIn(queue: QueueView, group: string, claimed: readonly string[]): string[] {
  const { maxRunning, isPaused } = groupLimitsOf(queue, group);
  const running = claimed.filter((id) => groupOf(queue, id) === group).length;
  return [
    ...(running > maxRunning ? [`limits: a claim left ${running} jobs of group ${group} running`] : []),
    ...(isPaused ? [`limits: a claim took a job of paused group ${group}`] : []),
  ];
}
