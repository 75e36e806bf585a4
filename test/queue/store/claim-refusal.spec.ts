// The reason why a job must not run: it is true, and keeps the earlier error.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { newQueue } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';
import { sealedError } from '../../support/queue/unsealed.js';

async function expire(queue: JobQueue, id: string): Promise<void> {
  const { keys } = await inside(queue).scripts();
  await (inside(queue).connection.client as Redis).hset(keys.job(id), 'expires_at_ms', 1);
}

const LATE = { expiresInMs: 3_600_000 };

describe('a job that expires', () => {
  it('before it was started says so', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({}, LATE);
    await expire(queue, id);
    expect(await queue.claim()).toBeNull();
    expect((await queue.get(id))!.lastError).toBe('The job was not started within its expiresInMs.');
  });

  it('between two attempts says that, with its last error, and is found by it', async () => {
    const queue = newQueue();
    const job = await queue.enqueue({}, LATE);
    await queue.fail((await queue.claim())!, new Error('connect ECONNREFUSED\n\t"db"'));
    await expire(queue, job.id);
    expect(await queue.claim()).toBeNull();
    const message =
      'The job expired after 1 attempt, before the next one. Its last error: connect ECONNREFUSED\n\t"db"';
    expect(await job.get()).toMatchObject({ status: 'failed', attempts: 1, lastError: message });
    await expect(job.result()).rejects.toMatchObject({ errorName: 'JobExpired', reason: message });
    expect((await queue.deadLetters.list({ error: 'econnrefused' })).jobs.map(({ id }) => id)).toEqual([job.id]);
  });

  it('after a snooze, which used no attempt, does not say that it was not started', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({}, LATE);
    await queue.release((await queue.claim())!);
    await expire(queue, id);
    expect(await queue.claim()).toBeNull();
    expect((await queue.get(id))!.lastError).toBe(
      'The job expired after it was released, before its next attempt.',
    );
  });

  it('keeps a last error of any length within the limit of an error', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({}, LATE);
    await queue.fail((await queue.claim())!, new Error('é'.repeat(5_000)));
    await expire(queue, id);
    expect(await queue.claim()).toBeNull();
    const { lastError } = (await queue.get(id))!;
    expect(lastError).toMatch(/Its last error: é+…$/);
    expect(lastError!.length).toBeLessThanOrEqual(2_001);
  });
});

describe('a job whose attempts are used up', () => {
  it('since its limit was lowered names its attempts, the limit and its last error', async () => {
    const queue = newQueue({ maxAttempts: 5 });
    const { id } = await queue.enqueue({});
    for (let i = 0; i < 2; i++) {
      await queue.fail((await queue.claim())!, new Error('no route'));
    }
    const strict = newQueue({ maxAttempts: 1 }, undefined, queue.name);
    expect(await strict.claim()).toBeNull();
    expect(await queue.get(id)).toMatchObject({
      status: 'failed',
      attempts: 2,
      lastError: 'The job has used 2 attempts, and its limit is 1. Its last error: no route',
    });
  });

  it('names the limit that the server judged by, also where the job has no name', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const scripts = await inside(queue).scripts();
    const { id } = await queue.enqueue({ kind: 'mail' });
    await (inside(queue).connection.client as Redis).hdel(scripts.keys.job(id), 'name');
    await (inside(queue).connection.client as Redis).hset(scripts.keys.job(id), 'attempts', 3);
    const attemptLimits = [{ name: 'mail', maxAttempts: 9, maxCrashes: 3 }];
    const claim = scripts.claim({ count: 1, token: 't', worker: 'w', stream: '0', attemptLimits });
    const { refused } = await inside(queue).run(claim);
    expect(refused.map(({ error }) => error.message)).toEqual(['The job has used 3 attempts, and its limit is 2.']);
    // A repeat after a lost reply gets the same reply.
    expect((await inside(queue).run(claim)).refused).toMatchObject([{ id, error: refused[0]!.error }]);
    await inside(queue).run(
      scripts.fail(refused.map((each) => ({ ...each, error: sealedError(each.error), final: true, backoffMs: 0 }))),
    );
  });
});
