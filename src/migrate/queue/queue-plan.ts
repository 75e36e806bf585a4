// What a move of a queue would do, and what it cannot do. It changes nothing.
import { LeftCounter, type Left } from '../move-report.js';
import { STEP, type OldPlace } from './places.js';
import type { LinePlace } from './transit.js';

export interface QueuePlan {
  /** The jobs of each place. */
  counts: Record<string, number>;
  /** The ended jobs that are copied. */
  ended: Record<string, number>;
  schedules: string[];
  /** The batches that have not ended. */
  batches: number;
  /** The groups with jobs. */
  groups: number;
  isPaused: boolean;
  /** The parts that another queue has a share in, by reason. This move leaves them, or does not begin. */
  related: Left[];
}

const FOLLOW_UPS = ['then_elsewhere', 'on_failure_elsewhere', 'finally_elsewhere'] as const;
const WALKED: readonly LinePlace[] = ['pending', 'prioritized', 'scheduled', 'dead'];

/** Reads all waiting and running jobs, all batches and all schedules. */
export async function planQueueMove(old: OldPlace): Promise<QueuePlan> {
  const { client, keys } = old;
  const [counts, completed, cancelled, schedules, batches, groups, paused] = await Promise.all([
    old.counts(),
    client.llen(keys.completed),
    client.llen(keys.cancelled),
    client.zrange(keys.scheduleDue, '0', '-1'),
    client.zrange(`${keys.batches}_by_age`, '0', '-1'),
    old.groups(),
    client.hexists(keys.settings, 'paused_at_ms'),
  ]);
  const related = new LeftCounter();
  await findReports(old, related);
  for (const id of batches) {
    await checkBatch(old, id, related);
  }
  for (const place of WALKED) {
    await checkPlace(old, place, related);
  }
  for (const group of groups) {
    await checkPlace(old, 'group', related, group);
  }
  await checkRunning(old, related);
  return {
    counts,
    ended: { completed, cancelled },
    schedules,
    batches: batches.length,
    groups: groups.length,
    isPaused: paused === 1,
    related: related.all,
  };
}

async function findReports({ client, keys }: OldPlace, related: LeftCounter): Promise<void> {
  for (const place of await client.hkeys(keys.batchOutbox)) {
    const [queue = '', , id = ''] = place.split('\t');
    related.add('job', `a report for the queue "${queue}" is not delivered yet`, id);
  }
}

async function checkBatch({ client, keys }: OldPlace, id: string, related: LeftCounter): Promise<void> {
  const key = `${keys.batchRecordPrefix}${id}`;
  const elsewhere = await client.hmget(key, ...FOLLOW_UPS);
  if (elsewhere.some((each) => each !== null)) {
    related.add('batch', 'it has a follow-up in another queue', id);
    return;
  }
  for (let at = 0; ; at += STEP) {
    const members = await client.lrange(`${key}/members`, String(at), String(at + STEP - 1));
    if (members.some((member) => member.includes('\t'))) {
      related.add('batch', 'it has members in another queue', id);
      return;
    }
    if (members.length < STEP) {
      return;
    }
  }
}

async function checkPlace(old: OldPlace, place: LinePlace, related: LeftCounter, group?: string): Promise<void> {
  for (let offset = 0; ; offset += STEP) {
    const ids = await old.ids(place, offset, STEP, group);
    await checkJobs(old, ids, related);
    if (ids.length < STEP) {
      return;
    }
  }
}

async function checkRunning(old: OldPlace, related: LeftCounter): Promise<void> {
  await checkJobs(old, await old.client.zrange(old.keys.claims, '0', '-1'), related);
}

async function checkJobs({ client, keys }: OldPlace, ids: readonly string[], related: LeftCounter): Promise<void> {
  const found = await Promise.all(ids.map((id) => client.hmget(keys.job(id), 'batch', 'after', 'dependents')));
  found.forEach(([batch, after, dependents], i) => {
    const reason = batch?.slice(1).includes('\t')
      ? 'it belongs to a batch of another queue'
      : after?.includes('\t')
        ? 'it waits for a job of another queue'
        : dependents?.includes('\t')
          ? 'a job of another queue waits for it'
          : undefined;
    if (reason !== undefined) {
      related.add('job', reason, ids[i]!);
    }
  });
}
