// Reads of Redis that know nothing of queues.
import type { ChainableCommander, Redis } from 'ioredis';

/** Returns all keys that match a glob pattern. */
export async function keysLike(redis: Redis, pattern: string): Promise<string[]> {
  const keys = new Set<string>();
  let cursor = '0';
  do {
    const [next, page] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 10_000);
    page.forEach((key) => keys.add(key));
    cursor = next;
  } while (cursor !== '0');
  return [...keys];
}

/** Sends one read for each item in one round trip, and returns the replies in the order of the items. */
export async function readEach<Item, Reply>(
  redis: Redis,
  items: readonly Item[],
  ask: (pipeline: ChainableCommander, item: Item) => unknown,
): Promise<Reply[]> {
  const pipeline = redis.pipeline();
  items.forEach((item) => ask(pipeline, item));
  const answers = (await pipeline.exec()) ?? [];
  return answers.map(([error, answer]) => {
    if (error) throw error;
    return answer as Reply;
  });
}

/** Returns the content of a key, whatever its type. */
export async function read(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'zset':
      return redis.zrange(key, 0, '-1', 'WITHSCORES');
    default:
      return redis.getBuffer(key).then(String);
  }
}
