// The bounds after a fault, with the module's connections from a URL. The worker and the producer are separate apps.
// While a dependency is away, health is red; afterwards it is green by itself.
import { describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { handlerOf, startApp } from '../../nest/app.js';
import { BACK_MS } from '../../support/queue/bounds.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, sleep } from '../../support/faults/wait.js';

/** The time that a worker may have no reply to a fetch, here; an idle one has one each second. */
const SILENT_MS = 1_500;

/** Starts a worker and a producer, each with its URL, which have processed a job. */
async function apps(urls: { worker: string; producer: string }) {
  const name = uniqueQueueName();
  const options = { enqueueTimeoutMs: 1_000, maintenance: false, audit: 'off' } as const;
  const worker = await startApp({ jobs: { ...options, redis: urls.worker }, providers: [handlerOf(name)] });
  const producer = await startApp({ jobs: { ...options, redis: urls.producer, worker: false } });
  const jobs = producer.get(JobQueueService);
  const work = async (id?: string) => (await jobs.enqueue(name, null, { id })).result();
  expect(await work()).toBe('done');
  return { worker, producer, work };
}

async function statusOf(app: INestApplication): Promise<'up' | 'down'> {
  const limits = { maxSinceLastFetchMs: SILENT_MS, timeoutMs: 200 };
  return (await app.get(JobQueueHealthIndicator).check('jobs', limits)).jobs.status;
}

const turns = (app: INestApplication, status: 'up' | 'down') =>
  eventually(async () => (await statusOf(app)) === status, { what: `health that is ${status}` });

/** Repeats a job's enqueue, by its id, until it has its result; answers how long that took, in ms. */
async function untilDone(work: (id: string) => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  const id = uniqueQueueName('job');
  await eventually(() => work(id).catch(() => undefined), { what: 'a job that is done' });
  return performance.now() - begun;
}

describe('connections that the module makes from a URL', () => {
  it('continue within 2 s after they were cut', async () => {
    const proxy = await FaultProxy.start();
    const { work } = await apps({ worker: proxy.url, producer: proxy.url });
    for (let i = 0; i < 2; i++) {
      proxy.cut();
      expect(await untilDone(work)).toBeLessThan(BACK_MS);
    }
  });

  it('continue within 2 s after Redis is back, however long they had tried; health is red until then', async () => {
    const server = await startOwnRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    const { worker, producer, work } = await apps({ worker: server.url, producer: server.url });
    await Promise.all([turns(worker, 'up'), turns(producer, 'up')]);
    await server.kill();
    await Promise.all([turns(worker, 'down'), turns(producer, 'down')]);
    await sleep(1_000); // by then the pauses between two attempts are long
    expect([await statusOf(worker), await statusOf(producer)]).toEqual(['down', 'down']);
    await server.restart();
    expect(await untilDone(work)).toBeLessThan(BACK_MS);
    await Promise.all([turns(worker, 'up'), turns(producer, 'up')]);
  });

  it('are replaced within 5 s where they are half-open; health is red beyond its threshold, and green after', async () => {
    const server = await startOwnRedis();
    const [left, right] = [await FaultProxy.start(server.url), await FaultProxy.start(server.url)];
    const { worker, producer, work } = await apps({ worker: left.url, producer: right.url });
    await Promise.all([turns(worker, 'up'), turns(producer, 'up')]);
    const redis = connect({}, server.url);
    await eventually(async () => /flags=\w*b/.test(String(await redis.client('LIST'))), {
      what: 'a worker that waits',
    });
    left.pause((requests) => /bzpopmin/i.test(requests)); // what it waits on; its other connections answer
    right.pause();
    right.heal(); // what exists stays half-open, and new ones work
    const reds = Promise.all([turns(worker, 'down'), turns(producer, 'down')]);
    const tookMs = await untilDone(work);
    expect(tookMs).toBeGreaterThan(SILENT_MS); // it was really half-open
    expect(tookMs).toBeLessThan(5_000);
    await reds;
    await Promise.all([turns(worker, 'up'), turns(producer, 'up')]);
  });
});
