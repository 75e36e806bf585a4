// How a run ends.
import type { JobQueue } from '#queue/job-queue.js';
import { keysLike } from '../../../test/support/redis/redis-reads.js';
import { eventually } from '../../../test/support/faults/wait.js';
import type { Ground } from './ground.js';
import type { HistoryWriter } from '../histories/history.js';
import { inside } from '../../../test/support/queue/inside.js';

/** Ends of a hang: on two idle cores the last jobs are done after some five seconds, most of which they are not due for. */
const DRAIN_MS = 180_000;
const AUDIT_MS = 60_000;

/** Waits until nothing is left to do but what is due in an hour; answers what stayed. */
export async function drain(queues: readonly JobQueue[], timeoutMs = DRAIN_MS): Promise<string[]> {
  const all = async () => (await Promise.all(queues.map(left))).reduce((sum, each) => sum + each, 0);
  try {
    // A question that a slow server does not answer in time is asked again.
    await eventually(async () => (await all().catch(() => NaN)) === 0, { timeoutMs });
    return [];
  } catch {
    return [`I1: ${await all()} jobs were not done ${timeoutMs} ms after the last enqueue`];
  }
}

/** Before the last jobs are worked off, so that what was misplaced is among them. */
export async function treat(queues: readonly JobQueue[], history: HistoryWriter): Promise<void> {
  for (const queue of queues) {
    // A connection that still leads to an old master is told so by its first write, and replaced.
    const { findings } = await eventually(() => queue.doctor({ mend: true }).catch(() => undefined), {
      timeoutMs: AUDIT_MS,
      what: 'an audit by the doctor',
    });
    for (const { kind, subject, found } of findings) history.add(['mended', kind, subject, found]);
  }
}

/** What is wrong when all is over, by the doctor. */
export async function finalAudit(queues: readonly JobQueue[]): Promise<string[]> {
  const reports = await Promise.all(queues.map((queue) => queue.doctor()));
  return reports.flatMap(({ findings }) =>
    findings.map(({ kind, subject, found }) => `doctor: ${kind} ${subject} at the end: ${found}`),
  );
}

/** A master that was replaced though nobody harmed it takes with it what no fault accounts for. */
export function unplanned({ sentinel }: Pick<Ground, 'sentinel'>, planned: number): string[] {
  const found = sentinel?.failovers ?? planned;
  return found === planned
    ? []
    : [
        `Sentinel replaced the master ${found} times, expected ${planned}: the machine is too slow to judge what was lost`,
      ];
}

/** Asked for what is scheduled before the rest, and after it: a job that is due moves on between two questions. */
async function left(queue: JobQueue): Promise<number> {
  const { keys } = await inside(queue).scripts();
  const due = () => inside(queue).connection.client.zcount(keys.scheduled, '-inf', Date.now() + 600_000);
  const before = await due();
  const { pending, processing } = await queue.stats();
  return pending + processing + Math.max(before, await due());
}

/** The names of the queues are those of this run only, and so are all keys that begin with them. */
export async function leaveNothing(queues: readonly JobQueue[], ground: Ground): Promise<void> {
  for (const queue of queues) {
    const { keys } = await inside(queue).scripts();
    const holder = await ground.holderOf(queue);
    for (const key of await keysLike(holder, `${keys.jobPrefix.slice(0, -'job:'.length)}*`))
      await holder.unlink(key);
  }
}
