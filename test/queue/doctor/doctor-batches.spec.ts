import { describe, expect, it } from '@jest/globals';
import type { DoctorFinding } from '#queue/model/doctor-report.js';
import type { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { coreQueue, openedQueue } from '../../support/queue/core-queue.js';

async function expectRepaired(queue: JobQueue, fault: Pick<DoctorFinding, 'subject' | 'found' | 'expected'>) {
  const finding = { kind: 'batch', ...fault };
  expect((await queue.doctor()).findings).toEqual([{ ...finding, repaired: false }]);
  expect((await queue.doctor({ repair: true })).findings).toEqual([{ ...finding, repaired: true }]);
  expect((await queue.doctor()).findings).toEqual([]);
}

it.each([
  ['awaiting', 'after', 'no sweep looks at it', 'in awaiting, since it waits for others'],
  ['scheduled', 'orphan', 'status scheduled, in no place', 'in a place'],
] as const)(
  'jobs that wait for others are looked at again, and start no sooner, where %s lost them',
  async (set, kind, found, expected) => {
    const { queue, state } = coreQueue();
    const first = await queue.enqueue(1);
    const next = await queue.enqueue(2, { after: [first.id] });
    expect((await queue.doctor()).findings).toEqual([]);
    await state.redis.zrem(state.keys[set], next.id);
    const finding = { kind, subject: next.id, found, expected, repaired: true };
    expect((await queue.doctor({ repair: true })).findings).toEqual([finding]);
    expect((await queue.doctor()).findings).toEqual([]);
    await maintainBatches(queue);
    expect((await next.get())!.dueAt).toBeUndefined();
    await queue.complete((await queue.claim())!);
    expect(await queue.claim()).toMatchObject({ id: next.id });
  },
);

it.each(['in its own queue', 'in another queue'])(
  'a batch that waits for a job that is nowhere is named, and ends at the next maintenance: %s',
  async (where) => {
    const [home, other] = [coreQueue(), coreQueue()];
    const there = where === 'in another queue' ? other : home;
    const { queue } = home;
    const batch = queue.batch({ id: 'waits', then: { name: queue.name } });
    await batch.add('page', 1, { queue: there.queue, id: 'page' });
    await batch.seal();
    await queue.enqueue('another');
    expect((await queue.doctor()).counts).toEqual({});
    const { keys, redis } = there.state;
    await redis.del(keys.job('page'), keys.remoteMembers, keys.sequence);
    await redis.lrem(keys.pending, 0, 'page');
    const found = `it waits for job page of queue ${there.queue.name}, which is gone`;
    const finding = { kind: 'batch', subject: 'waits', found, expected: 'members that wait or run' };
    expect((await queue.doctor()).findings).toEqual([{ ...finding, repaired: false }]);
    expect((await queue.doctor({ repair: true })).findings).toEqual([{ ...finding, repaired: true }]);
    await maintainBatches(queue);
    expect(await batch.status()).toMatchObject({ state: 'ended', removed: 1 });
    expect((await queue.doctor()).counts).toEqual({});
  },
);

it('a batch waits for jobs of two queues, one of whose names begins the other', async () => {
  const { queue, state } = coreQueue();
  const longer = openedQueue(state.redis, `${queue.name}-later`);
  const batch = queue.batch({ id: 'waits', then: { name: queue.name } });
  await batch.add('page', 1);
  await batch.add('page', 2, { queue: longer });
  await batch.seal();
  expect((await queue.doctor()).findings).toEqual([]);
});

it('a batch that waits for several jobs which are nowhere is named for each of them', async () => {
  const { queue, state } = coreQueue();
  const batch = queue.batch({ id: 'waits', then: { name: queue.name } });
  const ids = ['a', 'b', 'c', 'd'];
  await batch.addMany(
    'page',
    ids.map((id) => ({ payload: 1, id })),
  );
  await batch.seal();
  const lost = ids.filter((id) => id !== 'b');
  for (const id of lost) {
    await state.redis.del(state.keys.job(id));
    await state.redis.lrem(state.keys.pending, 0, id);
  }
  const { findings } = await queue.doctor();
  const found = findings.filter(({ kind }) => kind === 'batch').map((finding) => finding.found);
  expect(found.toSorted()).toEqual(
    lost.map((id) => `it waits for job ${id} of queue ${queue.name}, which is gone`),
  );
});

describe('batches with a follow-up', () => {
  it('are well while they are open, sealed, fired and ended', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch({ id: 'a', then: { name: queue.name } });
    const expectWell = async () => expect((await queue.doctor()).counts).toEqual({});
    await batch.add(queue.name, 1);
    await expectWell();
    await batch.seal();
    await expectWell();
    await queue.complete((await queue.claim())!, 1);
    expect(await batch.status()).toMatchObject({ state: 'fired' });
    await expectWell();
    await queue.complete((await queue.claim())!, 1);
    expect(await batch.status()).toMatchObject({ state: 'ended' });
    await expectWell();
  });

  it('continue where no sweep looked at them, and lose no follow-up', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch({ id: 'lost', finally: { name: queue.name, payload: 'after' } });
    await batch.add(queue.name, 1, { id: 'member' });
    await batch.seal();
    await state.redis.zrem(state.keys.batches, 'lost');
    await state.redis.pexpire(state.keys.batchRecord('lost'), 60_000);
    await expectRepaired(queue, {
      subject: 'lost',
      found: 'it has not ended, and no sweep looks at it',
      expected: 'in batches',
    });
    await state.redis.zrem(state.keys.batchRecord('lost', 'open'), 'member');
    const found = 'sealed, all members have ended, and nothing follows';
    const finding = {
      kind: 'batch',
      subject: 'lost',
      found,
      expected: 'its follow-ups are enqueued',
      repaired: true,
    };
    expect((await queue.doctor({ repair: true })).findings).toEqual([finding]);
    await maintainBatches(queue);
    expect(await batch.status()).toMatchObject({ state: 'fired' });
    expect((await queue.doctor()).findings).toEqual([]);
  });

  it('end where they fired, and no follow-up is open', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch({ id: 'fired', finally: { name: queue.name } });
    await batch.seal();
    await queue.remove('@batch:fired:finally');
    await state.redis.hdel(state.keys.batchRecord('fired'), 'ended_at_ms');
    await state.redis.persist(state.keys.batchRecord('fired'));
    await state.redis.zadd(state.keys.batches, 9e14, 'fired');
    const found = 'fired, and no follow-up is open';
    const finding = { kind: 'batch', subject: 'fired', found, expected: 'its end', repaired: true };
    expect((await queue.doctor({ repair: true })).findings).toEqual([finding]);
    await maintainBatches(queue);
    expect(await batch.status()).toMatchObject({ state: 'ended' });
    expect((await queue.doctor()).findings).toEqual([]);
  });

  it('leave nothing behind forever', async () => {
    const { queue, state } = coreQueue();
    const key = state.keys.batchRecord('gone', 'outcomes');
    await state.redis.hset(key, 'a', 'completed\n');
    await expectRepaired(queue, {
      subject: 'gone',
      found: 'no expiry',
      expected: 'one, as it has ended or is gone',
    });
    expect(await state.redis.pttl(key)).toBeGreaterThan(0);
  });

  it.each([
    ['batches', ['batches', 'batchesByAge']],
    ['batches_by_age', ['batchesByAge']],
  ] as const)('leave %s once they have ended or are gone', async (name, sets) => {
    const { queue, state } = coreQueue();
    for (const set of sets) await state.redis.zadd(state.keys[set], 0, 'ghost');
    await expectRepaired(queue, {
      subject: 'ghost',
      found: `in ${name}, and it has ended or is gone`,
      expected: 'only those that have not ended',
    });
    expect(await state.redis.exists(state.keys.batches, state.keys.batchesByAge)).toBe(0);
  });
});
