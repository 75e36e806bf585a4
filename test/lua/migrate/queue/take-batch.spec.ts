import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('takes a sealed batch once, and leaves an open one', async () => {
  const { from, old } = await newPlaces();
  const batch = from.batch({ then: { name: 'last' } });
  await batch.add('x', 1, { id: 'm' });
  expect(await old.takeBatch(batch.id)).toBe('open');
  await batch.seal();
  expect(await old.takeBatch(batch.id)).toBe('taken');
  expect(await old.takeBatch(batch.id)).toBe('gone');
  expect(await old.client.hkeys(old.moving('batches'))).toEqual([batch.id]);
  await old.settle('batch-back', batch.id);
  expect(await batch.status()).toMatchObject({ total: 1 });
});

it('leaves one while a job runs', async () => {
  const { from, old } = await newPlaces();
  await from.resume();
  await from.enqueue(1, { id: 'runs' });
  const running = (await from.claim())!;
  const batch = from.batch();
  await batch.add('x', 1, { id: 'm' });
  await batch.seal();
  expect(await old.takeBatch(batch.id)).toBe('running');
  await from.complete(running, null);
});
