import { expect, it } from '@jest/globals';
import { OvertakenError } from '#migrate/bullmq-source.js';
import { SeededQueue } from '../../../support/bullmq/seed-bullmq.js';
import { connect } from '../../../support/redis/redis.js';

const NEXT = 1_900_000_000_000;

async function seeded() {
  const old = new SeededQueue(connect());
  await old.source.begin();
  await old.scheduler('nightly', NEXT, { pattern: '0 3 * * *' });
  const [scheduler] = await old.source.schedulers();
  return { old, scheduler: scheduler! };
}

it('removes the scheduler, returns the fields of a schedule, and leaves the next job', async () => {
  const { old, scheduler } = await seeded();
  expect(await old.source.takeScheduler(scheduler, '{"kept":1}')).toBe(true);
  expect(await old.source.schedulers()).toEqual([]);
  expect(await old.source.schedulersInTransit()).toEqual({ nightly: '{"kept":1}' });
  expect(await old.keysLeft()).toEqual(['delayed', `repeat:nightly:${NEXT}`]);
});

it('leaves a scheduler whose next time has changed, and does nothing when repeated', async () => {
  const { old, scheduler } = await seeded();
  await old.redis.zadd(old.key('repeat'), NEXT + 1, 'nightly');
  expect(await old.source.takeScheduler(scheduler, '1')).toBe(false);
  expect(await old.source.takeScheduler({ ...scheduler, nextMs: NEXT + 1 }, '2')).toBe(true);
  expect(await old.source.takeScheduler({ ...scheduler, nextMs: NEXT + 1 }, '3')).toBe(false);
  expect(await old.source.schedulersInTransit()).toEqual({ nightly: '2' });
});

it('refuses a mover that another has overtaken', async () => {
  const { old, scheduler } = await seeded();
  await old.redis.hincrby(old.source.keys.mover, 'fence', 1);
  await expect(old.source.takeScheduler(scheduler, '1')).rejects.toThrow(OvertakenError);
  expect(await old.source.schedulers()).toHaveLength(1);
});
