// Checks that a claim takes no more jobs than the limits in force let run.
import { pauseAt } from '../../../src/memory/state/pause.js';
import { isUnstarted } from '#memory/verbs/attempt/unstarted.js';
import type { MemoryQueue } from '#memory/state/memory-queue.js';

/** Returns the limits that a claim broke. A lower limit ends no running job, so only a claim must keep it. */
export function overTaken(queue: MemoryQueue, before: ReadonlyMap<string, unknown>): string[] {
  const { flow, claims, jobs } = queue;
  const taken = claims.members().filter((id) => !before.has(id));
  if (taken.length === 0) {
    return [];
  }
  const { maxRunning = Infinity } = flow.limits;
  const groups = new Set(taken.flatMap((id) => jobs.get(id)?.group ?? []));
  return [
    ...(claims.size > maxRunning ? [`limits: a claim left ${claims.size} jobs running of ${maxRunning}`] : []),
    ...(queue.paused === undefined ? [] : [`limits: a claim took ${taken[0]} from the paused queue`]),
    ...[...groups].flatMap((group) => overTakenIn(queue, group)),
    ...taken.filter((id) => isAhead(queue, id)).map((id) => `ahead: a claim took ${id}, whose limits need a slot`),
  ];
}

/** Returns whether a job was claimed before a slot is free for it, although it has limits. An isolated job waits alone. */
function isAhead({ flow, jobs }: MemoryQueue, id: string): boolean {
  const job = jobs.get(id);
  const { maxRunning, rateLimit } = { ...flow.limits, ...(job?.group !== undefined && flow.limitsOf(job.group)) };
  const isLimited = maxRunning !== undefined || rateLimit !== undefined;
  return isLimited && job !== undefined && isUnstarted(job) && job.crashes === undefined;
}

function overTakenIn({ flow, claims, jobs, now }: MemoryQueue, group: string): string[] {
  const { maxRunning = Infinity } = flow.limitsOf(group);
  const running = claims.members().filter((id) => jobs.get(id)?.group === group).length;
  return [
    ...(running > maxRunning ? [`limits: a claim left ${running} jobs of group ${group} running`] : []),
    ...(pauseAt(flow.groups.get(group)?.pause, now) === undefined
      ? []
      : [`limits: a claim took a job of paused group ${group}`]),
  ];
}
