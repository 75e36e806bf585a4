// Hot reload creates and closes the app in one process repeatedly: nothing of earlier apps may be left.
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { JobHandler, JobQueueService, RecurringJob } from 'nest-job-queue';
import { JobQueueTestingModule } from 'nest-job-queue/testing';
import { eventually } from '../../support/faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { startApp } from '../app.js';

const TIMES = 15;
const OFTEN_MS = 100;

const name = uniqueQueueName('hot');

@JobHandler(name)
@RecurringJob({ everyMs: 3_600_000 })
class Handler {
  handle() {
    return 'done';
  }
}

/** Counts the resources that keep the process alive, by their kinds, and its listeners. */
function resources(): Record<string, number> {
  const kinds = process.getActiveResourcesInfo();
  const counts = Object.fromEntries(
    [...new Set(kinds)].map((kind) => [kind, kinds.filter((each) => each === kind).length]),
  );
  const listeners = process.eventNames().reduce((sum, event) => sum + process.listenerCount(event), 0);
  return { ...counts, listeners };
}

/** Returns the resources of which there are more than before. */
function grown(before: Record<string, number>): string[] {
  const now = resources();
  return Object.keys(now).flatMap((kind) => (now[kind]! > (before[kind] ?? 0) ? [`${now[kind]} ${kind}`] : []));
}

async function expectNoMoreThan(before: Record<string, number>): Promise<void> {
  await eventually(() => grown(before).length === 0, { what: 'no more resources than before' }).catch(() => {});
  expect(grown(before)).toEqual([]);
}

async function reloadOnRedis(): Promise<void> {
  const url = new URL(testRedisUrl());
  const db = Number(url.pathname.slice(1));
  const options = { host: url.hostname, port: Number(url.port), db, connectionName: name };
  const jobs = { redis: options, maintenance: { everyMs: OFTEN_MS } };
  const app = await startApp({ jobs, imports: [ScheduleModule.forRoot()], providers: [Handler] });
  const service = app.get(JobQueueService);
  service.events.subscribe(() => {});
  const job = await service.enqueue(name, {});
  expect(await job.result()).toBe('done');
  await app.close();
}

async function reloadInMemory(): Promise<void> {
  const module = JobQueueTestingModule.forTest();
  const app = await startApp({ module, imports: [ScheduleModule.forRoot()], providers: [Handler] });
  const job = await app.get(JobQueueService).enqueue(name, {});
  expect(await job.result()).toBe('done');
  await app.close();
}

describe(`${TIMES} creates and closes of an app in one process`, () => {
  it('leave no connection, timer or listener, on Redis', async () => {
    const redis = connect();
    const connections = async () =>
      String(await redis.client('LIST'))
        .split('\n')
        .filter((line) => line.includes(`name=${name}`));
    await reloadOnRedis();
    await eventually(async () => (await connections()).length === 0, { what: 'no connection of the first app' });
    const before = resources();
    for (let i = 1; i < TIMES; i++) await reloadOnRedis();
    await eventually(async () => (await connections()).length === 0, { what: 'no connection of an app' });
    await expectNoMoreThan(before);
  }, 60_000);

  it('leave no timer or listener, in memory', async () => {
    await reloadInMemory();
    const before = resources();
    for (let i = 1; i < TIMES; i++) await reloadInMemory();
    await expectNoMoreThan(before);
  }, 60_000);
});
