// A server whose owner has renamed commands away. The library needs none of them: CONFIG is asked by the audit at boot only.
import { expect, it } from '@jest/globals';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import type { Job } from '#worker/handlers/job.js';
import { startDashboard } from '../dashboard/dashboard-app.js';
import { eventually } from '../support/faults/wait.js';
import { inside } from '../support/queue/inside.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { newQueue } from '../support/worker/workers.js';
import { handlerOf } from '../nest/app.js';

const AWAY = ['CONFIG', 'KEYS', 'SCRIPT', 'MULTI', 'EXEC', 'FLUSHALL', 'FLUSHDB', 'SAVE', 'BGSAVE', 'DEBUG'];

it('runs, reclaims, audits and shows jobs without CONFIG, KEYS, SCRIPT and MULTI', async () => {
  const server = await startOwnRedis({ args: AWAY.flatMap((command) => ['--rename-command', command, '']) });
  const admin = connect({}, server.url);
  await expect(Promise.all(AWAY.map((command) => admin.call(command)))).rejects.toThrow('unknown command');
  const queue = newQueue({}, admin, uniqueQueueName());
  const { id: left } = await queue.enqueue('reclaimed');
  await queue.claim();
  await admin.zadd((await inside(queue).scripts()).keys.claims, 1, left); // its worker is dead

  const Handler = handlerOf(queue.name, ({ payload }: Job) => payload);
  const { get, jobs, app, log } = await startDashboard({
    jobs: { redis: server.url, maintenance: { everyMs: 200 } },
    providers: [Handler, JobQueueHealthIndicator],
  });
  expect(await (await jobs.enqueue(queue.name, 'new')).result()).toBe('new');
  await eventually(async () => (await queue.get(left))?.status === 'completed', { what: 'a reclaim' });

  const health = await app.get(JobQueueHealthIndicator).check('jobs', { requireWorker: true });
  expect(health).toMatchObject({ jobs: { status: 'up' } });
  expect((await queue.doctor({ repair: true })).findings).toEqual([]);
  const pages = ['', '/api/overview', `/api/jobs?queue=${queue.name}&state=completed`, '/api/schedules'];
  const replies = await Promise.all(pages.map((page) => get(page)));
  expect(replies.map(({ status }) => status)).toEqual(pages.map(() => 200));
  expect(log.lines.filter((line) => line.startsWith('error') || line.includes('unknown command'))).toEqual([]);
});
