// Deploys and outages of the last hour, which explain a change of the figures.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { cli } from '../run-cli.js';

const MINUTE = 60_000;

it('are below the table of one queue, and in JSON', async () => {
  const clock = { nowMs: Date.now() - 20 * MINUTE };
  const queue = new JobQueue(connectClocked(clock), uniqueQueueName());
  const sweepAfter = async (minutes: number, version: string) => {
    clock.nowMs += minutes * MINUTE;
    await new Sweeper([queue], 5_000, silentLogger, { version }).runOnce();
  };
  await queue.enqueue(1);
  await sweepAfter(0, '1.4.0');
  await sweepAfter(1, '1.4.0');
  await sweepAfter(12, '1.5.0\u001B[31m');
  const shown = await cli(['stats', queue.name]);
  expect(shown.stdout).toMatch(/^ {2}deploy {2}version 1\.5\.0\S*, \d(\.\d)? min ago$/m);
  expect(shown.stdout).toMatch(/^ {2}outage {2}no process maintained the queue for 1\d min, \d+ min ago$/m);
  expect(shown.stdout).toMatch(/deploy.*1\.5\.0[^]*outage[^]*deploy.*1\.4\.0/);
  expect(shown.stdout).not.toContain('\u001B');
  const json = JSON.parse((await cli(['stats', queue.name, '--json'])).stdout) as { queues: object };
  expect(json.queues).toMatchObject({
    [queue.name]: {
      marks: expect.arrayContaining([{ kind: 'deploy', at: expect.any(String), version: '1.4.0' }]),
    },
  });
  queue.close();
}, 60_000);
