// A producer of the Redis pattern stores no name: the handler is found by payload.kind, and its limits must hold.
import { describe, expect, it } from '@jest/globals';
import { randomId } from '#queue/runtime/clock.js';
import type { JobQueue } from '#queue/job-queue.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

async function produceLikeThePattern(queue: JobQueue, fields: Record<string, string> = {}): Promise<string> {
  const redis = connect();
  const { keys } = await inside(queue).scripts();
  const id = randomId();
  const payload = JSON.stringify({ kind: 'email' });
  const hash = { id, payload, status: 'pending', attempts: '0', enqueued_at_ms: '1', claim_token: '', ...fields };
  await redis.hset(keys.job(id), hash);
  await redis.lpush(keys.pending, id);
  return id;
}

const failing = () => {
  throw new Error('no');
};

describe('a job without a name', () => {
  it.each([1, 5])('is tried as often as its handler says: %i', async (maxAttempts) => {
    const queue = newQueue();
    const told: number[] = [];
    const handle = (job: { maxAttempts: number }) => {
      told.push(job.maxAttempts);
      return failing();
    };
    const worker = await startWorker([{ queue, handlers: { email: { handle, maxAttempts } } }]);
    const id = await produceLikeThePattern(queue);
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: maxAttempts, name: 'email' });
    expect(told).toEqual(Array.from({ length: maxAttempts }, () => maxAttempts));
  });

  it('is set aside where its options are no options, and blocks nothing', async () => {
    const queue = newQueue();
    const worker = await startWorker([{ queue, handlers: { email: () => 1 } }]);
    const broken = await produceLikeThePattern(queue, { options: 'null' });
    const good = await produceLikeThePattern(queue);
    await worker.event('completed');
    await queue.result(broken).catch(() => undefined);
    expect(await queue.get(broken)).toMatchObject({
      status: 'failed',
      lastError: expect.stringMatching(/options/),
    });
    expect(await queue.get(good)).toMatchObject({ status: 'completed' });
  });
});
