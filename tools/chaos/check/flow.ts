// Checks the order in groups of one slot, and that a follow-up comes after its batch.
import type { Facts } from '../histories/facts.js';
import type { Jobs } from '../histories/jobs.js';
import { ADDED } from '../histories/marks.js';
import { BATCH_NUMBERS, groupOf, isFollowUp } from '../processes/flow-work.js';
import { sensorOf } from '../processes/spread-work.js';
import { shardOfId } from '#queue/model/spread.js';
import { keptIn } from '#queue/runtime/collections.js';
import type { Snapshot } from './snapshot.js';
import { ranOutOfOrder } from './rules.js';

export function misflowed(facts: Facts, snapshot: Snapshot): string[] {
  const judged = (processes: ReadonlySet<number>, faultsOf: (process: number, jobs: Jobs) => string[]) =>
    [...processes].flatMap((process) => {
      const jobs = facts.jobs.get(process);
      return !jobs || jobs.forgotten ? [] : faultsOf(process, jobs);
    });
  return [
    ...judged(facts.flow, (process, jobs) => [
      ...outOfGroupOrder(process, jobs, groupOf),
      ...earlyFollowUps(process, jobs),
    ]),
    ...judged(facts.spread, (process, jobs) => outOfGroupOrder(process, jobs, sensorOf)),
    ...splitGroups(facts, snapshot),
  ];
}

/** Returns the groups with jobs in two shards. Fences of two shards cannot be compared, so their order would not be known. */
function splitGroups(facts: Facts, { jobs }: Snapshot): string[] {
  const shards = new Map<string, Set<number | undefined>>();
  for (const { id, work } of jobs) {
    const group = work && facts.spread.has(work.p) ? sensorOf(work.n) : undefined;
    if (group !== undefined) keptIn(shards, group, () => new Set()).add(shardOfId(id));
  }
  return [...shards]
    .filter(([, found]) => found.size > 1)
    .map(([group, found]) => `spread: ${group} has jobs in the shards ${[...found].join(', ')}`);
}

/** Returns jobs of a group that were claimed before the last claim of an earlier job, retries and crashes included. */
function outOfGroupOrder(process: number, jobs: Jobs, groupOfJob: typeof groupOf): string[] {
  const faults: string[] = [];
  const before = new Map<string, number>();
  for (let number = 0; number < jobs.count; number++) {
    const group = groupOfJob(number);
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
  for (let number = BATCH_NUMBERS - 1; number < jobs.count; number++) {
    if (!isFollowUp(number) || !isSure(jobs, number)) continue;
    for (let member = number - BATCH_NUMBERS + 1; member < number; member++) {
      if (isSure(jobs, member) && ranOutOfOrder(jobs.lastFence[member]!, jobs.firstFence[number]!)) {
        faults.push(`batch: the follow-up ${process}:${number} was claimed before ${process}:${member} had ended`);
      }
    }
  }
  return faults;
}

/** Returns whether the enqueue was acknowledged, and a server that still exists at the end claimed the job. */
function isSure(jobs: Jobs, number: number): boolean {
  return jobs.state[number] === ADDED && jobs.firstFence[number]! > 0;
}
