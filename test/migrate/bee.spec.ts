// The mover on queues in the layout of bee-queue: killed after each of its steps, and what a job becomes.
import { expect, it } from '@jest/globals';
import { Mover } from '#migrate/mover.js';
import type { MoveReport, MoveStep } from '#migrate/move-report.js';
import { planMove } from '#migrate/plan.js';
import { systemClock } from '#queue/runtime/clock.js';
import { SeededBee } from '../support/bullmq/seed-bee.js';
import { connect } from '../support/redis/redis.js';
import { newQueue } from '../support/worker/workers.js';

const DUE = Date.now() + 3_600_000;
const RULES = {
  names: new Map(),
  priorities: { kind: 'none' },
  backoffs: new Map(),
  newIds: false,
  shiftIntervals: false,
  failed: false,
} as const;

function scene() {
  const old = new SeededBee(connect());
  const queue = newQueue();
  const report = { moved: {}, deduplicated: 0, deleted: 0, schedules: [], dropped: {} } as unknown as MoveReport;
  const parts = { source: old.source, queue, rules: RULES };
  const mover = (onStep?: (step: MoveStep) => void) =>
    new Mover({ ...parts, era: 'bee', clock: systemClock, report, ...(onStep && { onStep }) });
  return { old, queue, report, mover, plan: () => planMove(parts) };
}

const steps: MoveStep[] = ['take', 'import', 'give-back', 'acknowledge', 'forget'];

it.each(steps)(
  'a mover of bee-queue that dies after %s loses no job, doubles none, and keeps their order',
  async (step) => {
    const { old, queue, mover } = scene();
    const ids = Array.from({ length: 12 }, (_, i) => String(i));
    for (const id of ids) await old.wait(id);
    await old.wait('mine', { retries: 1, backoff: { strategy: 'mine', delay: 1 } });
    await old.delayed('later', DUE);
    const pending = async () => (await queue.list('pending', { limit: 100 })).map(({ id }) => id);
    const dying = mover((done) => {
      if (done === step) throw new Error('killed');
    });
    await expect(dying.run()).rejects.toThrow('killed');
    // What is here already may have run, and been forgotten, before the next mover begins.
    const first = await pending();
    await queue.clean('pending');
    await mover().run();
    expect([...first, ...(await pending())]).toEqual(ids);
    expect((await queue.list('scheduled')).map(({ id, dueAt }) => [id, dueAt?.getTime()])).toEqual([
      ['later', DUE],
    ]);
    expect([await old.ids(), await old.line()]).toEqual([['mine'], ['mine']]);
    const { source } = await old.source.sender();
    expect(await queue.exec((calls) => calls.once.marks(source, 9))).toEqual([]);
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
  expect(JSON.parse(stored!)).toEqual(expected);
  expect(report).toMatchObject({ moved: { wait: 1 }, dropped: {} });
});

it.each<[MoveStep, unknown, string[]]>([
  ['take', 'new', []],
  ['import', 'old', ['a']],
])(
  'a mover of bee-queue that dies after %s keeps a job that is deleted and added again',
  async (step, here, there) => {
    const { old, queue, mover } = scene();
    await old.wait('a', {}, 'old');
    const dying = mover((done) => {
      if (done === step) throw new Error('killed');
    });
    await expect(dying.run()).rejects.toThrow('killed');
    await old.redis.hdel(old.key('jobs'), 'a');
    await old.wait('a', {}, 'new');
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
