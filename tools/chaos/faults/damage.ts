// Damage to the keys of the queue: what an eviction, half a restore or an operator by hand leaves behind. Each function
// returns the number of keys that it damaged.
import type { Scene } from './scene.js';
import { inTime } from './hits.js';
import { strength, type PlannedFault } from '../plan.js';
import type { Work } from '../processes/workload.js';
import { inside } from '../../../test/support/queue/inside.js';

/** Breaks the hashes of some jobs that wait or run: looks for such until there is one. */
export async function plant(scene: Scene, planned: PlannedFault, what: string, harm: string): Promise<number> {
  return (await inTime(async () => (await plantNow(scene, planned, what, harm)) || undefined)) ?? 0;
}

/** Records the jobs concerned. A job that ended before the damage is spared. */
async function plantNow(
  { ground: { admin }, queue, history }: Scene,
  planned: PlannedFault,
  what: string,
  harm: string,
): Promise<number> {
  const { keys } = await inside(queue).scripts();
  const script = `local status = redis.call('HGET', KEYS[1], 'status')
    if status == 'pending' or status == 'processing' then ${harm}; return 1 end
    return 0`;
  let broken = 0;
  const ids = [...(await admin.lrange(keys.pending, 0, 4)), ...(await admin.zrange(keys.claims, 0, '2'))];
  for (const id of ids.slice(0, strength(planned, 2, ids.length))) {
    const work = parse(await admin.hget(keys.job(id), 'payload').catch(() => null));
    // A job that shares its unique key with others would take the blame for them.
    if (typeof work?.p !== 'number' || work.kind === 'unique') continue;
    history.add(['plant', what, work.p, work.n!, id]);
    await history.written();
    broken += Number(await admin.eval(script, 1, keys.job(id)).catch(() => 0)); // broken in another way before
  }
  return broken;
}

/** Breaks hashes in three ways. */
export async function breakHashes(scene: Scene, planned: PlannedFault): Promise<number> {
  const broken = [
    await plant(scene, planned, 'another type', "redis.call('SET', KEYS[1], 'broken')"),
    await plant(scene, planned, 'no payload', "redis.call('HDEL', KEYS[1], 'payload')"),
    await plant(scene, planned, 'no JSON', "redis.call('HSET', KEYS[1], 'payload', '{\"p\":')"),
  ];
  return broken.includes(0) ? 0 : broken.reduce((sum, each) => sum + each);
}

function parse(text: string | null): Partial<Work> | null {
  try {
    return JSON.parse(text ?? 'null') as Partial<Work> | null;
  } catch {
    return null;
  }
}

/** Misplaces jobs, and a unique key. */
export async function misplace(scene: Scene, planned: PlannedFault): Promise<number> {
  const orphans = await inTime(async () => (await orphan(scene, planned)) || undefined);
  return orphans === undefined ? 0 : orphans + (await holdUnique(scene));
}

/** Removes some pending jobs from their lists. Only the doctor can find them. */
async function orphan({ ground: { admin }, queue, history }: Scene, planned: PlannedFault): Promise<number> {
  const { keys } = await inside(queue).scripts();
  const script = `local status = redis.call('HGET', KEYS[1], 'status')
    return status == 'pending' and redis.call('LREM', KEYS[2], 1, ARGV[1])
      or status == 'scheduled' and redis.call('ZREM', KEYS[3], ARGV[1]) or 0`;
  const most = strength(planned, 1, 5);
  let orphans = 0;
  // The last scheduled jobs are due in an hour, so there are always some.
  const ids = [
    ...(await admin.lrange(keys.pending, 0, most)),
    ...(await admin.zrange(keys.scheduled, -most, '-1')),
  ];
  for (const id of ids) {
    history.add(['damage', 'orphan', id]);
    await history.written();
    // A hash that an earlier fault broke cannot be read, and counts as damaged.
    const taken = await admin
      .eval(script, 3, keys.job(id), keys.pending, keys.scheduled, id)
      .catch(() => undefined);
    if (Number(taken) === 0) history.add(['undamaged', id]);
    orphans += Number(taken ?? 0);
  }
  return orphans;
}

/** Makes a missing job the owner of a unique key. */
async function holdUnique({ ground: { admin }, queue, history }: Scene): Promise<number> {
  const { keys } = await inside(queue).scripts();
  const key = `stuck-${performance.now()}`;
  history.add(['damage', 'unique', key]);
  await history.written();
  return admin.hset(keys.unique, key, 'nobody');
}
