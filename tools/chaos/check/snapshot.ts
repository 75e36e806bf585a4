// Reads the state of Redis at the end of a run.
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { KEYS } from '#queue/validation/key-table.js';
import { violations } from '../../../test/support/invariants/invariants.js';
import { keysLike } from '../../../test/support/redis/redis-reads.js';
import type { Ground } from '../run/ground.js';
import { addMinutes, noMinutes, type Minutes } from './minutes.js';
import type { Work } from '../processes/workload.js';
import { inside } from '../../../test/support/queue/inside.js';

export type Place = 'waiting' | 'processing' | 'completed' | 'cancelled' | 'dead';

export interface StoredJob {
  id: string;
  place: Place;
  /** Undefined for a recurring job, and where the hash holds no payload that can be read. */
  work?: Work;
  /** True if the hash holds a payload, readable or not. */
  hasPayload: boolean;
  attempts: number;
  errors: number;
  crashes: number;
  /** A sweep reclaimed a claim of this job, charged or not. */
  reclaimed?: true;
  /** The handler's result, which is the fence of its attempt. */
  resultFence?: number;
  lastError: string;
}

export interface Snapshot {
  jobs: StoredJob[];
  /** Counters of all queues together. */
  totals: Record<string, number>;
  /** The counters behind the fences, of all queues together. */
  sequence: number;
  minutes: Minutes;
  /** Broken invariants (test/support/invariants/invariants.ts), and leftover keys. */
  faults: string[];
}

export async function takeSnapshot(
  ground: Pick<Ground, 'holderOf'>,
  queues: readonly JobQueue[],
): Promise<Snapshot> {
  const snapshot: Snapshot = { jobs: [], totals: {}, sequence: 0, minutes: noMinutes(), faults: [] };
  for (const queue of queues) {
    const scripts = await inside(queue).scripts();
    const redis = await ground.holderOf(queue);
    snapshot.faults.push(...(await violations(redis, scripts)), ...(await leftovers(redis, queue)));
    for (const [name, count] of Object.entries((await queue.stats()).totals)) {
      snapshot.totals[name] = (snapshot.totals[name] ?? 0) + count;
    }
    await addMinutes(snapshot.minutes, redis, queue);
    const { keys } = scripts;
    snapshot.sequence += Number(await redis.get(keys.sequence));
    const places: [Place, string[]][] = [
      ['waiting', await redis.lrange(keys.pending, 0, -1)],
      ['waiting', await redis.zrange(keys.prioritized, 0, '-1')],
      ['waiting', await redis.zrange(keys.scheduled, 0, '-1')],
      ['processing', await redis.zrange(keys.claims, 0, '-1')],
      ['completed', await redis.lrange(keys.completed, 0, -1)],
      ['cancelled', await redis.lrange(keys.cancelled, 0, -1)],
      ['dead', await redis.zrange(keys.dead, 0, '-1')],
    ];
    for (const [place, ids] of places) {
      for (let i = 0; i < ids.length; i += 500) {
        snapshot.jobs.push(...(await readJobs(redis, place, ids.slice(i, i + 500), (id) => keys.job(id))));
      }
    }
  }
  return snapshot;
}

type Field = string | null;

async function readJobs(redis: Redis, place: Place, ids: string[], keyOf: (id: string) => string) {
  const pipeline = redis.pipeline();
  for (const id of ids)
    pipeline.hmget(keyOf(id), 'payload', 'attempts', 'errors', 'crashes', 'result', 'last_error', 'attempt_log');
  const replies = (await pipeline.exec()) ?? [];
  return ids.map((id, i): StoredJob => {
    const [payload, attempts, errors, crashes, result, lastError, log] = (replies[i]?.[1] ?? []) as Field[];
    return {
      id,
      place,
      ...workOf(payload),
      hasPayload: typeof payload === 'string',
      attempts: Number(attempts ?? 0),
      errors: Number(errors ?? 0),
      crashes: Number(crashes ?? 0),
      ...(log?.includes('"WorkerCrash"') ? { reclaimed: true as const } : {}),
      ...(result ? { resultFence: Number(result) } : {}),
      lastError: lastError ?? '',
    };
  });
}

function workOf(payload: string | null | undefined): { work?: Work } {
  try {
    const work = JSON.parse(payload ?? 'null') as Partial<Work> | null;
    return typeof work?.p === 'number' ? { work: work as Work } : {};
  } catch {
    return {};
  }
}

/** Returns keys that no script will ever delete, and unique keys without an owner. */
async function leftovers(redis: Redis, queue: JobQueue): Promise<string[]> {
  const { keys } = await inside(queue).scripts();
  const known = new Set(Object.values(KEYS).map(([part]) => keys.base + part));
  known.add(`${keys.groupsPrefix}settings`); // the settings that workers announce for all groups
  const { base } = keys;
  const faults: string[] = [];
  // A producer that died before the seal leaves a batch, which is deleted a week later.
  for (const id of await redis.zrange(keys.batches, 0, '-1')) {
    if (await redis.hexists(keys.batchRecord(id), 'sealed_at_ms')) continue;
    for (const part of [undefined, 'members', 'open', 'outcomes'] as const) known.add(keys.batchRecord(id, part));
  }
  for (const key of await keysLike(redis, `${base}*`)) {
    if (known.has(key) || key.startsWith(keys.jobPrefix)) continue;
    if ((await redis.pttl(key)) === -1) faults.push(`left over: ${key} would stay for ever`);
  }
  for (const [key, owner] of Object.entries(await redis.hgetall(keys.unique))) {
    const status = await redis.hget(keys.job(owner), 'status');
    const waits = status === 'pending' || status === 'scheduled';
    if (!waits && (await redis.zscore(keys.uniqueExpiries, key)) === null) {
      faults.push(`left over: the unique key ${key} is held by ${owner}, which is ${status ?? 'gone'}`);
    }
  }
  return faults;
}
