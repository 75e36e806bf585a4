import { expect, it } from '@jest/globals';
import { wrongKeys } from '#queue/transport/wrong-keys.js';
import { typesOfQueue } from '#queue/validation/key-types.js';
import { expectUnchanged, queueWith } from '../../support/queue/queue-state.js';

it('check-keys.lua: returns the keys of a wrong type, and changes nothing', async () => {
  const q = await queueWith('a');
  const types = typesOfQueue(q.keys.base);
  expect(await wrongKeys(q.redis, types)).toEqual([]);
  const spoilt = new Map([...types, [q.keys.pending, 'zset']]);
  await expectUnchanged(q, async () =>
    expect(await wrongKeys(q.redis, spoilt)).toEqual([{ key: q.keys.pending, expected: 'zset', found: 'list' }]),
  );
});
