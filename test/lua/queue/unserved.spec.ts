import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

const handlers = [{ name: 'mail', maxAttempts: 1, maxCrashes: 1 }];

it('queue/unserved.lua: returns the names of jobs without a worker, and the known workers', async () => {
  const q = testQueue();
  for (const [id, name] of [
    ['a', 'mail'],
    ['b', 'emial'],
    ['c', 'gone'],
    ['d', 'emial'],
  ] as const) {
    await q.run(
      q.scripts.enqueue([{ id, name, payload: '{}', ...(id === 'd' && { options: { delayMs: 60_000 } }) }]),
    );
  }
  await q.run(q.scripts.remove({ id: 'c' }));
  const jobs = [
    ['a', 'mail'],
    ['b', 'emial'],
    ['c', 'gone'],
    ['d', 'emial'],
  ].map(([id, name]) => ({
    id: id!,
    name: name!,
  }));
  const look = () => expectUnchanged(q, () => q.run(q.scripts.unserved({ jobs })));
  expect(await look()).toEqual({ waiting: [0, 1, 3], workers: 0, names: [] });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers }));
  expect(await look()).toEqual({ waiting: [1, 3], workers: 1, names: ['mail'] });
  await q.redis.zincrby(q.keys.names, -31_000, 'mail');
  expect(await look()).toEqual({ waiting: [0, 1, 3], workers: 1, names: [] });
});
