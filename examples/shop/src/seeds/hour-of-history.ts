import type { JobQueue } from 'nest-job-queue';
import { redisAccess } from 'nest-job-queue';

const MINUTE_MS = 60_000;
/** The bound of each bucket of a duration is this many times that of the one before. */
const BUCKET_FACTOR = 1.2;

/** The figures of one minute. */
export interface Minute {
  enqueued: number;
  completed: number;
  failed: number;
  retried: number;
  /** The jobs that waited and ran at its end, and the age of the oldest in ms. */
  pending: number;
  processing: number;
  oldestMs: number;
  /** The usual wait and run of its jobs, in ms. */
  waitMs: number;
  runMs: number;
}

/**
 * Writes the history of an hour, as if the queue had lived that long. Its scripts own these keys (see
 * docs/internals/history.md), so this is for a server that was started for a show.
 *
 * @param minuteAt returns the figures of a minute that lies `ago` minutes back
 */
export async function writeHistory(
  queue: JobQueue,
  minuteAt: (ago: number) => Minute,
  minutes = 60,
): Promise<void> {
  const { client, keys } = await redisAccess(queue);
  const base = keys.stats.slice(0, -'stats'.length);
  const [seconds] = await client.time();
  const end = Math.floor(Number(seconds) / 60) * MINUTE_MS;
  const writes = client.pipeline();
  for (let ago = minutes; ago > 0; ago--) {
    writes.xadd(`${base}history`, String(end - (ago - 1) * MINUTE_MS), ...entryOf(minuteAt(ago)));
  }
  writes.hset(`${base}history_open`, { since_ms: end - minutes * MINUTE_MS, at_ms: end });
  for (const [error] of (await writes.exec()) ?? []) if (error) throw error;
}

/** Writes into the history that a version of the app was deployed some time ago. */
export async function writeDeploy(queue: JobQueue, version: string, agoMs: number): Promise<void> {
  const { client, keys } = await redisAccess(queue);
  const base = keys.stats.slice(0, -'stats'.length);
  const [seconds] = await client.time();
  const now = Number(seconds) * 1_000;
  await client.xadd(`${base}history_marks`, `${now - agoMs}-*`, 'kind', 'deploy', 'version', version);
  await client.hset(`${base}history_open`, `v:${version}`, now);
}

/** Makes a schedule due since some time. */
export async function makeDue(queue: JobQueue, schedule: string, agoMs: number): Promise<void> {
  const { client, keys } = await redisAccess(queue);
  const base = keys.stats.slice(0, -'stats'.length);
  const [seconds] = await client.time();
  const dueMs = Math.floor((Number(seconds) * 1_000 - agoMs) / MINUTE_MS) * MINUTE_MS;
  await client.zadd(`${base}schedule_due`, dueMs, schedule);
}

/** Makes jobs as old as if they had waited that long, evenly spread. */
export async function backdate(queue: JobQueue, jobs: readonly { id: string }[], longestMs: number): Promise<void> {
  const { client, keys } = await redisAccess(queue);
  const [seconds] = await client.time();
  const now = Number(seconds) * 1_000;
  const writes = client.pipeline();
  jobs.forEach(({ id }, i) => {
    const at = now - Math.round(longestMs * (1 - i / jobs.length));
    writes.hset(keys.job(id), 'enqueued_at_ms', at);
  });
  await writes.exec();
}

function entryOf(minute: Minute): string[] {
  const { enqueued, completed, failed, retried, pending, processing, oldestMs, waitMs, runMs } = minute;
  const ended = completed + failed;
  const fields = {
    s: '1',
    n: [enqueued, completed, failed, 0, retried, 0].join(),
    d: [pending, processing, oldestMs].join(),
    w: timesAround(waitMs, ended),
    r: timesAround(runMs, ended + retried),
  };
  return Object.entries(fields).flat();
}

/** Returns times around a usual one as the history has them: `bucket:count,…`, most of them in the first. */
function timesAround(ms: number, count: number): string {
  const usual = Math.max(0, Math.round(Math.log(Math.max(1, ms)) / Math.log(BUCKET_FACTOR)));
  const counts = [0.6, 0.25, 0.1, 0.05].map((share) => Math.round(count * share));
  return counts.flatMap((n, i) => (n > 0 ? `${usual + 3 * i}:${n}` : [])).join();
}
