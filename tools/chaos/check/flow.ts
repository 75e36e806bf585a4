// What limits, groups and batches promise, by the histories: a group of one slot keeps its order, and a follow-up comes last.
import type { Facts } from '../histories/facts.js';
import type { Jobs } from '../histories/jobs.js';
import { ADDED } from '../histories/marks.js';
import { groupOf, isFollowUp, MEMBERS } from '../processes/flow-work.js';
import { ranOutOfOrder } from './rules.js';

export function misflowed(facts: Facts): string[] {
  return [...facts.flow].flatMap((process) => {
    const jobs = facts.jobs.get(process);
    return !jobs || jobs.forgotten ? [] : [...outOfGroupOrder(process, jobs), ...earlyFollowUps(process, jobs)];
  });
}

/** Through retries and crashes too: no job of a group is claimed before the last claim of the one before it. */
function outOfGroupOrder(process: number, jobs: Jobs): string[] {
  const faults: string[] = [];
  const before = new Map<string, number>();
  for (let number = 0; number < jobs.count; number++) {
    const group = groupOf(number);
    if (group === undefined || !isSure(jobs, number)) continue;
    const earlier = before.get(group);
    if (earlier !== undefined && ranOutOfOrder(jobs.lastFence[earlier]!, jobs.firstFence[number]!)) {
      faults.push(`I8: job ${process}:${number} of ${group} was claimed before ${process}:${earlier} had ended`);
    }
    before.set(group, number);
  }
  return faults;
}

function earlyFollowUps(process: number, jobs: Jobs): string[] {
  const faults: string[] = [];
  for (let number = MEMBERS; number < jobs.count; number++) {
    if (!isFollowUp(number) || !isSure(jobs, number)) continue;
    for (let member = number - MEMBERS; member < number; member++) {
      if (isSure(jobs, member) && ranOutOfOrder(jobs.lastFence[member]!, jobs.firstFence[number]!)) {
        faults.push(`batch: the follow-up ${process}:${number} was claimed before ${process}:${member} had ended`);
      }
    }
  }
  return faults;
}

/** Whether it was acknowledged, and claimed by a server that is there at the end. */
function isSure(jobs: Jobs, number: number): boolean {
  return jobs.state[number] === ADDED && jobs.firstFence[number]! > 0;
}
