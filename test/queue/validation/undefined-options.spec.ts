// An option of a call that is undefined is absent, as its type says.
import { expect, it } from '@jest/globals';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

/** Returns an object whose fields of these names are undefined. */
function absent(names: string): object {
  return Object.fromEntries(names.split(' ').map((name) => [name, undefined]));
}

it('an option of an audit trail that is undefined is absent', async () => {
  const queue = newQueue({ auditTrail: absent('maxEntries') });
  await queue.enqueue(1);
  const all = await queue.auditTrail.read(absent('after limit'));
  expect(all).toHaveLength(1);
  expect(await queue.auditTrail.latest(absent('limit'))).toEqual(all);
  expect(await queue.auditTrail.take({ group: 'g', consumer: 'c', ...absent('limit idleMs') })).toEqual(all);
});

onEachStore('an option that is undefined', () => {
  it('is absent in each call on a queue', async () => {
    const queue = newQueue();
    await queue.enqueue(
      1,
      absent('delayMs runAt priority lifo group cost unique metadata backoff maxAttempts timeoutMs'),
    );
    expect(
      await queue.list('pending', absent('offset limit mostBytes name metadata olderThanMs newerThanMs')),
    ).toHaveLength(1);
    const claim = (await queue.claim(absent('timeoutMs worker')))!;
    expect(await queue.extend(claim, absent('visibilityMs'))).toBe('extended');
    expect(await queue.release(claim, absent('delayMs'))).toBe('released');
    const again = (await queue.claimMany(1, absent('worker')))[0]!;
    expect(await queue.fail(again, new Error('no'), absent('final delayMs'))).toBe('retry');
    expect(await queue.reclaim(absent('limit'))).toMatchObject({ reclaimed: [] });
    expect(await queue.history.read(absent('lastMs stepMs'))).toMatchObject({ stepMs: 60_000 });
    expect(await queue.actionLog.latest(absent('limit before action by via'))).toEqual([]);
    expect(await queue.pause(absent('by reason forMs'))).toBe(true);
    expect(await queue.groups.list(absent('by limit offset'))).toEqual([]);
    expect(await queue.groups.pause('g', absent('by reason forMs'))).toBe(true);
    expect(await queue.groups.clean('g', absent('olderThanMs limit'))).toBe(0);
    expect(await queue.schedules.list(absent('offset limit'))).toEqual([]);
    expect(await queue.schedules.tick(absent('limit'))).toMatchObject({ enqueued: 0 });
    const batch = queue.batch(absent('id then onFailure finally failFast resultTtlMs'));
    await batch.seal();
    expect(await batch.results(absent('offset limit'))).toEqual({ members: [] });
    expect(await batch.wait(absent('timeoutMs signal'))).toMatchObject({ state: 'ended' });
    expect(await queue.listBatches(absent('offset limit ended'))).toEqual([]);
    expect(await queue.workers(absent('silent'))).toEqual([]);
    expect(await queue.doctor(absent('repair'))).toMatchObject({ findings: [] });
    expect(await queue.clean('pending', absent('olderThanMs limit'))).toBe(1);
    expect(await queue.purge({ confirm: queue.name, ...absent('everything') })).toBe(0);
  });

  it('leaves a dead letter its payload, and chooses all of them', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({ to: 'ada' });
    const die = async () => queue.fail((await queue.claim())!, new Error('no'), { final: true });
    await die();
    expect(await queue.deadLetters.redrive(id, absent('payload'))).toBe(true);
    expect(await queue.get(id)).toMatchObject({ status: 'pending', payload: { to: 'ada' } });
    await die();
    const filter = absent('name error kind olderThanMs newerThanMs');
    expect((await queue.deadLetters.list({ ...filter, ...absent('limit cursor mostBytes') })).jobs).toHaveLength(1);
    expect((await queue.deadLetters.redriveAsNew(id, absent('payload'))).outcome).toBe('redriven');
    expect(await queue.deadLetters.discardAll(filter)).toBe(1);
    expect(await queue.deadLetters.redriveAll(filter)).toBe(0);
  });

  it('keeps the part of a rate that is changed', async () => {
    const queue = newQueue();
    const rateLimit = { limit: 5, periodMs: 60_000, burst: 3 };
    await queue.limits.set({
      rateLimit,
      groups: { rateLimit },
      ...absent('maxRunning maxPending maxPendingBytes'),
    });
    await queue.limits.change({ rateLimit: { limit: 7, ...absent('periodMs burst') }, groups: undefined });
    await queue.limits.change({
      ...absent('rateLimit maxRunning'),
      groups: { rateLimit: absent('limit periodMs burst') },
    });
    expect(await queue.limits.get()).toEqual({
      rateLimit: { ...rateLimit, limit: 7 },
      groups: { rateLimit },
      source: 'set',
    });
  });

  it('leaves a group the limits of all groups', async () => {
    const ofOne = { weight: 2, ...absent('maxRunning rateLimit maxPending maxPendingBytes onDeadHead') };
    const queue = newQueue({ groups: { overrides: (name) => (name === 'by code' ? ofOne : undefined) } });
    await queue.limits.set({ groups: { maxRunning: 1 } });
    await queue.groups.set('by hand', ofOne);
    const groups = ['by code', 'by code', 'by hand', 'by hand'];
    await queue.enqueueMany(groups.map((group) => ({ payload: group, group })));
    const claimed = (await queue.claimMany(9)).map(({ payload }) => payload);
    expect(claimed).toEqual(['by code', 'by hand']);
    expect((await queue.groups.get('by hand')).limits).toStrictEqual({ weight: 2 });
  });
});
