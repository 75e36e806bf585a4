// Reads from Redis the claims that a fault can hit now.
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { sleep } from '../../../test/support/faults/wait.js';
import type { Scene } from './scene.js';
import type { Slot } from '../run/fleet.js';
import type { Ground } from '../run/ground.js';
import { inTime } from './hits.js';
import { inside } from '../../../test/support/queue/inside.js';

const ON_ITS_WAY_MS = 20;

export interface Claim {
  /** The key of the job's hash. */
  key: string;
  id: string;
  fence: string;
  /** The key of the claims. */
  claims: string;
}

/** The queues and the server to look in. */
export interface Seen {
  queues: readonly JobQueue[];
  ground: Pick<Ground, 'admin'>;
}

/** Returns the claims of the workers in this process, or in any process without a pid. */
export async function claimsHeld({ queues, ground: { admin } }: Seen, pid?: number): Promise<Claim[]> {
  const held: Claim[] = [];
  for (const queue of queues) {
    const { keys } = await inside(queue).scripts();
    const ids = await admin.zrange(keys.claims, 0, '-1');
    const read = async (id: string) => {
      const key = keys.job(id);
      const [worker, fence] = await admin.hmget(key, 'worker', 'fence').catch(() => []); // broken on purpose
      const isHeld = fence && (pid === undefined || worker?.includes(`:${pid}:`));
      return isHeld ? [{ key, id, fence, claims: keys.claims }] : [];
    };
    held.push(...(await Promise.all(ids.map(read))).flat());
  }
  return held;
}

/** Waits until a worker holds claims, and returns them. */
export async function atWork(seen: Seen, { child }: Slot): Promise<Claim[]> {
  return (await inTime(() => someOf(claimsHeld(seen, child!.pid)))) ?? [];
}

/** Waits until any worker holds claims of the main queue, and returns how many claims all workers hold. */
export async function inFlight({ queue, ground }: Scene): Promise<number> {
  return (await inTime(() => someOf(claimsHeld({ ground, queues: [queue] }))))?.length ?? 0;
}

/** Freezes a worker while it holds claims, and returns them. */
export async function freezeAtWork(seen: Seen, slot: Slot): Promise<Claim[]> {
  const child = slot.child!;
  const held = await inTime(async (isOver) => {
    if (!(await someOf(claimsHeld(seen, child.pid))) || isOver()) return undefined;
    child.kill('SIGSTOP');
    await sleep(ON_ITS_WAY_MS); // a call in flight may still end a claim
    const claims = await someOf(claimsHeld(seen, child.pid)).catch(() => undefined);
    if (!claims && !isOver()) child.kill('SIGCONT');
    return claims;
  });
  if (!held) child.kill('SIGSTOP');
  return held ?? [];
}

/** Returns how many of these claims have expired, reclaimed or not. */
export async function expired(
  { ground: { admin } }: Pick<Seen, 'ground'>,
  claims: readonly Claim[],
): Promise<number> {
  const redis = admin as Redis;
  const [seconds, micros] = await redis.time();
  const nowMs = Number(seconds) * 1_000 + Number(micros) / 1_000;
  const hasExpired = async ({ key, id, fence, claims: all }: Claim) => {
    const expiry = await redis.zscore(all, id);
    const [last, log] = await redis.hmget(key, 'fence', 'attempt_log').catch(() => []);
    if (last === fence && expiry !== null) return Number(expiry) <= nowMs;
    return log?.includes(`"fence":${fence},"outcome":"crash"`) ?? false;
  };
  return (await Promise.all(claims.map(hasExpired))).filter(Boolean).length;
}

async function someOf(claims: Promise<Claim[]>): Promise<Claim[] | undefined> {
  const found = await claims;
  return found.length > 0 ? found : undefined;
}
