import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('writes limits where none were set, and leaves those that were', async () => {
  const { to, target } = await newPlaces();
  expect(await target.putSettings('queue', ['limits_set', '1', 'max_running', '3'])).toBe(true);
  expect((await to.limits.get()).maxRunning).toBe(3);
  expect(await target.putSettings('queue', ['max_running', '9'])).toBe(false);
  expect(await target.putSettings('groups', ['max_running', '1'])).toBe(true);
  expect(await target.putSettings('group', ['weight', '4', 'limits_set', '1'], { name: 'g' })).toBe(true);
  expect(await target.putSettings('group', ['weight', '5'], { name: 'g' })).toBe(false);
  expect((await to.groups.get('g')).limits).toMatchObject({ weight: 4 });
});

it('remembers ids and unique keys', async () => {
  const { to, target } = await newPlaces();
  const end = String(Date.now() + 60_000);
  await target.putSettings('ended', ['mine', end], { until: end });
  await target.putSettings('unique', ['k', `owner\t${end}`]);
  expect((await to.enqueue(1, { id: 'mine' })).outcome).toBe('existing');
  expect(await to.enqueue(1, { unique: { key: 'k', for: { ms: 60_000 } } })).toMatchObject({ id: 'owner' });
});
