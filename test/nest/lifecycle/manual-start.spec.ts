// `worker: 'manual'`: the handlers of a process run from the call that starts its workers.
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { JobQueueService, type Job } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { KeptLog, startApp, handlerOf } from '../app.js';

function counted() {
  const name = uniqueQueueName();
  const seen: unknown[] = [];

  const Handler = handlerOf(name, ({ payload }: Job) => void seen.push(payload));
  return { name, seen, Handler };
}

it('runs no job before the call, and those that wait after it', async () => {
  const { name, seen, Handler } = counted();
  const app = await startApp({ providers: [Handler], jobs: { worker: 'manual' } });
  const jobs = app.get(JobQueueService);
  const first = await jobs.enqueue(name, 1);
  expect((await jobs.queue(name).stats()).pending).toBe(1);
  expect(seen).toEqual([]);
  await jobs.startWorkers();
  await first.result();
  expect(seen).toEqual([1]);
  await jobs.startWorkers();
  await (await jobs.enqueue(name, 2)).result();
  expect(seen).toEqual([1, 2]);
});

it('starts at the end of the bootstrap if a hook of the app asks for it', async () => {
  const { name, seen, Handler } = counted();

  @Injectable()
  class Warm implements OnApplicationBootstrap {
    constructor(private readonly jobs: JobQueueService) {}
    async onApplicationBootstrap(): Promise<void> {
      await this.jobs.startWorkers();
    }
  }
  const app = await startApp({ providers: [Handler, Warm], jobs: { worker: 'manual' } });
  await app.get(JobQueueService).enqueue(name, 1);
  await eventually(() => seen.length === 1);
});

it('is no fault for health before the call', async () => {
  const { Handler } = counted();
  const app = await startApp({ providers: [Handler], jobs: { worker: 'manual' } });
  const { jobs } = await app.get(JobQueueHealthIndicator).check('jobs', { otherQueues: false });
  expect(jobs).toMatchObject({ status: 'up' });
});

it('says in the log that nothing runs yet', async () => {
  const { Handler } = counted();
  const log = new KeptLog();
  await startApp({ providers: [Handler], jobs: { worker: 'manual' }, log });
  expect(log.lines).toContainEqual(expect.stringContaining('Worker: none, until the app calls startWorkers()'));
});

it('is refused with worker: false, and after a drain', async () => {
  const { Handler } = counted();
  const producer = await startApp({ providers: [Handler], jobs: { worker: false } });
  await expect(producer.get(JobQueueService).startWorkers()).rejects.toThrow(
    "startWorkers: expected a process with worker: 'manual' or true, found worker: false",
  );
  const app = await startApp({ providers: [Handler], jobs: { worker: 'manual' } });
  await app.get(JobQueueService).drain();
  await expect(app.get(JobQueueService).startWorkers()).rejects.toThrow('a process that stops');
});

it('does nothing beside workers that run already', async () => {
  const { name, seen, Handler } = counted();
  const app = await startApp({ providers: [Handler] });
  const jobs = app.get(JobQueueService);
  await jobs.startWorkers();
  await (await jobs.enqueue(name, 1)).result();
  expect(seen).toEqual([1]);
});

it('resolves each of two calls at once when the workers run', async () => {
  const { Handler } = counted();
  const log = new KeptLog();
  const app = await startApp({ providers: [Handler], jobs: { worker: 'manual' }, log });
  const jobs = app.get(JobQueueService);
  const serving = () => log.lines.filter((line) => line.includes(' serves ')).length;
  const first = jobs.startWorkers();
  await jobs.startWorkers();
  expect(serving()).toBe(1);
  await first;
  expect(log.lines.filter((line) => line.includes('Maintenance: '))).toHaveLength(1);
});

it('starts one worker if the call comes while Redis is away', async () => {
  const { name, seen, Handler } = counted();
  const log = new KeptLog();
  const port = await freePort();
  const redis = `redis://127.0.0.1:${port}`;
  const app = await startApp({ providers: [Handler], jobs: { worker: 'manual', redis }, log });
  const jobs = app.get(JobQueueService);
  const running = jobs.startWorkers();
  const server = await startOwnRedis({ port });
  await running;
  await (await jobs.enqueue(name, 1)).result();
  expect(seen).toEqual([1]);
  expect(log.lines.filter((line) => line.includes(' serves '))).toHaveLength(1);
  expect(log.lines.filter((line) => line.includes('Worker: none'))).toEqual([]);
  await app.close();
  await server.stop();
});
