import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('migrate/queue/take-schedule.lua: pauses a schedule, and keeps its definition and its due time', async () => {
  const { from, old } = await newPlaces();
  await from.schedules.upsert('s', { everyMs: 60_000 }, { name: 'x', payload: { n: 1 } });
  const due = await old.client.zscore(old.keys.scheduleDue, 's');
  expect(await old.takeSchedule('s')).toBe(true);
  expect(await old.takeSchedule('s')).toBe(false);
  expect(await old.takeSchedule('none')).toBe(false);
  const kept = JSON.parse((await old.client.hget(old.moving('schedules'), 's'))!) as { due: string };
  expect(kept).toMatchObject({ due });
  expect((await from.schedules.get('s'))?.pausedAt).not.toBeNull();
});
