// Hostile content of every key of a queue, with the oracles that judge each window.
import fc from '../support/queue/properties.js';
import { connect } from '../support/redis/redis.js';
import { hostileWord } from './hostile.js';
import { changedKeys, keyDigests } from './key-digests.js';
import { SECRET } from './marked-queue.js';
import type { Windows } from './windows.js';

const redis = connect();
/** What live workers and the windows themselves write. */
const LEFT_OUT =
  /:(?:actions|workers|worker_.*|names|handler_limits|retention|history.*|maintained.*|wake|sweep|batch:.*|bulk_runs|schedule_due)$/;

interface Spoil {
  key: string;
  /** A wrong type, a hostile word in a field of the key, or one beside its content. */
  kind: 'type' | 'field' | 'entry';
  at: number;
  word: string;
}

async function spoil({ key, at, word, kind }: Spoil): Promise<void> {
  const type = await redis.type(key);
  if (kind === 'type') {
    await redis.del(key);
    await (type === 'string' ? redis.lpush(key, word) : redis.set(key, word));
  } else if (type === 'hash') {
    const fields = await redis.hkeys(key);
    await redis.hset(key, kind === 'field' ? fields[at % fields.length]! : word, word);
  } else if (type === 'list') {
    await (kind === 'field' ? redis.lset(key, 0, word) : redis.rpush(key, word));
  } else if (type === 'zset') {
    await redis.zadd(key, kind === 'field' ? -1e308 : at, word);
  } else if (type === 'stream') {
    await redis.xadd(key, '*', kind === 'field' ? 'id' : word, word);
  } else {
    await redis.set(key, word);
  }
}

async function keysOf(name: string): Promise<string[]> {
  return (await redis.keys(`queue:${name}:*`)).toSorted();
}

/** Puts every key of a queue back to what it was. */
async function restore(name: string, kept: ReadonlyMap<string, Buffer>): Promise<void> {
  const now = await keysOf(name);
  await redis.del(...now);
  await Promise.all([...kept].map(([key, dump]) => redis.restore(key, 0, dump, 'REPLACE')));
}

/**
 * Spoils each key in each way, and judges what every window says of it.
 *
 * @param share 1: each case; n: one in n of them
 */
export async function attackKeys(windows: Windows, share: number): Promise<void> {
  const { name } = windows;
  const kept = new Map<string, Buffer>();
  for (const key of await keysOf(name)) {
    kept.set(key, await redis.dumpBuffer(key));
  }
  const spoils = [...kept.keys()].flatMap((key) =>
    (['type', 'field', 'entry'] as const).map((kind) => ({ key, kind })),
  );
  const drawn = fc.sample(fc.record({ at: fc.nat(30), word: hostileWord }), spoils.length);
  for (const [i, each] of spoils.entries()) {
    if (i % share !== 0) continue;
    const told = { ...each, ...drawn[i]! };
    try {
      await spoil(told);
      const before = await keyDigests(redis, [name], LEFT_OUT);
      judgeTexts(await windows.look());
      const changed = changedKeys(before, await keyDigests(redis, [name], LEFT_OUT));
      if (changed.length > 0) throw new Error(`changed unasked: ${changed.join(' ')}`);
      judgeTexts(await windows.act());
    } catch (error) {
      throw new Error(`${JSON.stringify(told)}\n${(error as Error).message}`, { cause: error });
    } finally {
      await restore(name, kept);
    }
  }
  await windows.judgeOtherJobs();
}

/** Throws if a text has the secret of the marked queue. */
export function judgeTexts(texts: ReadonlyMap<string, string>): void {
  for (const [window, text] of texts) {
    if (text.includes(SECRET.slice(5))) throw new Error(`secret out: ${window}: ${text.slice(0, 2_000)}`);
  }
}
