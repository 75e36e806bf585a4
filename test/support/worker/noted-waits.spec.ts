// The look at the blocking waits of workers.
import { expect, it } from '@jest/globals';
import { connect, uniqueQueueName } from '../redis/redis.js';
import { NotedWaits } from './noted-waits.js';

it('sees a wait that begins after it, although none lasted when it began', async () => {
  const look = new NotedWaits().fromNow();
  await connect().bzpopminBuffer(uniqueQueueName(), 0.01);
  expect(look.lastedFully(0)).toBe(true);
});

it('leaves out the waits that had ended before it', async () => {
  const waits = new NotedWaits();
  await connect().bzpopminBuffer(uniqueQueueName(), 0.01);
  expect(waits.fromNow().waits()).toEqual([]);
});
