import { expect, it } from '@jest/globals';
import { SeededBee } from '../../../support/bullmq/seed-bee.js';
import { describeGiveBack } from '../../../support/bullmq/transit-cases.js';
import { connect } from '../../../support/redis/redis.js';

describeGiveBack(SeededBee);

it('keeps the due time of a delayed job, and wakes the workers for it', async () => {
  const [old, listener] = [new SeededBee(connect()), connect()];
  await old.source.begin();
  await old.delayed('later', 1_900_000_000_123);
  await old.source.take('delayed', ['later']);
  const told = new Promise((resolve) => listener.once('message', (_channel, text) => resolve(text)));
  await listener.subscribe(old.key('earlierDelayed'));
  await old.source.giveBack(await old.source.inTransit());
  expect(await old.redis.zscore(old.key('delayed'), 'later')).toBe('1900000000123');
  expect(await told).toBe('1900000000123');
});
