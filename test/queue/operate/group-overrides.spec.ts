// Settings of single groups that the code of the producers says, by name or by a function.
import { expect, it } from '@jest/globals';
import { QueueFullError } from '#queue/errors/enqueue-errors.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { GroupLimits } from '#queue/model/limits.js';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const byFunction = (group: string): GroupLimits | undefined => (group === 'f' ? { maxRunning: 3 } : undefined);
const add = (queue: JobQueue, group: string, count: number) =>
  queue.enqueueMany(Array.from({ length: count }, (_, i) => ({ payload: i, group })));
const limitsOf = async (queue: JobQueue, group: string) => (await queue.groups.get(group)).limits;

onEachStore('overrides of groups', () => {
  it('by name hold for the group that has one, and the others are as all', async () => {
    const queue = newQueue({ groups: { maxRunning: 1, overrides: { big: { maxRunning: 3 } } } });
    await queue.limits.set({ groups: { maxRunning: 1 } }); // as a worker would announce
    await add(queue, 'big', 4);
    await add(queue, 'small', 4);
    expect(await queue.claimMany(9)).toHaveLength(4);
    expect(await limitsOf(queue, 'big')).toEqual({ maxRunning: 3 });
  });

  it('by a function are computed at each enqueue', async () => {
    let most = 1;
    const overrides = (name: string): GroupLimits | undefined =>
      name.startsWith('vip') ? { maxRunning: most } : undefined;
    const queue = newQueue({ groups: { overrides } });
    await add(queue, 'vip-1', 3);
    await add(queue, 'other', 3);
    expect(await queue.claimMany(9)).toHaveLength(4);
    most = 2;
    await add(queue, 'vip-1', 1);
    expect(await queue.claimMany(9)).toHaveLength(1);
  });

  it('come also with a job that replaces one, and bound the group that it moves to', async () => {
    const overrides = { big: { maxRunning: 3 }, full: { maxPending: 1 } };
    const queue = newQueue({ groups: { overrides } });
    const unique = { key: 'k', for: 'pending', onConflict: 'replace' } as const;
    const replaceInto = (group: string) => queue.enqueueMany([{ payload: 1, group, unique }]);
    await replaceInto('small');
    await replaceInto('big');
    expect(await limitsOf(queue, 'big')).toEqual({ maxRunning: 3 });
    await add(queue, 'full', 1);
    await expect(replaceInto('full')).rejects.toThrow(QueueFullError);
    expect(await queue.groups.get('big')).toMatchObject({ pending: 1 });
    await expect(replaceInto('big')).resolves.toHaveLength(1);
  });

  it('come with the jobs of a schedule, as the process says that declares it', async () => {
    for (const [group, overrides] of [['g', { g: { maxRunning: 3 } }] as const, ['f', byFunction] as const]) {
      const queue = newQueue({ groups: { overrides } });
      await queue.schedules.upsert('s', { everyMs: HOUR }, { group });
      for (let i = 0; i < 5; i++) await queue.schedules.runNow('s');
      expect(await limitsOf(queue, group)).toEqual({ maxRunning: 3 });
      expect(await queue.claimMany(9)).toHaveLength(3);
      const changed = newQueue({ groups: { overrides: { [group]: { maxRunning: 4 } } } }, queue.store, queue.name);
      await changed.schedules.upsert('s', { everyMs: HOUR }, { group });
      await changed.schedules.runNow('s');
      expect(await limitsOf(queue, group)).toEqual({ maxRunning: 4 });
    }
  });

  it('come with the follow-ups of a batch', async () => {
    const queue = newQueue({ groups: { overrides: { g: { maxRunning: 2 } } } });
    const batch = queue.batch({ then: { name: 'then', group: 'g' }, finally: { name: 'finally', group: 'h' } });
    await batch.seal();
    expect(await limitsOf(queue, 'g')).toEqual({ maxRunning: 2 });
    expect(await limitsOf(queue, 'h')).toEqual({});
    expect(await queue.claimMany(9)).toHaveLength(2);
  });

  it('of the last enqueue go before those of schedules and follow-ups, which may be older', async () => {
    let most = 1;
    const overrides = () => ({ maxRunning: most });
    const queue = newQueue({ groups: { overrides } });
    await queue.schedules.upsert('s', { everyMs: HOUR }, { group: 'g' });
    most = 2;
    await add(queue, 'g', 1);
    await queue.schedules.runNow('s');
    most = 3;
    await queue.batch({ then: { name: 'then', group: 'g' } }).seal();
    expect(await limitsOf(queue, 'g')).toEqual({ maxRunning: 2 });
  });

  it('give way to limits that are set at run time, until these are cleared', async () => {
    const queue = newQueue({ groups: { overrides: { g: { maxRunning: 1 } } } });
    await queue.groups.set('g', { maxRunning: 2 });
    await add(queue, 'g', 4);
    expect(await queue.claimMany(9)).toHaveLength(2);
    await queue.groups.clear('g');
    expect(await limitsOf(queue, 'g')).toEqual({ maxRunning: 1 });
    expect(await queue.claimMany(9)).toHaveLength(0);
  });

  it.each([
    [{ g: { weight: 0 } }, 'weight'],
    [async () => ({ weight: 2 }), 'groups.overrides("g"): expected the limits of a group, or undefined'],
    [() => ({ weight: 0 }), 'groups.overrides("g").weight: expected a whole number'],
    ['none', "overrides: expected settings by group, or a function of a group's name"],
  ])('that are wrong write nothing: %j', async (overrides, text) => {
    const adding = (async () => {
      const queue = newQueue({ groups: { overrides: overrides as never } });
      await queue.enqueue(1, { group: 'g' });
    })();
    await expect(adding).rejects.toThrow(InvalidOptionError);
    await expect(adding).rejects.toThrow(text);
  });
});

