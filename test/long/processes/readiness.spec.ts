// The replies to a probe of worker processes while Redis goes away and returns.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { startOwnRedis, type OwnRedis } from '../../support/redis/own-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { patiently } from '../../support/faults/wait.js';
import { SOON, steerWorkers } from './steered-workers.js';

// Each test starts several apps, on a machine that also runs the other tests.
jest.setTimeout(90_000);

it.each<[string, (server: OwnRedis) => Promise<void>, (server: OwnRedis) => Promise<void>]>([
  ['stops', (server) => server.kill(), (server) => server.restart()],
  ['freezes', (server) => server.kill('SIGSTOP'), (server) => server.kill('SIGCONT')],
])('are not ready while Redis %s, and ready again after it', async (_, leave, comeBack) => {
  const server = await startOwnRedis();
  const readyFile = join(tmpdir(), uniqueQueueName('ready'));
  const { workers, events } = await steerWorkers({ env: { REDIS_URL: server.url }, readyFile });
  const states = () => workers.status().map(({ state }) => state);
  const seen = () => [workers.ready, existsSync(readyFile), ...states()];
  await workers.resize(2);
  await workers.whenReady();
  expect(seen()).toEqual([true, true, 'running', 'running']);
  const pids = workers.status().map(({ pid }) => pid);

  await leave(server);
  await patiently(() => states().every((state) => state === 'disconnected'), SOON);
  expect(seen()).toEqual([false, false, 'disconnected', 'disconnected']);

  const ready = workers.whenReady();
  await comeBack(server);
  expect(await ready).toBe(true);
  expect(seen()).toEqual([true, true, 'running', 'running']);
  // The same processes: nothing was restarted.
  expect(workers.status().map(({ pid }) => pid)).toEqual(pids);
  const first = events.filter(({ name }) => name === 'worker-1').map(({ type }) => type);
  expect(first).toEqual(['started', 'running', 'disconnected', 'running']);
});
