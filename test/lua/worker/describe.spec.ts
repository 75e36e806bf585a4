import { expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const DETAILS = { host: 'h', pid: 1, slots: 2 };

const known = (q: TestQueue) => q.redis.hkeys(q.keys.workerDetails);

it('stores the details of a worker with the time of its start, until it stops', async () => {
  const q = testQueue();
  const before = await q.now();
  await q.run(q.scripts.workers.describe({ worker: 'w', details: DETAILS, ageMs: 1_000 }));
  const [startedAt, ...text] = (await q.redis.hget(q.keys.workerDetails, 'w'))!.split(' ');
  expect(JSON.parse(text.join(' '))).toEqual(DETAILS);
  expect(Number(startedAt) - (before - 1_000)).toBeGreaterThanOrEqual(0);
  expect(await q.redis.pttl(q.keys.workerDetails)).toBeGreaterThan(0);
  await q.run(q.scripts.workers.describe({ worker: 'w', ageMs: 0 }));
  expect(await known(q)).toEqual([]);
});

it('forgets workers that no longer announce themselves', async () => {
  const q = testQueue();
  await q.run(q.scripts.workers.register({ worker: 'alive', serves: true }));
  for (const worker of ['gone', 'alive', 'new']) {
    await q.run(q.scripts.workers.describe({ worker, details: DETAILS, ageMs: 0 }));
  }
  expect((await known(q)).toSorted()).toEqual(['alive', 'new']);
});
