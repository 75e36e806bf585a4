import { expect, it } from '@jest/globals';
import { RedisStore } from '#queue/redis-store.js';
import type { Place } from '#queue/validation/key-table.js';
import { queueOn, testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';

const PLACES: readonly Place[] = ['pending', 'scheduled', 'claims', 'groupDepths'];

async function look(queues: readonly TestQueue[], places = PLACES) {
  const store = RedisStore.of(queues[0]!.redis);
  const scripts = queues.map((q) => q.scripts);
  const outcomes = await store.queues.look(scripts, places, { timeoutMs: 5_000 });
  return outcomes.map((outcome) => (outcome.ok ? [...outcome.reply.found] : [outcome.error.message]));
}

it('returns the places of each queue that hold something', async () => {
  const queues = Array.from({ length: 5 }, () => testQueue());
  await queues[1]!.addAndClaim('a');
  await queues[1]!.add('b');
  await queues[3]!.add('c', { delay_ms: 60_000 });
  await queues[4]!.add('d', { group: 'x' });
  expect(await look(queues)).toEqual([[], ['pending', 'claims'], [], ['scheduled'], ['groupDepths']]);
});

it('distinguishes a due scheduled job from later ones', async () => {
  const [none, later, due, broken] = Array.from({ length: 4 }, () => testQueue());
  await later!.add('a', { delay_ms: 60_000 });
  await due!.add('b', { delay_ms: 60_000 });
  await due!.redis.zadd(due!.keys.scheduled, (await due!.now()) - 1, 'b');
  await broken!.redis.set(broken!.keys.scheduled, 'no sorted set');
  const found = await look([none!, later!, due!, broken!], ['pending', 'due']);
  await broken!.redis.del(broken!.keys.scheduled); // the invariants are checked after each test
  expect(found).toEqual([[], ['scheduled'], ['due'], ['due']]);
});

it('returns the time of the server', async () => {
  const q = testQueue();
  const before = await q.now();
  const [outcome] = await RedisStore.of(q.redis).queues.look([q.scripts], PLACES, { timeoutMs: 5_000 });
  expect(outcome).toMatchObject({ ok: true });
  expect(outcome?.ok && outcome.reply.atMs).toBeGreaterThanOrEqual(before);
});

it('asks about a thousand idle queues by two calls, and one EXISTS in each', async () => {
  const { url } = await startOwnRedis(); // the server counts the commands of all who use it
  const redis = connect({}, url);
  const queues = Array.from({ length: 1_000 }, () => queueOn(redis));
  await queues.at(-1)!.add('a');
  await redis.config('RESETSTAT');
  const found = await look(queues, ['pending', 'scheduled', 'claims', 'dead', 'failed']);
  const [, calls] = /^cmdstat_exists:calls=(\d+)/m.exec(await redis.info('commandstats'))!;
  expect(found).toEqual([...Array.from({ length: 999 }, () => []), ['pending']]);
  // Halving finds the queue in the second call, and then each of its places is looked up.
  expect(Number(calls)).toBeLessThanOrEqual(1 + 2 * 10 + 5);
});
