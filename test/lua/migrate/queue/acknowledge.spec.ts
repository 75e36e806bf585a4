import { expect, it } from '@jest/globals';
import { keysOfMove } from '../../../support/migrate/queue-scene.js';
import { newPlaces } from '../../../support/migrate/places.js';

it('migrate/queue/acknowledge.lua: forgets the jobs of these entries, and no others', async () => {
  const { from, old } = await newPlaces();
  for (const id of ['a', 'b']) await from.enqueue(1, { id });
  await old.take('pending', ['a', 'b']);
  const [a, b] = await old.inTransit();
  await old.acknowledge([a!, { ...b!, entry: 'another' }]);
  await old.acknowledge([a!]);
  expect((await old.inTransit()).map(({ id }) => id)).toEqual(['b']);
  await old.acknowledge([b!]);
  expect(await keysOfMove(from)).toEqual([]);
});
