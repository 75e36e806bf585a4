import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

const depend = (id: string, waiting = 'w') => [{ id, waiting }];

async function seeded(...ids: string[]) {
  const q = testQueue();
  await q.run(q.scripts.enqueue(ids.map((id) => ({ id, name: q.name, payload: '{}' }))));
  return q;
}

it('notes who waits for a job, which is plain no more, and changes nothing the second time', async () => {
  const q = await seeded('x', 'y');
  expect(await q.run(q.scripts.batches.depend({ home: 'home', pairs: [...depend('x'), ...depend('y')] }))).toEqual([
    'open',
    'open',
  ]);
  expect(await q.redis.hmget(q.keys.job('x'), 'dependents', 'options')).toEqual([refTo('home', 'w'), '{}']);
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.batches.depend({ home: 'home', pairs: depend('x') }))).toEqual(['open']);
  });
  await q.run(q.scripts.batches.depend({ home: 'home', pairs: depend('x', 'v') }));
  expect(await q.redis.hget(q.keys.job('x'), 'dependents')).toBe(`${refTo('home', 'w')}\n${refTo('home', 'v')}`);
});

it('keeps the record of a completed job for the one that comes after it', async () => {
  const q = await seeded('done');
  await q.complete((await q.claim(1))[0]!);
  expect(await q.run(q.scripts.batches.depend({ home: 'home', pairs: depend('done') }))).toEqual(['completed']);
  expect(await q.redis.pttl(q.keys.job('done'))).toBe(-1);
  expect(await q.ranked(q.keys.keptResults)).toEqual(['done']);
});

it('keeps the record of a completed job for a day, if too many wait for it to note one more', async () => {
  const q = await seeded('done');
  await q.complete((await q.claim(1))[0]!);
  const day = 86_400_000;
  const note = async (count: number) => {
    const many = Array.from({ length: count }, (_, i) => refTo('home', `${i}`)).join('\n');
    await q.redis.hset(q.keys.job('done'), 'dependents', many);
    expect(await q.run(q.scripts.batches.depend({ home: 'home', pairs: depend('done') }))).toEqual(['completed']);
    const [dependents, until] = await q.redis.hmget(q.keys.job('done'), 'dependents', 'awaited_until_ms');
    return [
      dependents!.split('\n').length - count,
      until && Math.round((Number(until) - (await q.now())) / 10_000),
    ];
  };
  expect(await note(999)).toEqual([1, null]);
  expect(await note(1_000)).toEqual([0, day / 10_000]);
});

it('notes nothing of a job that ended badly or is not known', async () => {
  const q = await seeded('gone', 'bad');
  await q.run(q.scripts.cancel({ id: 'gone' }));
  await q.redis.hset(q.keys.job('bad'), 'status', 'failed');
  q.broken = true;
  await expectUnchanged(q, async () => {
    const pairs = ['gone', 'bad', 'nobody'].map((id) => ({ id, waiting: 'w' }));
    const outcomes = await q.run(q.scripts.batches.depend({ home: 'home', pairs }));
    expect(outcomes).toEqual(['cancelled', 'failed', 'unknown']);
  });
});

it('notes nothing where the hash of one job has another type', async () => {
  const q = await seeded('x');
  await q.redis.set(q.keys.job('bad'), 'of another program');
  q.broken = true;
  await expectUnchanged(q, async () => {
    const noted = q.run(q.scripts.batches.depend({ home: 'home', pairs: [...depend('x'), ...depend('bad')] }));
    await expect(noted).rejects.toThrow('WRONGTYPE');
  });
});

it('bounds how many jobs wait for one', async () => {
  const q = await seeded('x');
  const many = Array.from({ length: 1_000 }, (_, i) => refTo('home', `${i}`));
  await q.redis.hset(q.keys.job('x'), 'dependents', many.join('\n'));
  const pairs = [...depend('x', 'one more'), ...depend('x', '7')];
  expect(await q.run(q.scripts.batches.depend({ home: 'home', pairs }))).toEqual(['crowded', 'open']);
});

it('lets the completion say that the outbox has the end, once, however often the job ends', async () => {
  const q = await seeded('x');
  await q.run(q.scripts.batches.depend({ home: 'home', pairs: depend('x') }));
  const [x] = await q.claim(1);
  const complete = () => q.complete(x!, '{"n":1}');
  expect(await complete()).toEqual({ lost: [], followed: [], hasEnds: true });
  const [ends] = await q.run(q.scripts.batches.outbox({ limit: 10 }));
  expect(ends).toMatchObject({ queue: 'home', batch: '\nw', id: 'x', state: 'completed', detail: '' });
  await expectUnchanged(q, complete);
  expect(await q.run(q.scripts.batches.acknowledge({ ends: [ends!] }))).toBe(1);
});

it('wakes a worker for the job that starts after the last one has completed', async () => {
  const q = await seeded('x');
  await q.add('last', { after: ['x'] });
  const [x] = await q.claim(1);
  await q.takeWake();
  await q.complete(x!);
  expect(await q.takeWake()).toBe(true);
});

it('stores when a delayed job starts, once its last predecessor has completed', async () => {
  const q = await seeded('x');
  await q.add('last', { after: ['x'], delay_ms: 60_000 });
  const [x] = await q.claim(1);
  await q.complete(x!);
  const due = await q.redis.zscore(q.keys.scheduled, 'last');
  expect(await q.field('last', 'due_at_ms')).toBe(due);
  expect(Number(due) - (await q.now())).toBeLessThanOrEqual(60_000);
});
