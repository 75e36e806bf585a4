import { describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { JobQueueService, MAINTENANCE_CRON_JOB } from 'nest-job-queue';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startApp, type TestApp, handlerOf } from '../app.js';
import { gate } from '../../support/faults/wait.js';

/** Makes a job whose worker has died: claimed, with a claim that expired long ago. */
async function lostJob(name: string): Promise<string> {
  const app = await startApp({ jobs: { worker: false, maintenance: false } });
  const queue = app.get(JobQueueService).queue(name);
  const { id } = await queue.enqueue({ n: 1 });
  await queue.claim();
  await connect().zadd(`queue:${name}:claims`, 1, id);
  return id;
}

function handler(name: string) {
  const Handler = handlerOf(name, (job: { attempt: number }) => job.attempt);
  return Handler;
}

/** Expects that an app of these parts reclaims the lost job and completes it. */
async function expectRecovery(parts: TestApp): Promise<void> {
  const name = uniqueQueueName();
  const id = await lostJob(name);
  const app = await startApp({ ...parts, providers: [handler(name)] });
  expect(await app.get(JobQueueService).result(name, id)).toBe(2);
}

describe('the reclaim', () => {
  it('runs by itself where the app has no scheduler', async () => {
    await expectRecovery({ jobs: { maintenance: { everyMs: 100 } } });
  });

  it('runs in the registry where the app has one', async () => {
    await expectRecovery({ jobs: { maintenance: { everyMs: 100 } }, imports: [ScheduleModule.forRoot()] });
  });

  it('runs by a cron expression', async () => {
    await expectRecovery({ jobs: { maintenance: { cron: '* * * * * *', timeZone: 'Europe/Berlin' } } });
  });

  it('covers queues that this process only knows by name', async () => {
    const name = uniqueQueueName();
    const id = await lostJob(name);
    const app = await startApp({ jobs: { worker: false, maintenance: { everyMs: 100 } } });
    const worker = await startApp({ jobs: { maintenance: false }, providers: [handler(name)] });
    app.get(JobQueueService).queue(name);
    expect(await worker.get(JobQueueService).result(name, id)).toBe(2);
  });

  it('does not run when it is off', async () => {
    const name = uniqueQueueName();
    await lostJob(name);
    const app = await startApp({
      jobs: { maintenance: false },
      imports: [ScheduleModule.forRoot()],
      providers: [handler(name)],
    });
    expect(app.get(SchedulerRegistry).getCronJobs().size).toBe(0);
    expect(await app.get(JobQueueService).queue(name).stats()).toMatchObject({ expiredClaims: 1 });
  });

  it('is a cron job that operators see, with the right next date, and that ends with the app', async () => {
    const app = await startApp({ jobs: { maintenance: { everyMs: 90_000 } }, imports: [ScheduleModule.forRoot()] });
    const registry = app.get(SchedulerRegistry);
    const job = registry.getCronJob(MAINTENANCE_CRON_JOB);
    expect(job.isActive).toBe(true);
    const inMs = job.nextDate().toMillis() - Date.now();
    expect(inMs).toBeGreaterThan(80_000);
    expect(inMs).toBeLessThanOrEqual(90_000);
    await app.close();
    expect(job.isActive).toBe(false);
    expect(registry.getCronJobs().has(MAINTENANCE_CRON_JOB)).toBe(false);
  });

  it("leaves the app's own schedules as they are: one timer drives an interval", async () => {
    const timers = jest.spyOn(globalThis, 'setInterval');
    const fired = gate();
    @Injectable()
    class Own {
      @Interval(53)
      tick() {
        fired.open();
      }
    }
    const app = await startApp({ imports: [ScheduleModule.forRoot()], providers: [Own] });
    expect(app.get(SchedulerRegistry).getIntervals()).toHaveLength(1);
    await fired.promise;
    expect(timers.mock.calls.filter(([, ms]) => ms === 53)).toHaveLength(1);
  });
});
