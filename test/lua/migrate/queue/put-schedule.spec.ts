import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('migrate/queue/put-schedule.lua: creates a schedule once, and leaves one that is there', async () => {
  const { from, to, old, target, right } = await newPlaces();
  await from.schedules.upsert('s', { everyMs: 60_000 }, { name: 'x', payload: { n: 1 } });
  const before = await from.schedules.get('s');
  await old.takeSchedule('s');
  const kept = JSON.parse((await old.client.hget(old.moving('schedules'), 's'))!) as {
    due: string;
    fields: string[];
  };
  expect(await target.putSchedule(right, 's', kept)).toBe(true);
  expect(await target.putSchedule(right, 's', kept)).toBe(false);
  expect(await to.schedules.get('s')).toEqual(before);
  await old.settle('schedule', 's');
});
