// Invariants of a queue's state in Redis, whatever was done to it. Read with plain commands, not with our scripts.
import type { Redis } from 'ioredis';
import type { QueueCalls } from '#queue/scripts/calls/all-calls.js';
import { ScriptRunner } from '#queue/transport/script-runner.js';
import { groupPlaces, groupViolations } from './group-invariants.js';
import { keysLike, readEach } from '../redis/redis-reads.js';

interface Place {
  status: string;
  /** True if an id may be here without its hash. */
  mayExpire: boolean;
  ids: string[];
}

/** Returns descriptions of the faults in a queue. */
export async function violations(redis: Redis, scripts: QueueCalls): Promise<string[]> {
  const places = await readPlaces(redis, scripts);
  const faults: string[] = [];
  const seen = new Map<string, string>();
  for (const [name, place] of Object.entries(places)) {
    const hashes = await readEach<string, Record<string, string>>(redis, place.ids, (pipeline, id) =>
      pipeline.hgetall(scripts.keys.job(id)),
    );
    for (const [i, id] of place.ids.entries()) {
      if (seen.has(id)) {
        faults.push(`I1: ${id} is in ${seen.get(id)} and in ${name}`);
      }
      seen.set(id, name);
      faults.push(...faultsOf(id, hashes[i]!, name, place));
    }
  }
  faults.push(...(await unfired(redis, scripts)));
  faults.push(...(await strays(redis, scripts, seen)), ...(await miscounts(redis, scripts, places)));
  faults.push(...(await miscountedKinds(redis, scripts, places)));
  faults.push(...(await groupViolations(redis, scripts)));
  return faults;
}

/** Returns sealed batches without open members that did not fire, and fired ones with open members other than the follow-up. */
async function unfired(redis: Redis, { keys }: QueueCalls): Promise<string[]> {
  const faults: string[] = [];
  for (const id of await redis.zrange(keys.batches, 0, '-1')) {
    const { sealed_at_ms: sealed, fired_at_ms: fired } = await redis.hgetall(keys.batchRecord(id));
    const open = await redis.zrange(keys.batchRecord(id, 'open'), 0, '-1');
    if (sealed && !fired && open.length === 0) {
      faults.push(`batch ${id} is sealed and empty, and did not fire`);
    }
    if (fired && open.some((member) => !/^(@batch:|[^\t]+\t@batch-of:)/.test(member))) {
      faults.push(`batch ${id} fired while ${open.join(', ')} were open`);
    }
  }
  return faults;
}

async function readPlaces(redis: Redis, scripts: QueueCalls): Promise<Record<string, Place>> {
  const { keys } = scripts;
  const grouped = Object.entries(await groupPlaces(redis, scripts));
  const list = async (key: string, status: string, mayExpire = false): Promise<Place> => ({
    status,
    mayExpire,
    ids: await redis.lrange(key, 0, -1),
  });
  const set = async (key: string, status: string): Promise<Place> => ({
    status,
    mayExpire: false,
    ids: await redis.zrange(key, 0, '-1'),
  });
  return {
    pending: await list(keys.pending, 'pending'),
    prioritized: await set(keys.prioritized, 'pending'),
    scheduled: await set(keys.scheduled, 'scheduled'),
    claims: await set(keys.claims, 'processing'),
    processing: await list(keys.processing, 'processing'),
    completed: await list(keys.completed, 'completed', true),
    cancelled: await list(keys.cancelled, 'cancelled', true),
    dead: await set(keys.dead, 'failed'),
    ...Object.fromEntries(grouped.map(([name, ids]) => [name, { status: 'pending', mayExpire: false, ids }])),
  };
}

function faultsOf(id: string, hash: Record<string, string>, name: string, place: Place): string[] {
  if (hash.status === undefined) {
    return place.mayExpire ? [] : [`I1: ${id} is in ${name} and has no hash`];
  }
  const faults: string[] = [];
  if (hash.status !== place.status) {
    faults.push(`I1: ${id} is in ${name} and its status is ${hash.status}`);
  }
  if (name === 'claims' && !hash.claim_token) {
    faults.push(`I2: ${id} is claimed without a token`);
  }
  if (name !== 'claims' && name !== 'processing' && hash.claim_token) {
    faults.push(`I2: ${id} is in ${name} and has the token ${hash.claim_token}`);
  }
  if (hash.max_attempts && Number(hash.attempts) > Number(hash.max_attempts)) {
    faults.push(`I6: ${id} has ${hash.attempts} of ${hash.max_attempts} attempts`);
  }
  if (Number(hash.attempts) < 0) {
    faults.push(`I6: ${id} has ${hash.attempts} attempts`);
  }
  return faults;
}

/** Returns hashes without a place. Only a job that left its history may be one, for a while. */
async function strays(redis: Redis, { keys }: QueueCalls, seen: Map<string, string>): Promise<string[]> {
  const faults: string[] = [];
  const hashes = await keysLike(redis, `${keys.jobPrefix}*`);
  const ttls = await readEach<string, number>(redis, hashes, (pipeline, key) => pipeline.pttl(key));
  for (const [i, key] of hashes.entries()) {
    const id = key.slice(keys.jobPrefix.length);
    const place = seen.get(id);
    const ttl = ttls[i]!;
    if (ttl === -2) continue; // it has expired since
    if (place === undefined && (ttl < 0 || ttl > 10_000)) {
      faults.push(`I1: ${id} is nowhere, and lives on (${ttl} ms)`);
    }
    if (ttl >= 0 && place !== undefined && place !== 'completed' && place !== 'cancelled') {
      faults.push(`I1: ${id} is in ${place} and would expire`);
    }
  }
  return faults;
}

async function miscounts(redis: Redis, scripts: QueueCalls, places: Record<string, Place>): Promise<string[]> {
  const stats = await new ScriptRunner(redis).run(scripts.stats());
  const count = (...names: string[]) => names.reduce((sum, name) => sum + places[name]!.ids.length, 0);
  const expected = {
    pending: count('pending', 'prioritized', ...Object.keys(places).filter((name) => name.startsWith('group '))),
    scheduled: count('scheduled'),
    processing: count('claims', 'processing'),
    completed: count('completed'),
    cancelled: count('cancelled'),
    failed: count('dead'),
  };
  return Object.entries(expected)
    .filter(([status, size]) => stats[status as keyof typeof expected] !== size)
    .map(([status, size]) => `I1: stats count ${stats[status as keyof typeof expected]} ${status} of ${size}`);
}

/** Returns the kinds of error that count fewer dead letters than there are. The next tidy corrects one that counts more. */
async function miscountedKinds(
  redis: Redis,
  { keys }: QueueCalls,
  { dead }: Record<string, Place>,
): Promise<string[]> {
  const found = await readEach<string, string | null>(redis, dead!.ids, (pipeline, id) =>
    pipeline.hget(keys.job(id), 'error_kind'),
  );
  const counted: Record<string, string> = await redis.hgetall(keys.errorKinds).catch(() => ({}));
  return [...new Set([...Object.keys(counted), ...found])].flatMap((kind) => {
    const size = found.filter((each) => each === kind).length;
    const count = kind === null ? size : Number(counted[kind]?.split(' ')[0] ?? 0);
    return count >= size ? [] : [`I1: ${count} dead letters are counted as ${kind}, of ${size}`];
  });
}
