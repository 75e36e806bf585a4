// Cleaning of groups, whose lines are not sorted by age: urgent jobs come before older ones.
import { expect, it } from '@jest/globals';
import { sleep } from '../../support/faults/wait.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

/** Makes two groups with old jobs behind more young and urgent ones than one step reads. */
async function youngBeforeOld() {
  const queue = newQueue();
  for (const group of ['a', 'b']) {
    await queue.enqueueMany(Array.from({ length: 3 }, (_, i) => ({ payload: i, group })));
  }
  await sleep(200);
  const young = ['a', 'b'].flatMap((group) =>
    Array.from({ length: 600 }, (_, i) => ({ payload: i, group, priority: 5 })),
  );
  const cameAt = performance.now();
  await queue.enqueueMany(young);
  return { queue, olderThanMs: () => performance.now() - cameAt + 100 };
}

onEachStore('clean', () => {
  it('of a group finds the old jobs behind young and urgent ones', async () => {
    const { queue, olderThanMs } = await youngBeforeOld();
    expect(await queue.groups.clean('a', { olderThanMs: olderThanMs(), limit: 2 })).toBe(2);
    expect(await queue.groups.clean('a', { olderThanMs: olderThanMs() })).toBe(1);
    expect(await queue.groups.get('a')).toMatchObject({ pending: 600 });
    expect(await queue.groups.get('b')).toMatchObject({ pending: 603 });
  });

  it('of waiting jobs finds those of all groups', async () => {
    const { queue, olderThanMs } = await youngBeforeOld();
    await queue.enqueue(1, { group: 'c' });
    expect(await queue.clean('pending', { olderThanMs: olderThanMs() })).toBe(6);
    expect((await queue.stats()).pending).toBe(1_201);
    expect(await queue.clean('pending')).toBe(1_201);
  });
});
