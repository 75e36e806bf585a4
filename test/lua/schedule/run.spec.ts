import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { testSchedules } from '../../support/queue/schedules.js';

it('enqueues its job beside the ticks, also while it is paused; repeated it changes nothing', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', undefined, { payload: 5 }));
  await q.run(schedules.scripts.pause({ id: 's' }));
  const call = schedules.scripts.run({ id: 's', jobId: 's:now' });
  expect(await q.run(call)).toEqual({ outcome: 'added', jobId: 's:now', name: q.name });
  expect(await q.job('s:now')).toMatchObject({ payload: '5', schedule: 's' });
  expect(await expectUnchanged(q, () => q.run(call))).toEqual({
    outcome: 'exists',
    jobId: 's:now',
    name: q.name,
  });
  expect(await q.run(schedules.scripts.run({ id: 't', jobId: 't:now' }))).toMatchObject({ outcome: 'missing' });
});

it('notes the run with its time', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s'));
  const call = schedules.scripts.run({ id: 's', jobId: '@schedule:s:3f-1' });
  await q.run(call);
  await q.run(call);
  expect(await schedules.field('s', 'runs')).toMatch(/^\d{13}\/3f-1=pending$/);
  const [record] = await q.run(schedules.scripts.get({ id: 's' }));
  expect(record!.runs).toMatchObject([{ jobId: '@schedule:s:3f-1', status: 'pending', isByHand: true }]);
});

it('without overlap answers the job that is unfinished', async () => {
  const { q, schedules } = testSchedules();
  await schedules.put(schedules.define('s', undefined, { overlap: false }));
  await q.run(schedules.scripts.run({ id: 's', jobId: 's:1' }));
  expect(await q.run(schedules.scripts.run({ id: 's', jobId: 's:2' }))).toEqual({
    outcome: 'kept',
    jobId: 's:1',
    name: q.name,
  });
  expect(await q.pending()).toEqual(['s:1']);
  await schedules.put(schedules.define('s', undefined, { overlap: false, name: 'newer' }));
  expect(await q.run(schedules.scripts.run({ id: 's', jobId: 's:2' }))).toMatchObject({
    outcome: 'kept',
    name: q.name,
  });
});
