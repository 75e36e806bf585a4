// Traps of other queues: a tenant that spreads over many groups, and a scheduled job of a group.
import { expect, it } from '@jest/globals';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { queueOn, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

async function add(q: TestQueue, jobs: readonly { id: string; group: string; delay_ms?: number }[]): Promise<void> {
  for (let start = 0; start < jobs.length; start += 500) {
    const slice = jobs.slice(start, start + 500);
    await q.run(
      q.enqueueCall(
        slice.map(({ id, ...options }) => ({ id, name: q.name, payload: '1', options: JSON.stringify(options) })),
      ),
    );
  }
}

/** Two hundred groups of one tenant, five jobs in each. */
const GROUPS = 200;
const spread = Array.from({ length: 5 * GROUPS }, (_, i) => ({ id: `big${i}`, group: `big:${i % GROUPS}` }));

it('Trigger.dev 4353: a tenant over hundreds of groups does not delay a newcomer by their backlog', async () => {
  const q = testQueue();
  await add(q, spread);
  for (let i = 0; i < 3; i++) await q.claim(GROUPS / 2); // in the middle of their second turns
  await add(q, [
    { id: 'new0', group: 'newcomer' },
    { id: 'new1', group: 'newcomer' },
  ]);
  const next: string[] = [];
  for (let i = 0; i < 4; i++) next.push(...(await q.claim(GROUPS / 2)).map(({ id }) => id));
  // Its first job waits for the groups whose turn it was, its second for one turn of each group.
  const [first, second] = [next.indexOf('new0'), next.indexOf('new1')];
  expect(first).toBeGreaterThanOrEqual(0);
  expect(first).toBeLessThanOrEqual(GROUPS / 2);
  expect(second).toBeGreaterThan(first);
  expect(second - first).toBeLessThanOrEqual(GROUPS + 1);
});

it('BullMQ Pro 3325: a delayed job of a group costs the claims of its group no command', async () => {
  const redis = connect({}, (await startOwnRedis()).url);
  const costs: number[] = [];
  for (const delayed of [0, 50]) {
    const q = queueOn(redis);
    const jobs = Array.from({ length: 100 }, (_, i) => ({ id: `a${i}`, group: 'a' }));
    const later = Array.from({ length: delayed }, (_, i) => ({ id: `z${i}`, group: 'a', delay_ms: 3_600_000 }));
    // Of another group, so that both queues have a job that is scheduled.
    await add(q, [{ id: 'other', group: 'b', delay_ms: 3_600_000 }, ...later, ...jobs]);
    await redis.config('RESETSTAT');
    for (let i = 0; i < 100; i++) expect((await q.claim(1)).map(({ id }) => id)).toEqual([`a${i}`]);
    const stats = await redis.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_(?!config|info|evalsha|script)[^:]+:calls=(\d+)/gm)];
    costs.push(calls.reduce((sum, [, count]) => sum + Number(count), 0));
  }
  expect(Math.abs(costs[1]! - costs[0]!)).toBeLessThan(10); // of some 3,600
});

it('a claim without room reads no line, however many groups are ready', async () => {
  const redis = connect({}, (await startOwnRedis()).url);
  const q = queueOn(redis);
  await q.run(q.scripts.limits.set({ maxRunning: 1 }));
  await add(
    q,
    Array.from({ length: 2_000 }, (_, i) => ({ id: `j${i}`, group: `g${i}` })),
  );
  const [running] = await q.claim(1);
  await redis.config('RESETSTAT');
  expect(await q.claim(5)).toEqual([]);
  const stats = await redis.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_(?!config|info|evalsha|script)[^:]+:calls=(\d+)/gm)];
  expect(calls.reduce((sum, [, count]) => sum + Number(count), 0)).toBeLessThan(30);
  await q.complete(running!);
  expect(await q.claim(5)).toHaveLength(1);
});
