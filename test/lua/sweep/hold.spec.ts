import { describe, expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

function hold(q: TestQueue, process: string, lengthMs = 10_000, set = 'set') {
  return q.run(q.scripts.sweep.hold(set, process, lengthMs));
}

/** Moves the end of the right, as if the clock of the server had jumped. */
async function endIn(q: TestQueue, ms: number): Promise<void> {
  const [, length, process] = (await q.redis.hget(q.keys.maintainers, 'set'))!.split(' ');
  await q.redis.hset(q.keys.maintainers, 'set', `${(await q.now()) + ms} ${length} ${process}`);
}

describe('sweep/hold.lua', () => {
  it('gives the right to one process, which may take it again', async () => {
    const q = testQueue();
    expect([await hold(q, 'p1'), await hold(q, 'p2'), await hold(q, 'p1')]).toEqual([true, false, true]);
  });

  it('gives each set of queues its own right', async () => {
    const q = testQueue();
    expect([await hold(q, 'p1'), await hold(q, 'p2', 10_000, 'other')]).toEqual([true, true]);
  });

  it('gives the right of a dead or frozen holder to the next, and refuses the old one when it wakes', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    await endIn(q, -1);
    expect([await hold(q, 'p2'), await hold(q, 'p1')]).toEqual([true, false]);
  });

  it('takes a right over that the clock of now cannot have given', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    await endIn(q, 3_600_000);
    expect([await hold(q, 'p2'), await hold(q, 'p1')]).toEqual([true, false]);
  });

  it('gives it back at once, and only by the holder', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    await hold(q, 'p2', 0);
    expect(await hold(q, 'p2')).toBe(false);
    await hold(q, 'p1', 0);
    expect(await q.redis.exists(q.keys.maintainers)).toBe(0);
    expect(await hold(q, 'p2')).toBe(true);
  });

  it('forgets the rights of sets that are no longer in use', async () => {
    const q = testQueue();
    const over = `${(await q.now()) - 1} 10000 p1`;
    await q.redis.hset(q.keys.maintainers, { a: over, b: over, c: over });
    await hold(q, 'p2');
    await hold(q, 'p2', 10_000, 'other');
    expect((await q.redis.hkeys(q.keys.maintainers)).toSorted()).toEqual(['other', 'set']);
  });

  it('leaves nothing behind', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    expect(await q.redis.pttl(q.keys.maintainers)).toBeGreaterThan(10_000);
    expect(await q.redis.pttl(q.keys.maintainers)).toBeLessThanOrEqual(20_000);
  });
});
