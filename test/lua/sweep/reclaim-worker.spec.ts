import { expect, it } from '@jest/globals';
import {
  expectUnchanged,
  testQueue,
  type TestQueue,
  queueWith,
  claimedJob,
} from '../../support/queue/queue-state.js';

function reclaimWorker(q: TestQueue, worker: string, cursor = '0', limit = 500) {
  return q.run(q.scripts.sweep.reclaimWorker({ worker, cursor, limit }));
}

async function claimBy(q: TestQueue, worker: string, ...ids: string[]): Promise<void> {
  await q.addAll(...ids);
  await q.claim(ids.length, { worker });
}

it('I2: takes back a claim that has not expired: no token, a higher fence, the crash counted, and wakes a worker', async () => {
  const { q, job } = await claimedJob('a');
  await q.takeWake();

  expect(await reclaimWorker(q, 'worker-1')).toEqual({
    cursor: '0',
    reclaimed: [{ id: 'a', status: 'pending', worker: 'worker-1' }],
  });
  const hash = await q.job('a');
  expect(hash).toMatchObject({ status: 'pending', attempts: '1', crashes: '1', claim_token: '' });
  expect(Number(hash.fence)).toBeGreaterThan(job.fence);
  expect(await q.ranked(q.keys.claims)).toEqual([]);
  expect(await q.takeWake()).toBe(true);
  expect((await q.attemptLog('a'))[0]).toMatchObject({
    outcome: 'crash',
    error: { message: 'worker process ended (worker worker-1)' },
  });
});

it('notes the dead worker as a mark of the history, with the jobs that it ran', async () => {
  const q = testQueue();
  await q.addAndClaim('a');
  await claimBy(q, 'worker-2', 'b');
  await q.run(
    q.scripts.noteDeath({ claims: [{ id: 'a', token: (await q.job('a')).claim_token! }], error: 'Error: boom' }),
  );
  await reclaimWorker(q, 'worker-1');
  await reclaimWorker(q, 'worker-1');
  const { marks } = await q.run(q.scripts.history.read({ backMs: 60_000, most: 10 }));
  expect(marks).toMatchObject([
    {
      kind: 'death',
      death: {
        worker: 'worker-1',
        how: 'worker process ended; uncaught error in its process: Error: boom',
        jobs: 1,
        ran: [{ id: 'a' }],
      },
    },
  ]);
  expect(await q.redis.pttl(q.keys.historyMarks)).toBeGreaterThan(0);
});

it('leaves the claims of every other worker alone, whatever its id begins with', async () => {
  const q = testQueue();
  await claimBy(q, 'host:1:abc', 'a');
  await claimBy(q, 'host:1:abcd', 'b');
  await claimBy(q, 'host:1:ab', 'c');
  await reclaimWorker(q, 'host:1:abc');
  expect((await q.ranked(q.keys.claims)).toSorted()).toEqual(['b', 'c']);
  expect(await q.pending()).toEqual(['a']);
});

it('I3: repeated it takes nothing back twice', async () => {
  const q = testQueue();
  await q.addAndClaim('a');
  await reclaimWorker(q, 'worker-1');
  await expectUnchanged(q, () => reclaimWorker(q, 'worker-1'));
});

it('leaves a job that another worker has claimed since', async () => {
  const q = testQueue();
  await q.addAndClaim('a');
  await reclaimWorker(q, 'worker-1');
  await q.claim(1, { worker: 'worker-2' });
  await reclaimWorker(q, 'worker-1');
  expect(await q.status('a')).toBe('processing');
  expect(await q.field('a', 'crashes')).toBe('1');
});

it('I8: puts the jobs back at the front in their old order', async () => {
  const q = await queueWith('a', 'b', 'c', 'd');
  await q.claim(3);
  await reclaimWorker(q, 'worker-1');
  expect(await q.pending()).toEqual(['a', 'b', 'c', 'd']);
});

it('I4: reads a slice of the claims at a time, and finds all of them', async () => {
  const q = testQueue();
  const ids = Array.from({ length: 400 }, (_, i) => `job-${i}`);
  await claimBy(q, 'dead', ...ids);
  await claimBy(q, 'live', ...ids.map((id) => `other-${id}`));
  let cursor = '0';
  let slices = 0;
  do {
    const reply = await reclaimWorker(q, 'dead', cursor, 50);
    expect(reply.reclaimed.length).toBeLessThan(200);
    cursor = reply.cursor;
    slices++;
  } while (cursor !== '0');
  expect(slices).toBeGreaterThan(3);
  expect((await q.pending()).toSorted()).toEqual(ids.toSorted());
  expect(await q.redis.zcard(q.keys.claims)).toBe(400);
});

it('charges no crash to a job that had not started', async () => {
  const q = await queueWith('a', 'b');
  await q.claim(2, { slots: 1 });
  await reclaimWorker(q, 'worker-1');
  expect(await q.field('a', 'crashes')).toBe('1');
  expect(await q.job('b')).toMatchObject({ attempts: '0', interruptions: '1', status: 'pending' });
});

it('ends a job whose last permitted crash it is, and one that was asked to cancel', async () => {
  const q = testQueue({ maxCrashes: 1 });
  await q.addAll('a', 'b');
  await q.claim(2);
  await q.run(q.scripts.cancel({ id: 'b' }));
  const { reclaimed } = await reclaimWorker(q, 'worker-1');
  expect(reclaimed.map(({ id, status }) => `${id} ${status}`).toSorted()).toEqual(['a failed', 'b cancelled']);
  expect(await q.ranked(q.keys.dead)).toEqual(['a']);
});

it('leaves a claim without a hash to the sweep, which waits for its end', async () => {
  const q = testQueue();
  await q.addAndClaim('a');
  await q.redis.del(q.keys.job('a'));
  expect((await reclaimWorker(q, 'worker-1')).reclaimed).toEqual([]);
  expect(await q.ranked(q.keys.claims)).toEqual(['a']);
  q.broken = true;
});

it('no longer counts the worker as one that serves the queue', async () => {
  const q = testQueue();
  await q.run(q.scripts.workers.register({ worker: 'dead', serves: true }));
  await q.run(q.scripts.workers.register({ worker: 'live', serves: true }));
  await reclaimWorker(q, 'dead');
  expect(await q.ranked(q.keys.workers)).toEqual(['live']);
});

it('I6: frees the slots of the queue and of its group', async () => {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ maxRunning: 1 }));
  await q.add('a', { group: 'g' });
  await q.add('b', { group: 'g' });
  await q.claim(2);
  await reclaimWorker(q, 'worker-1');
  expect((await q.claim(2, { worker: 'worker-2' })).map(({ id }) => id)).toEqual(['a']);
});
