// The dashboard of an app without the codec stores nothing in the clear in an encrypted queue.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted, JobQueue } from 'nest-job-queue/core';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

const CANARY = 'CANARY of DE89 3704';
const OFF = { worker: false, maintenance: false } as const;

it.each(['listed', 'of the stand-alone dashboard'])(
  'refuses new and edited schedules and dead letters of a queue %s',
  async (how) => {
    const name = uniqueQueueName('pay');
    const redis = connect();
    const queue = new JobQueue(redis, name, { codec: encrypted([{ id: 'k', key: randomBytes(32) }]) });
    const plain = new JobQueue(redis, name); // code that the codec does not reach
    await plain.schedules.upsert('old', { everyMs: 1e7 }, { payload: { to: 'ada' } });
    const { id } = await plain.enqueue({ to: 'ada' }, { maxAttempts: 1 });
    await queue.fail((await queue.claim())!, new Error('no'));
    await queue.enqueue({ to: 'ada' }, { delayMs: 3_600_000 });
    const dashboard = how === 'listed' ? { queues: [name] } : { otherQueues: 'operate' as const };
    const app = await startDashboard({ jobs: OFF, dashboard: { ...dashboard, user: () => 'ada' } });
    const payload = { to: CANARY };
    const recurrence = { everyMs: 60_000 };
    const replies = [
      await app.post('/api/schedules/set', { queue: name, id: 'new', recurrence, payload, updatedAt: null }),
      await app.post('/api/schedules/set', {
        queue: name,
        id: 'old',
        recurrence,
        payload,
        updatedAt: (await plain.schedules.get('old'))!.updatedAt.getTime(),
      }),
      await app.post('/api/jobs/edit', { queue: name, id, payload }),
    ];
    const texts: string[] = [];
    for (const key of await redis.keys(`queue:${name}:*`)) {
      if ((await redis.type(key)) === 'hash') texts.push(JSON.stringify(await redis.hgetall(key)));
    }
    expect(texts.join('\n')).not.toContain(CANARY);
    for (const { status, body } of replies) {
      expect([403, 409]).toContain(status);
      if (how === 'listed') expect(JSON.stringify(body)).toContain('is encrypted, and the payload is not');
    }
    expect(await queue.schedules.list()).toHaveLength(1);
    expect((await queue.get(id))!.status).toBe('failed');
    expect(await queue.actionLog.latest({ by: 'ada' })).toEqual([]);
  },
);
