import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('migrate/queue/put-ended.lua: copies ended jobs once, the newest first in their history', async () => {
  const { to, target } = await newPlaces();
  const ended = ['a', 'b'].map((id) => ({
    id,
    leftMs: 60_000,
    fields: [
      'name',
      'x',
      'payload',
      '1',
      'status',
      'completed',
      'claim_token',
      '',
      'result',
      '2',
      'completed_at_ms',
      '5',
    ],
  }));
  expect(await target.putEnded('completed', ended)).toBe(2);
  expect(await target.putEnded('completed', ended)).toBe(0);
  expect((await to.list('completed')).map(({ id }) => id)).toEqual(['b', 'a']);
  expect(await to.get('a')).toMatchObject({ status: 'completed', result: 2 });
  const left = await target.client.pttl(target.keys.job('a'));
  expect(left).toBeGreaterThan(50_000);
  expect(left).toBeLessThanOrEqual(60_000);
});
