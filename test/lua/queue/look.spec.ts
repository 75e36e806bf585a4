import { describe, expect, it } from '@jest/globals';
import { RedisStore } from '#queue/redis-store.js';
import type { Place } from '#queue/store/verbs/queues-verbs.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const PLACES: readonly Place[] = ['pending', 'scheduled', 'claims', 'groupDepths'];

async function look(queues: readonly TestQueue[], places = PLACES) {
  const store = RedisStore.of(queues[0]!.redis);
  const scripts = queues.map((q) => q.scripts);
  const outcomes = await store.queues.look(scripts, places, { timeoutMs: 5_000 });
  return outcomes.map((outcome) => (outcome.ok ? [...outcome.reply.found] : [outcome.error.message]));
}

describe('queue/look.lua', () => {
  it('returns the places of each queue that hold something', async () => {
    const queues = Array.from({ length: 5 }, () => testQueue());
    await queues[1]!.addAndClaim('a');
    await queues[1]!.add('b');
    await queues[3]!.add('c', { delay_ms: 60_000 });
    await queues[4]!.add('d', { group: 'x' });
    expect(await look(queues)).toEqual([[], ['pending', 'claims'], [], ['scheduled'], ['groupDepths']]);
  });

  it('tells a scheduled job that is due from later ones', async () => {
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
    const busy = testQueue();
    await busy.add('a');
    const q = testQueue();
    const idle = Array.from({ length: 999 }, () => testQueue());
    const monitored = await exists(q, () =>
      look([...idle, busy], ['pending', 'scheduled', 'claims', 'dead', 'failed']),
    );
    expect(monitored.found.at(-1)).toEqual(['pending']);
    expect(monitored.found.slice(0, -1).flat()).toEqual([]);
    // Halving finds the queue in the second call, and then each of its places is looked up.
    expect(monitored.commands).toBeLessThanOrEqual(1 + 2 * 10 + 5);
  });
});

/** Counts the EXISTS of a look. Others use the server too, so the keys tell whose they are. */
async function exists(q: TestQueue, run: () => Promise<string[][]>) {
  const monitor = await q.redis.duplicate().monitor();
  const seen: string[] = [];
  monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.slice(0, 2).join(' ')));
  const found = await run();
  await q.redis.get(`${q.keys.base}end`);
  while (!seen.some((line) => line.includes(`${q.keys.base}end`))) await new Promise((done) => setTimeout(done, 5));
  monitor.disconnect();
  return { found, commands: seen.filter((line) => line.startsWith('exists ')).length };
}
