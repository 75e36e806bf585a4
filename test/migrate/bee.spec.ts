// The mover on queues in the layout of bee-queue: killed after each of its steps, and what a job becomes.
import { expect, it } from '@jest/globals';
import type { MoveStep } from '#migrate/move-report.js';
import { expectNoMarks, moveScene } from '../support/bullmq/move-scene.js';
import { SeededBee } from '../support/bullmq/seed-bee.js';
import { connect } from '../support/redis/redis.js';

const DUE = Date.now() + 3_600_000;

const scene = () => moveScene(new SeededBee(connect()), { era: 'bee' });

const steps: MoveStep[] = ['take', 'import', 'give-back', 'acknowledge', 'forget'];

it.each(steps)(
  'a mover of bee-queue that dies after %s loses no job, doubles none, and keeps their order',
  async (step) => {
    const { old, queue, mover, die, pending } = scene();
    const ids = Array.from({ length: 12 }, (_, i) => String(i));
    for (const id of ids) await old.wait(id);
    await old.wait('mine', { retries: 1, backoff: { strategy: 'mine', delay: 1 } });
    await old.delayed('later', DUE);
    await die((done) => done === step);
    // What is here already may have run, and been forgotten, before the next mover begins.
    const first = await pending();
    await queue.clean('pending');
    await mover().run();
    expect([...first, ...(await pending())]).toEqual(ids);
    expect((await queue.list('scheduled')).map(({ id, dueAt }) => [id, dueAt?.getTime()])).toEqual([
      ['later', DUE],
    ]);
    expect([await old.ids(), await old.line()]).toEqual([['mine'], ['mine']]);
    await expectNoMarks({ old, queue });
  },
);

it.each([
  [{}, { maxAttempts: 1 }],
  [{ retries: 2 }, { maxAttempts: 3, backoff: 0 }],
  [
    { retries: 2, backoff: { strategy: 'immediate' } },
    { maxAttempts: 3, backoff: 0 },
  ],
  [
    { retries: 2, backoff: { strategy: 'fixed', delay: 50 } },
    { maxAttempts: 3, backoff: { type: 'fixed', delayMs: 50, jitter: 0 } },
  ],
  [
    { retries: 1, timeout: 900, backoff: { strategy: 'exponential', delay: 50 } },
    { maxAttempts: 2, backoff: { type: 'exponential', delayMs: 50, jitter: 0 }, timeoutMs: 900 },
  ],
])('a job of bee-queue with %j becomes one with %j', async (options, expected) => {
  const { old, queue, mover, report } = scene();
  await old.wait('a', options, { to: 'ada' });
  await mover().run();
  expect(await queue.get('a')).toMatchObject({ name: old.name, payload: { to: 'ada' }, attempts: 0 });
  const stored = await old.redis.hget(`queue:${queue.name}:job:a`, 'options');
  expect(JSON.parse(stored!)).toEqual({ ...expected, own: true });
  expect(report).toMatchObject({ moved: { wait: 1 }, dropped: {} });
});

it.each<[MoveStep, unknown, string[]]>([
  ['take', 'new', []],
  ['import', 'old', ['a']],
])(
  'a mover of bee-queue that dies after %s keeps a job that is deleted and added again',
  async (step, here, there) => {
    const { old, queue, mover, die } = scene();
    await old.wait('a', {}, 'old');
    await die((done) => done === step);
    await old.remove('a');
    await old.addAgain('a');
    await mover().run();
    expect((await queue.get('a'))?.payload).toBe(here);
    expect([await old.ids(), await old.line(), await old.source.entries()]).toEqual([there, there, []]);
  },
);

it('moves and counts jobs of bee-queue whose ids look like markers of BullMQ', async () => {
  const { old, queue, mover, plan } = scene();
  await old.wait('0:12', { backoff: { strategy: 'mine', delay: 1 } });
  await old.redis.lpush(old.key('waiting'), '0:13');
  expect(await plan()).toMatchObject({
    movable: { wait: 1 },
    left: [{ count: 1, ids: ['0:13'], reason: 'its hash is gone or broken' }],
  });
  await mover().run();
  expect((await queue.list('pending')).map(({ id }) => id)).toEqual(['0:12']);
  expect(await old.line()).toEqual(['0:13']);
});

it('a plan names the jobs of bee-queue that stay, and counts the others', async () => {
  const { old, plan } = scene();
  await old.wait('a');
  await old.wait('mine', { retries: 1, backoff: { strategy: 'mine' } });
  await old.wait('broken');
  await old.redis.hset(old.key('jobs'), 'broken', '{');
  await old.redis.sadd(old.key('failed'), 'f');
  await old.redis.sadd(old.key('succeeded'), 's1', 's2');
  expect(await plan()).toMatchObject({
    counts: { wait: 3, active: 0, delayed: 0, failed: 1, completed: 2, transit: 0 },
    movable: { wait: 1 },
    left: [
      { count: 1, ids: ['mine'], reason: 'its backoff "mine" is code: pass --backoff mine=exponential:1000' },
      { count: 1, ids: ['broken'], reason: 'its hash is gone or broken' },
    ],
  });
});
