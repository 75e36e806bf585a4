import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

it.each([
  ['pending', {}],
  ['prioritized', { priority: 5 }],
  ['scheduled', { delay_ms: 5_000 }],
])('I5: delays a %s job from now, by the time of the server', async (_place, options) => {
  const q = testQueue();
  await q.add('a', options);
  const before = await q.now();
  expect(await q.run(q.scripts.reschedule({ id: 'a', delayMs: 60_000 }))).toBe('scheduled');
  const due = Number(await q.redis.zscore(q.keys.scheduled, 'a'));
  expect(due).toBeGreaterThanOrEqual(before + 60_000);
  expect(due).toBeLessThanOrEqual((await q.now()) + 60_000);
  expect(await q.job('a')).toMatchObject({ status: 'scheduled', due_at_ms: String(due) });
  expect(await q.pending()).toEqual([]);
});

it.each(['pending', 'prioritized'] as const)('keeps a job scheduled while %s has another type', async (line) => {
  const q = testQueue();
  await q.add('a', { delay_ms: 60_000, ...(line === 'prioritized' && { priority: 5 }) });
  await q.redis.set(q.keys[line], 'text');
  await expect(q.run(q.scripts.reschedule({ id: 'a', delayMs: 0 }))).rejects.toThrow('WRONGTYPE');
  await q.redis.del(q.keys[line]);
  expect(await q.ranked(q.keys.scheduled)).toEqual(['a']);
  expect(await q.status('a')).toBe('scheduled');
});

it('starts a job at a time given', async () => {
  const q = await queueWith('a');
  const runAtMs = (await q.now()) + 60_000;
  expect(await q.run(q.scripts.reschedule({ id: 'a', runAtMs }))).toBe('scheduled');
  expect(await q.redis.zscore(q.keys.scheduled, 'a')).toBe(String(runAtMs));
});

it.each([{ delayMs: 0 }, { runAtMs: 1 }])(
  'starts it now with %j, at the back, and wakes a worker',
  async (start) => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    await q.addAll('b');
    await q.takeWake();
    expect(await q.run(q.scripts.reschedule({ id: 'a', ...start }))).toBe('pending');
    expect(await q.pending()).toEqual(['b', 'a']);
    expect(await q.status('a')).toBe('pending');
    expect(await q.takeWake()).toBe(true);
  },
);

it('refuses a start at which the job has expired, and says when both are', async () => {
  const q = testQueue();
  const now = await q.now();
  await q.add('a', { expires_in_ms: 60_000 });
  const outcome = await expectUnchanged(q, () => q.run(q.scripts.reschedule({ id: 'a', runAtMs: now + 90_000 })));
  const { startsInMs, expiresInMs } = outcome as { startsInMs: number; expiresInMs: number };
  expect(startsInMs - expiresInMs).toBeGreaterThan(0);
  expect(expiresInMs).toBeLessThanOrEqual(60_000);
  expect(startsInMs).toBeLessThanOrEqual(90_000);
  expect(startsInMs).toBeGreaterThan(0);
});

it('starts a job with lifo now at the front, as promote does', async () => {
  const q = testQueue();
  await q.add('a', { delay_ms: 60_000, lifo: true });
  await q.addAll('b');
  expect(await q.run(q.scripts.reschedule({ id: 'a', delayMs: 0 }))).toBe('pending');
  expect(await q.pending()).toEqual(['a', 'b']);
});

it('keeps a priority', async () => {
  const q = testQueue();
  await q.add('a', { priority: 5, delay_ms: 60_000 });
  await q.run(q.scripts.reschedule({ id: 'a', delayMs: 0 }));
  expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
});

it('wakes a worker when the job is now due before all others', async () => {
  const q = testQueue();
  await q.add('a', { delay_ms: 60_000 });
  await q.add('b', { delay_ms: 90_000 });
  await q.takeWake();
  await q.run(q.scripts.reschedule({ id: 'b', delayMs: 70_000 }));
  expect(await q.takeWake()).toBe(false);
  await q.run(q.scripts.reschedule({ id: 'b', delayMs: 30_000 }));
  expect(await q.takeWake()).toBe(true);
});

it('refuses a claimed or ended job, and names a missing one', async () => {
  const q = await queueWith('running', 'done');
  const [, done] = await q.claim(2);
  await q.complete(done!);
  const answers = await expectUnchanged(q, async () => [
    await q.run(q.scripts.reschedule({ id: 'running', delayMs: 0 })),
    await q.run(q.scripts.reschedule({ id: 'done', delayMs: 0 })),
    await q.run(q.scripts.reschedule({ id: 'missing', delayMs: 0 })),
  ]);
  expect(answers).toEqual(['refused', 'refused', 'missing']);
});

it('refuses a job that a client of the pattern has just taken', async () => {
  const q = await queueWith('a');
  q.broken = true; // that client has not written its claim yet
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.reschedule({ id: 'a', delayMs: 60_000 }))).toBe('refused');
  });
});

it('I3: repeated with a time given it changes nothing but its place among equals', async () => {
  const q = await queueWith('a');
  const call = q.scripts.reschedule({ id: 'a', runAtMs: (await q.now()) + 60_000 });
  const first = await q.run(call);
  expect(await expectUnchanged(q, () => q.run(call))).toBe(first);
});
