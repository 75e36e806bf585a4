// Ends a run.
import type { JobQueue } from '#queue/job-queue.js';
import { limitInLog } from '#queue/actions/noted-action.js';
import { limitNamesOf } from '#queue/model/shared-limit.js';
import { keysLike } from '../../../test/support/redis/redis-reads.js';
import { eventually } from '../../../test/support/faults/wait.js';
import type { Ground } from './ground.js';
import type { HistoryWriter } from '../histories/history.js';
import { inside } from '../../../test/support/queue/inside.js';

/**
 * Timeouts against hanging. Two idle cores finish the last jobs in about five seconds, mostly waiting for due times.
 */
const DRAIN_MS = 180_000;
const AUDIT_MS = 60_000;

/** Waits until only jobs that are due in an hour are left. Returns the jobs that stayed. */
export async function drain(queues: readonly JobQueue[], timeoutMs = DRAIN_MS): Promise<string[]> {
  const all = async () => (await Promise.all(queues.map(left))).reduce((sum, each) => sum + each, 0);
  try {
    // A slow server's late reply counts as none, and the question is repeated.
    await eventually(async () => (await all().catch(() => NaN)) === 0, { timeoutMs });
    return [];
  } catch {
    return [`I1: ${await all()} jobs were not done ${timeoutMs} ms after the last enqueue`];
  }
}

/** Audits before the last jobs run, so that they include the misplaced ones. */
export async function auditAndRepair(queues: readonly JobQueue[], history: HistoryWriter): Promise<void> {
  for (const queue of queues) {
    // A connection to an old master gets an error for its first write, and is replaced.
    const { findings } = await eventually(() => queue.doctor({ repair: true }).catch(() => undefined), {
      timeoutMs: AUDIT_MS,
      what: 'an audit by the doctor',
    });
    for (const { kind, subject, found } of findings) history.add(['repaired', kind, subject, found]);
  }
}

/** Returns the doctor's findings after the end. */
export async function finalAudit(queues: readonly JobQueue[]): Promise<string[]> {
  const reports = await Promise.all(queues.map((queue) => queue.doctor()));
  return reports.flatMap(({ findings }) =>
    findings.map(({ kind, subject, found }) => `doctor: ${kind} ${subject} at the end: ${found}`),
  );
}

/** The time after which the permits of a killed worker have ended: its claims, and six seconds. */
const PERMITS_MS = 15_000;

/** Returns the permits of limits that stay although all workers have stopped. */
export async function permitsLeft(queues: readonly JobQueue[]): Promise<string[]> {
  const states = async () => {
    const limits = queues.flatMap((queue) =>
      limitNamesOf(queue.options.limits).map((name) => queue.sharedLimit(name)),
    );
    const all = limits.map(async (limit) => {
      const state = await limit.get();
      return [state, ...(await Promise.all((state.keys ?? []).map((key) => limit.key(key).get())))];
    });
    return (await Promise.all(all)).flat();
  };
  const areFree = async () => (await states()).every(({ running }) => running === 0);
  await eventually(() => areFree().catch(() => false), { timeoutMs: PERMITS_MS }).catch(() => undefined);
  return (await states())
    .filter(({ running }) => running > 0)
    .map(
      ({ name, key, running }) =>
        `shared limit: ${running} permits of ${limitInLog(name, key)} are left, and no worker`,
    );
}

/** Returns the shards of a queue that completed no job, so that nothing was shown of them. */
export async function idleShards(shards: readonly JobQueue[]): Promise<string[]> {
  const all = await Promise.all(shards.map((shard) => shard.stats()));
  return shards.flatMap(({ name }, i) =>
    all[i]!.totals['completed'] ? [] : [`spread: "${name}" completed no job`],
  );
}

/** Returns failovers that no fault accounts for, because they lose writes that the checker expects. */
export function unplanned({ sentinel }: Pick<Ground, 'sentinel'>, planned: number): string[] {
  const found = sentinel?.failovers ?? planned;
  return found === planned
    ? []
    : [
        `Sentinel replaced the master ${found} times, expected ${planned}: the machine is too slow to judge what was lost`,
      ];
}

/** Counts scheduled jobs before and after the rest, because a due job moves between two questions. */
async function left(queue: JobQueue): Promise<number> {
  const { keys } = await inside(queue).scripts();
  const due = () => inside(queue).connection.client.zcount(keys.scheduled, '-inf', Date.now() + 600_000);
  const before = await due();
  const { pending, processing } = await queue.stats();
  return pending + processing + Math.max(before, await due());
}

/** Deletes the keys of this run. No other run has queues of these names. */
export async function deleteKeys(queues: readonly JobQueue[], ground: Ground): Promise<void> {
  for (const queue of queues) {
    const { keys } = await inside(queue).scripts();
    const holder = await ground.holderOf(queue);
    for (const key of await keysLike(holder, `${keys.jobPrefix.slice(0, -'job:'.length)}*`))
      await holder.unlink(key);
  }
}