it('an override is forgotten a day after its group had jobs, and not before those that wait for their time', async () => {
  const { queue, state } = coreQueue({ groups: { overrides: { g: { maxRunning: 2 } } } });
  await queue.enqueue(1, { group: 'g', delayMs: 3 * DAY });
  const until = Number(await state.redis.zscore(`${state.keys.groupsPrefix}resting`, 'g'));
  expect(until - (await state.now())).toBeGreaterThan(3.9 * DAY);
  await queue.clean('scheduled');
  await state.redis.zadd(`${state.keys.groupsPrefix}resting`, 1, 'g');
  await state.redis.hset(`${state.keys.groupsPrefix}state:g`, 'configured_until_ms', 1);
  await state.run(state.scripts.sweep.promote({ limit: 10 }));
  expect(await limitsOf(queue, 'g')).toEqual({});
  const left = Object.keys(await state.snapshot()).filter((key) => key.startsWith('groups:'));
  expect(left.filter((key) => key !== 'groups:settings')).toEqual([]);
});

it('an override comes with a tick, and is forgotten like others', async () => {
  const { queue, state } = coreQueue({ groups: { overrides: { g: { maxRunning: 2 } } } });
  await queue.schedules.upsert('s', { everyMs: HOUR }, { group: 'g' });
  await state.redis.zadd(state.keys.scheduleDue, 'XX', (await state.now()) - 1_000, 's');
  expect(await queue.schedules.tick()).toMatchObject({ enqueued: 1 });
  expect(await limitsOf(queue, 'g')).toEqual({ maxRunning: 2 });
  await queue.clean('pending');
  await state.redis.zadd(`${state.keys.groupsPrefix}resting`, 1, 'g');
  await state.redis.hset(`${state.keys.groupsPrefix}state:g`, 'configured_until_ms', 1);
  await state.run(state.scripts.sweep.promote({ limit: 10 }));
  expect(await state.redis.exists(`${state.keys.groupsPrefix}state:g`)).toBe(0);
});

it('an override is forgotten also where a job of its group waited when its day was over', async () => {
  const { queue, state } = coreQueue({ groups: { overrides: { g: { maxRunning: 2 } } } });
  await queue.enqueue(1, { group: 'g' });
  const resting = `${state.keys.groupsPrefix}resting`;
  await state.redis.zadd(resting, 1, 'g');
  await state.redis.hset(`${state.keys.groupsPrefix}state:g`, 'configured_until_ms', 1);
  await state.run(state.scripts.sweep.promote({ limit: 10 }));
  expect(Number(await state.redis.zscore(resting, 'g'))).toBeGreaterThan(await state.now());
  await queue.clean('pending');
  await state.redis.zadd(resting, 1, 'g');
  await state.run(state.scripts.sweep.promote({ limit: 10 }));
  expect(await limitsOf(queue, 'g')).toEqual({});
});

it('a queue without overrides passes none along', async () => {
  const { queue, state } = coreQueue({ groups: { maxRunning: 1 } });
  await queue.enqueue(1, { group: 'g' });
  expect(await state.redis.exists(`${state.keys.groupsPrefix}state:g`)).toBe(0);
});
