import { isCluster, type RedisClient } from './redis-client.js';

/** The number of keys that one SCAN passes over. */
const SCAN_COUNT = 500;

/**
 * Returns the keys that begin with a text, a page at a time. Each key that exists throughout is among them, perhaps twice.
 * The cost grows with the number of keys in the database.
 *
 * @param start the start of the keys, without glob characters
 * @param ask what each question to Redis goes through
 */
export async function* scanKeys(
  client: RedisClient,
  start: string,
  ask: <Reply>(question: () => Promise<Reply>) => Promise<Reply>,
): AsyncGenerator<string[]> {
  for (const node of isCluster(client) ? client.nodes('master') : [client]) {
    let cursor = '0';
    do {
      const from = cursor;
      const [next, keys] = await ask(() => node.scan(from, 'MATCH', `${start}*`, 'COUNT', SCAN_COUNT));
      yield keys;
      cursor = next;
    } while (cursor !== '0');
  }
}
