import { describe, expect, it } from '@jest/globals';
import type { Place } from '#queue/validation/key-table.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const TURNS = { intervalMs: 5_000, most: 4 };

async function hold(q: TestQueue, process: string, lengthMs = 10_000, set = 'set'): Promise<boolean> {
  return (await q.run(q.scripts.sweep.hold({ set, process, lengthMs, turns: TURNS }))).hasRight;
}

/** Asks for a right that another process has. Returns the number of the interval in which the process asks again. */
async function refused(q: TestQueue, { most } = TURNS): Promise<number> {
  const call = q.scripts.sweep.hold({ set: 'set', process: 'late', lengthMs: 10_000, turns: { ...TURNS, most } });
  const { hasRight, turnInMs } = await q.run(call);
  expect(hasRight).toBe(false);
  return Math.round(((await q.now()) + turnInMs) / TURNS.intervalMs);
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

  it('gives each refused process the next interval', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    const given: number[] = [];
    for (let i = 0; i < 4; i++) given.push(await refused(q));
    const first = given[0]!;
    expect(given).toEqual([first, first + 1, first + 2, first + 3]);
  });

  it('spreads further processes over the interval before the last turn', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    const turns = { intervalMs: 1_000_000, most: 4 };
    const ask = async () => {
      const { turnInMs } = await q.run(
        q.scripts.sweep.hold({ set: 'set', process: 'late', lengthMs: 10_000, turns }),
      );
      return (await q.now()) + turnInMs;
    };
    const first = Math.floor((await ask()) / turns.intervalMs + 0.5);
    const asks: number[] = [];
    for (let i = 0; i < 7; i++) asks.push((await ask()) / turns.intervalMs - first);
    const parts = [1, 2, 3, 2.5, 2.25, 2.75, 2.125];
    asks.forEach((at, i) => expect(at).toBeCloseTo(parts[i]!, 2));
  });

  it('gives a turn that comes after a tenth of an interval at least, and after a whole one and a tenth at most', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    const intervalMs = 40;
    for (let i = 0; i < 30; i++) {
      const { turnInMs } = await q.run(
        q.scripts.sweep.hold({ set: 'set', process: 'late', lengthMs: 10_000, turns: { intervalMs, most: 1 } }),
      );
      expect(turnInMs).toBeGreaterThanOrEqual(intervalMs / 10 - 1);
      expect(turnInMs).toBeLessThanOrEqual(1.1 * intervalMs);
    }
  });

  it.each([-3_600_000, 3_600_000])('forgets turns that the clock of now cannot have given: %d ms', async (ms) => {
    const q = testQueue();
    await hold(q, 'p1');
    const now = Math.floor((await q.now()) / TURNS.intervalMs);
    const far = now + ms / TURNS.intervalMs;
    await q.redis.hset(q.keys.maintainers, 'set:turns', `${far}x1 ${far + 1}x2`);
    expect((await refused(q)) - now).toBeLessThanOrEqual(3);
    expect((await q.redis.hget(q.keys.maintainers, 'set:turns'))!.split(' ')).toHaveLength(1);
  });

  it('leaves the turns of others to the next holder', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    const given = [await refused(q), await refused(q)];
    await endIn(q, -1);
    await hold(q, 'p2');
    expect(await refused(q)).toBe(given[1]! + 1);
  });

  it('takes no turn to give the right back, and forgets the turns with the right', async () => {
    const q = testQueue();
    await hold(q, 'p1');
    await hold(q, 'p2', 0);
    expect(await q.redis.hkeys(q.keys.maintainers)).toEqual(['set']);
    await refused(q);
    await hold(q, 'p1', 0);
    expect(await q.redis.exists(q.keys.maintainers)).toBe(0);
  });
});

const ask = async (q: TestQueue, process = 'p1', places: Place[] = ['pending', 'claims']) =>
  q.run(
    q.scripts.sweep.hold({
      set: 'set',
      process,
      lengthMs: 10_000,
      turns: TURNS,
      looked: { queues: [q.scripts], places },
    }),
  );

describe('sweep/hold.lua of a holder that looks for work', () => {
  it('says when none of the places has anything', async () => {
    const q = testQueue();
    const now = await q.now();
    expect((await ask(q)).idleAtMs).toBeGreaterThanOrEqual(now);
    await q.addAll('a');
    expect((await ask(q)).idleAtMs).toBeUndefined();
    expect((await ask(q, 'p1', ['claims'])).idleAtMs).toBeDefined();
  });

  it('is alone until another process waits for its turn', async () => {
    const q = testQueue();
    expect(await ask(q)).toMatchObject({ hasRight: true, isAlone: true });
    expect(await ask(q, 'p2')).toEqual({ hasRight: false, turnInMs: expect.any(Number), isAlone: false });
    expect(await ask(q)).toMatchObject({ hasRight: true, isAlone: false });
    await q.redis.hset(q.keys.maintainers, 'set:turns', '17x1'); // that turn is over
    expect(await ask(q)).toMatchObject({ hasRight: true, isAlone: true });
  });
});
