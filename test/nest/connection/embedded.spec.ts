// forRoot({ redis: 'memory' }): an app without a server, by the time of the process.
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  InjectJobQueueService,
  InvalidOptionError,
  JobHandler,
  JobQueueModule,
  JobQueueService,
  redisAccess,
  type Job,
} from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { KeptLog, startApp } from '../app.js';
import { startDashboard } from '../../dashboard/dashboard-app.js';

const IN_MEMORY = { redis: 'memory', maintenance: { everyMs: 100 } } as const;
const env = { ...process.env };

afterEach(() => {
  process.env = { ...env };
});

@Injectable()
class Mails {
  @JobHandler('mail', { maxAttempts: 3, backoff: 0 })
  send({ payload, attempt }: Job<{ to: string }>) {
    if (payload.to === 'nobody') throw new Error('No such person');
    if (attempt === 1) throw new Error('The mail server is busy');
    return `sent to ${payload.to} at attempt ${attempt}`;
  }
}

describe('an app in memory', () => {
  it('runs, retries and delays jobs, answers health, and says in one line where they are', async () => {
    const log = new KeptLog();
    const app = await startApp({ jobs: IN_MEMORY, providers: [Mails], log });
    const jobs = app.get(JobQueueService);
    const [now, later] = await Promise.all([
      jobs.enqueue('mail', { to: 'ada' }),
      jobs.enqueue('mail', { to: 'grace' }, { delayMs: 100 }),
    ]);
    expect(await now.result({ timeoutMs: 10_000 })).toBe('sent to ada at attempt 2');
    expect(await later.result({ timeoutMs: 10_000 })).toBe('sent to grace at attempt 2');
    const dead = await jobs.enqueue('mail', { to: 'nobody' });
    await expect(dead.result({ timeoutMs: 10_000 })).rejects.toThrow('No such person');
    expect(await app.get(JobQueueHealthIndicator).check()).toMatchObject({ jobQueue: { status: 'up' } });
    expect(log.lines.filter((line) => line.includes('memory'))).toEqual([
      'log Jobs are in the memory of this process, without Redis: they are lost at its end, and no other process sees them',
    ]);
    await expect(redisAccess(jobs.queue('mail'))).rejects.toThrow('expected a queue on Redis, found one in memory');
  });

  it('shares its memory with its other connections, and with no other app', async () => {
    @Injectable()
    class Second {
      constructor(@InjectJobQueueService('second') readonly jobs: JobQueueService) {}
    }
    const imports = [JobQueueModule.forRoot({ ...IN_MEMORY, name: 'second', worker: false })];
    const app = await startApp({ jobs: { ...IN_MEMORY, worker: false }, imports, providers: [Second] });
    const other = await startApp({ jobs: { ...IN_MEMORY, worker: false } });
    const { id } = await app.get(JobQueueService).enqueue('letter', { to: 'ada' });
    expect(await app.get(Second).jobs.get('letter', id)).toMatchObject({ id, status: 'pending' });
    expect(await other.get(JobQueueService).get('letter', id)).toBeNull();
  });

  it('refuses an enqueue after its end, as an app with a server does', async () => {
    const app = await startApp({ jobs: IN_MEMORY });
    const jobs = app.get(JobQueueService);
    await jobs.enqueue('letter', null);
    await app.close();
    await expect(jobs.enqueue('letter', null)).rejects.toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining('The app is closed, and its queues in memory with it. Nothing was written.'),
    });
  });

  it('has a dashboard, whose actions are done and logged', async () => {
    const { jobs, get, post } = await startDashboard({ jobs: IN_MEMORY, providers: [Mails] });
    const { id } = await jobs.enqueue('mail', { to: 'nobody' });
    await expect(jobs.result('mail', id, { timeoutMs: 10_000 })).rejects.toThrow('No such person');
    expect((await get('/api/overview')).body).toMatchObject({ overview: { queues: [{ name: 'mail' }], runs: [] } });
    const done = await post('/api/jobs/act', { queue: 'mail', action: 'discard', state: 'failed', ids: [id] });
    expect([done.status, done.body]).toMatchObject([200, { done: 1 }]);
    const { body } = await get('/api/log?queue=mail');
    expect(body).toMatchObject({ entries: [{ queue: 'mail', action: 'discard', count: 1 }] });
  });
});

describe('in production', () => {
  it.each([
    ['redis', { redis: 'memory' }, undefined, 'JobQueueModule.forRoot.redis'],
    ['REDIS_URL', {}, 'memory', 'REDIS_URL'],
  ])('is refused where %s says so', (_, options, url, subject) => {
    process.env['NODE_ENV'] = 'production';
    if (url) process.env['REDIS_URL'] = url;
    return expect(startApp({ module: JobQueueModule.forRoot(options) })).rejects.toThrow(
      new InvalidOptionError(
        subject,
        'a Redis where NODE_ENV is production',
        "'memory'",
        'Set REDIS_URL, or `memoryInProduction: true` if every job may be lost at the end of the process.',
      ),
    );
  });

  it('runs where the app insists', async () => {
    process.env['NODE_ENV'] = 'production';
    const app = await startApp({ jobs: { ...IN_MEMORY, memoryInProduction: true }, providers: [Mails] });
    const { id } = await app.get(JobQueueService).enqueue('mail', { to: 'ada' });
    expect(await app.get(JobQueueService).result('mail', id, { timeoutMs: 10_000 })).toMatch(/^sent to ada/);
  });
});
