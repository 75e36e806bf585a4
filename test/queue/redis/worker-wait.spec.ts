import { expect, it, jest } from '@jest/globals';
import type { Connection } from '#queue/redis/connection.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueCalls } from '#queue/scripts/calls/all-calls.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { RedisWorkerWait } from '#queue/scripts/worker-wait.js';
import { connect } from '../../support/redis/redis.js';

it('names at most 3,900 keys, so that a server of 3,999 arguments takes the wait', async () => {
  const redis = connect();
  const connection = { duplicate: () => redis, isSharded: false } as unknown as Connection;
  const queues = Array.from({ length: 5_000 }, (_, i) => ({ keys: new QueueKeys(`wait-${i}`) }) as QueueCalls);
  const sent = jest.spyOn(redis, 'bzpopminBuffer');

  const { refusal } = await new RedisWorkerWait(connection, 'worker', queues, silentLogger).wait(queues, 5, [], []);

  expect(refusal).toBeUndefined();
  expect(sent.mock.calls.map((words) => words.length)).toEqual([3_901]); // the keys and the time
});
