// Maintenance of a queue that clients of the Redis pattern use too.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { inside } from '../../support/queue/inside.js';
import { PatternClient } from '../../support/queue/pattern-client.js';
import { connect } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { leaveBroken, newQueue } from '../../support/worker/workers.js';

function shared(options = {}) {
  const queue = newQueue(options);
  leaveBroken(queue); // a foreign failure leaves its token until it is adopted
  const warnings: string[] = [];
  const note = (text: string) => void warnings.push(text);
  const sweeper = new Sweeper([queue], 1_000, { log() {}, warn: note, error: note });
  const redis = inside(queue).connection.client as Redis;
  const foreign = new PatternClient(redis, connect(), queue.name, { maxAttempts: 1, visibilityMs: 1 });
  return { queue, sweeper, foreign, warnings, redis };
}

it('failures of clients of the pattern are kept at their events, also where a burst is trimmed to 50 before the next sweep', async () => {
  const { queue, sweeper, foreign, redis } = shared();
  for (let i = 0; i < 301; i++) await foreign.enqueue({ i });
  await foreign.fail((await foreign.claim())!, 'the first');
  await sweeper.runOnce(); // sees that they work here, and listens from now on
  for (let i = 0; i < 300; i++) await foreign.fail((await foreign.claim())!, `failure ${i}`);
  expect(await redis.llen((await inside(queue).scripts()).keys.failed)).toBe(50);
  await eventually(async () => (await queue.stats()).failed === 301, { what: '301 dead letters' });
  await sweeper.stop();
});

describe('clients of the pattern on a queue with limits', () => {
  it('are warned of once, also where the limits came later', async () => {
    const { queue, sweeper, foreign, warnings } = shared();
    await foreign.enqueue({});
    await foreign.claim();
    const said = () => warnings.filter((text) => text.includes('They ignore limits'));
    await sweeper.runOnce();
    expect(said()).toEqual([]);
    await queue.limits.set({ rateLimit: { limit: 5, periodMs: 1_000 } });
    await sweeper.runOnce();
    await sweeper.runOnce();
    expect(said()).toEqual([expect.stringContaining(`queue "${queue.name}", which has limits (rateLimit)`)]);
    await sweeper.stop();
  });

  it('are warned of where the limit is one that queues share', async () => {
    const { queue, sweeper, foreign, warnings } = shared({ limits: ['partner'] });
    await foreign.enqueue({});
    await foreign.claim();
    await sweeper.runOnce();
    expect(warnings).toContainEqual(expect.stringContaining(`queue "${queue.name}", which has limits (partner)`));
    await sweeper.stop();
  });

  it('are no reason for a warning where only this library takes jobs', async () => {
    const { queue, sweeper, warnings } = shared({ maxRunning: 1 });
    await queue.limits.set({ maxRunning: 1 });
    await queue.enqueue({});
    await queue.claim();
    await sweeper.runOnce();
    expect(warnings).toEqual([]);
    await sweeper.stop();
  });
});

it('the sweep of clients of the pattern is seen beside ours, and warned of once', async () => {
  const { queue, sweeper, foreign, warnings, redis } = shared({ foreignVisibilityMs: 100 });
  for (let i = 0; i < 2; i++) {
    await foreign.enqueue({ i });
    await foreign.claim();
    await sweeper.runOnce();
    await eventually(async () => (await foreign.reclaim()).length === 1, { what: 'a foreign reclaim' });
    const { keys } = await inside(queue).scripts();
    await eventually(async () => (await sweeper.runOnce(), (await redis.zcard(keys.foreignClaims)) === 0), {
      what: 'old sightings',
    });
    await queue.purge({ confirm: queue.name });
  }
  const said = warnings.filter((text) => text.includes('Turn theirs off'));
  expect(said).toHaveLength(1);
  await sweeper.stop();
});

it('the reclaim of the core reclaims dead claims of such clients, and keeps their failures', async () => {
  const { queue, foreign, redis } = shared({ foreignVisibilityMs: 100 });
  const failed = await foreign.enqueue({});
  await foreign.fail((await foreign.claim())!, 'no');
  const lost = await foreign.enqueue({});
  await foreign.claim();
  expect((await queue.reclaim()).reclaimed).toEqual([]);
  expect(await queue.get(failed)).toMatchObject({ status: 'failed' });
  expect(await redis.pttl((await inside(queue).scripts()).keys.job(failed))).toBe(-1);
  const taken: string[] = [];
  await eventually(async () => {
    taken.push(...(await queue.reclaim()).reclaimed.map(({ id }) => id));
    return taken.length > 0;
  });
  expect(taken).toEqual([lost]);
});
