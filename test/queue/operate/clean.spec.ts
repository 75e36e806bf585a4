// Cleaning by age. The lines of groups are not sorted by it: urgent jobs come before older ones.
import { expect, it } from '@jest/globals';
import { newClockedQueue, newQueue, onEachStore } from '../../support/worker/workers.js';

const HOUR = 3_600_000;
const olderThanMs = HOUR / 2;

/** Makes two groups with jobs of an hour ago behind more young and urgent ones than one step reads. */
async function youngBeforeOld() {
  const { queue, clock } = newClockedQueue();
  for (const group of ['a', 'b']) {
    await queue.enqueueMany(Array.from({ length: 3 }, (_job, i) => ({ payload: i, group })));
  }
  clock.nowMs += HOUR;
  const young = ['a', 'b'].flatMap((group) =>
    Array.from({ length: 600 }, (_job, i) => ({ payload: i, group, priority: 5 })),
  );
  await queue.enqueueMany(young);
  return queue;
}

onEachStore('clean', () => {
  it('of a group finds the old jobs behind young and urgent ones', async () => {
    const queue = await youngBeforeOld();
    expect(await queue.groups.clean('a', { olderThanMs, limit: 2 })).toBe(2);
    expect(await queue.groups.clean('a', { olderThanMs })).toBe(1);
    expect(await queue.groups.get('a')).toMatchObject({ pending: 600 });
    expect(await queue.groups.get('b')).toMatchObject({ pending: 603 });
  });

  it('of waiting jobs finds those of all groups', async () => {
    const queue = await youngBeforeOld();
    await queue.enqueue(1, { group: 'c' });
    expect(await queue.clean('pending', { olderThanMs })).toBe(6);
    expect((await queue.stats()).pending).toBe(1_201);
    expect(await queue.clean('pending')).toBe(1_201);
  });

  it.each(['completed', 'cancelled'] as const)('of the %s jobs deletes the old ones only', async (place) => {
    const { queue, clock } = newClockedQueue();
    const end = async (id: string) => {
      await queue.enqueue(1, { id });
      await (place === 'completed' ? queue.complete((await queue.claim())!) : queue.cancel(id));
    };
    for (const id of ['older', 'old']) await end(id);
    clock.nowMs += HOUR;
    await end('young');
    expect(await queue.clean(place, { olderThanMs })).toBe(2);
    expect((await queue.list(place)).map(({ id }) => id)).toEqual(['young']);
  });

  it.each(['completed', 'cancelled', 'failed'] as const)(
    'of the %s jobs deletes at most its limit, the oldest first',
    async (place) => {
      const queue = newQueue();
      for (const id of ['oldest', 'older', 'young']) {
        await queue.enqueue(1, { id });
        if (place === 'cancelled') await queue.cancel(id);
        else if (place === 'completed') await queue.complete((await queue.claim())!);
        else await queue.fail((await queue.claim())!, new Error('no'), { final: true });
      }
      expect(await queue.clean(place, { limit: 2 })).toBe(2);
      expect((await queue.list(place)).map(({ id }) => id)).toEqual(['young']);
    },
  );
});
