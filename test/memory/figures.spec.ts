// The figures of a queue and of its groups, which both stores compute alike.
import { expect, it } from '@jest/globals';
import { newClockedQueue, newQueue, onEachStore } from '../support/worker/workers.js';

onEachStore('the figures', () => {
  it('of a queue and of a group have the age of the oldest waiting job', async () => {
    const { queue, clock } = newClockedQueue();
    for (const group of [undefined, 'g']) await queue.enqueue(1, { group });
    clock.nowMs += 60_000;
    for (const group of [undefined, 'g']) await queue.enqueue(2, { group });
    clock.nowMs += 5_000;
    expect((await queue.stats()).oldestPendingAgeMs).toBe(65_000);
    expect((await queue.groups.get('g')).oldestPendingAgeMs).toBe(65_000);
  });

  it('of a queue count the batches that have not ended', async () => {
    const queue = newQueue();
    const ended = queue.batch({ then: { name: 'then' } });
    await ended.seal();
    expect((await queue.stats()).batches).toBe(1);
    await queue.complete((await queue.claim())!);
    expect((await queue.stats()).batches).toBeUndefined();
    await queue.batch({ then: { name: 'then' } }).add(queue.name, 1);
    expect((await queue.stats()).batches).toBe(1);
  });

  it('of a queue without damage are no finding of the doctor', async () => {
    const queue = newQueue();
    await queue.enqueue(1);
    expect(await queue.doctor()).toMatchObject({ queue: queue.name, checked: 1, findings: [] });
  });
});
