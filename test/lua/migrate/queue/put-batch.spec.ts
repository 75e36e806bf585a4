import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('migrate/queue/put-batch.lua: makes the copy the record once, and drops a copy that is late', async () => {
  const { to, target, right } = await newPlaces();
  const copy = async () => {
    await target.client.hset(
      target.copyKey(right, 'b', ''),
      'created_at_ms',
      '5',
      'sealed_at_ms',
      '6',
      'total',
      '1',
    );
    await target.client.zadd(target.copyKey(right, 'b', '/open'), '1', 'm');
  };
  const batch = { id: 'b', key: '1-b1', createdAt: '5', lengths: [3, 1, 0, 0] };
  expect(await target.putBatch(right, batch)).toBe('lost');
  await copy();
  expect(await target.putBatch(right, batch)).toBe('new');
  await copy();
  expect(await target.putBatch(right, batch)).toBe('known');
  expect(await target.putBatch(right, { ...batch, key: '1-b2' })).toBe('existing');
  expect(await to.findBatch('b').status()).toMatchObject({ total: 1 });
  expect(await target.client.exists(target.copyKey(right, 'b', ''))).toBe(0);
});
