import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('lets maintenance check a batch that is there, and none that is not', async () => {
  const { to, target } = await newPlaces();
  const batch = to.batch();
  await batch.add('x', 1, { id: 'm' });
  await batch.seal();
  await target.client.zrem(target.keys.batches, batch.id);
  await target.watch('watch-batch', batch.id);
  await target.watch('watch-batch', 'none');
  expect(await target.client.zrange(target.keys.batches, '0', '-1')).toEqual([batch.id]);
});

it('gives a batch back with its record', async () => {
  const { from, old } = await newPlaces();
  const batch = from.batch();
  await batch.add('x', 1, { id: 'm' });
  await batch.seal();
  await old.takeBatch(batch.id);
  await old.settle('batch-back', batch.id);
  await old.settle('batch-back', batch.id);
  expect(await batch.status()).toMatchObject({ total: 1 });
  const checkedAt = Number(await old.client.zscore(old.keys.batches, batch.id));
  expect(Math.abs(checkedAt - Date.now())).toBeLessThan(60_000);
  expect(await old.client.exists(old.moving('watch'), old.moving('batches'))).toBe(0);
});
