// Handlers of final failures: for each dead letter one job, made in the step that makes the dead letter.
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError, NonRetryableError } from '#queue/errors/errors.js';
import type { JobFailure } from '#queue/codec/failure-job.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { ScriptStore } from '#memory/script-store.js';
import { JobQueue } from '#queue/job-queue.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { gate, within } from '../../support/faults/wait.js';
import { newQueue, startWorker, TestWorker } from '../../support/worker/workers.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

const FINAL = { message: 'no', name: 'Error' };

/** Makes a queue with a handler of failures, as a worker announces it. */
async function announced(): Promise<TestQueue> {
  const q = testQueue();
  const limits = { name: `@failed:${q.name}`, maxAttempts: 3, maxCrashes: 3 };
  await q.run(q.scripts.workers.register({ worker: 'w', serves: true, handlers: [limits] }));
  return q;
}

function failure(job: { id: string; token: string; fence: number }) {
  const { id, token, fence } = job;
  return { id, token, fence, error: FINAL, final: true, backoffMs: 0, begun: true };
}

describe('the failure job of a dead letter', () => {
  it('is made in the same step, once, however often the step is repeated', async () => {
    const q = await announced();
    const job = await q.addAndClaim('a', { max_attempts: 1 });
    const call = q.scripts.fail([failure(job)]);
    expect(await q.run(call)).toEqual(['failed']);
    const id = `@failed:a:${job.fence}`;
    expect(await q.ranked(q.keys.prioritized)).toEqual([id]);
    expect(await expectUnchanged(q, () => q.run(call))).toEqual(['failed']);
    expect(await q.job(id)).toMatchObject({ name: `@failed:${q.name}`, status: 'pending', priority: '1' });
    expect(JSON.parse((await q.field(id, 'payload'))!)).toMatchObject({ id: 'a', error: 'no', payload: '{}' });
  });

  it('is made by the sweep too, of a job whose worker died', async () => {
    const q = await announced();
    const job = await q.addAndClaim('a', { max_crashes: 1 });
    await q.expireClaims('a');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
    expect(await q.ranked(q.keys.prioritized)).toEqual([expect.stringMatching(/^@failed:a:\d+$/)]);
    expect(job.attempt).toBe(1);
  });

  it('is made of a failure of a client of the pattern', async () => {
    const q = await announced();
    await q.redis.hset(q.keys.job('a'), {
      payload: JSON.stringify({ kind: q.name }),
      status: 'failed',
      last_error: 'no',
    });
    expect(await q.run(q.scripts.sweep.adoptFailed({ ids: ['a'] }))).toBe(1);
    expect(await q.ranked(q.keys.prioritized)).toEqual([expect.stringMatching(/^@failed:a:/)]);
  });

  it('is not made if no worker announced a handler for a day, for a retry, or for its own failure', async () => {
    const q = await announced();
    await q.redis.zadd(q.keys.names, (await q.now()) - 86_500_000, `@failed:${q.name}`);
    const job = await q.addAndClaim('a');
    await q.run(q.scripts.fail([failure(job)]));
    expect(await q.ranked(q.keys.prioritized)).toEqual([]);
    await q.redis.zadd(q.keys.names, await q.now(), `@failed:${q.name}`);
    const second = await q.addAndClaim('b');
    await q.run(q.scripts.fail([{ ...failure(second), final: false }]));
    expect(await q.ranked(q.keys.prioritized)).toEqual([]);
    const [third] = await q.claim(1);
    await q.run(q.scripts.fail([failure(third!)]));
    const [telling] = await q.claim(1);
    await q.run(q.scripts.fail([failure(telling!)]));
    expect(await q.ranked(q.keys.prioritized)).toEqual([]);
    expect((await q.ranked(q.keys.dead)).length).toBe(3);
  });
});

describe('onFailed', () => {
  it.each(['stopped', 'stopped before a purge'])(
    'is made within a day after the last worker of an empty queue %s',
    async (how) => {
      const q = await announced();
      await q.run(q.scripts.workers.register({ worker: 'w', serves: false, handlers: [] }));
      if (how !== 'stopped') await q.run(q.scripts.purge({ limit: 100 }));
      const job = await q.addAndClaim('a');
      await q.run(q.scripts.fail([failure(job)]));
      expect(await q.ranked(q.keys.prioritized)).toEqual([expect.stringMatching(/^@failed:a:/)]);
      const left = await q.redis.pttl(q.keys.names);
      expect(left).toBeGreaterThan(86_000_000);
      expect(left).toBeLessThanOrEqual(86_400_000);
    },
  );

  it('gets the failure with the payload of the job, and is tried again where it throws', async () => {
    const queue = newQueue();
    const told = gate<[JobFailure, number]>();
    await startWorker([
      {
        queue,
        handlers: {
          [queue.name]: () => {
            throw new NonRetryableError('no card');
          },
        },
        onFailed: {
          [queue.name]: ({ payload, attempt }: Job<JobFailure>) => {
            if (attempt === 1) throw new Error('the pager is away');
            told.open([payload, attempt]);
          },
        },
      },
    ]);
    const { id } = await queue.enqueue({ order: 7 });
    const [failed, attempt] = await within(20_000, 'the failure', told.promise);
    expect(failed).toEqual({
      id,
      name: queue.name,
      queue: queue.name,
      payload: { order: 7 },
      error: 'no card',
      attempts: 1,
      failedAt: expect.any(Date),
    });
    expect(attempt).toBe(2);
    expect((await queue.get(id))!.status).toBe('failed');
  });

  it('may be in a worker without the handler of the jobs', async () => {
    const queue = newQueue();
    const told = gate<JobFailure>();
    const onFailed = { [queue.name]: ({ payload }: Job<JobFailure>) => told.open(payload) };
    const worker = new TestWorker([{ queue, handlers: {}, onFailed }], {});
    await worker.worker.start();
    await startWorker(queue, () => {
      throw new NonRetryableError('no');
    });
    await queue.enqueue('x');
    expect((await within(20_000, 'the failure', told.promise)).error).toBe('no');
  });

  it('works on a store in memory', async () => {
    const queue = new JobQueue(new ScriptStore(), uniqueQueueName('store'));
    const told = gate<JobFailure>();
    const handlers = {
      [queue.name]: () => {
        throw new NonRetryableError('no');
      },
    };
    const onFailed = { [queue.name]: ({ payload }: Job<JobFailure>) => told.open(payload) };
    const worker = new Worker([{ queue, handlers, onFailed }], { sweepIntervalMs: 0 });
    await worker.start();
    await queue.enqueue({ n: 1 });
    expect(await told.promise).toMatchObject({ payload: { n: 1 }, error: 'no' });
    await worker.stop();
    queue.close();
  });

  it('refuses a worker without any handler, a bad one, and an enqueue of the reserved name', async () => {
    const queue = newQueue();
    expect(() => new Worker([{ queue, handlers: {} }])).toThrow(InvalidOptionError);
    expect(() => new Worker([{ queue, handlers: {}, onFailed: { a: 1 as never } }])).toThrow(InvalidOptionError);
    await expect(queue.enqueue({}, { name: '@failed:x' })).rejects.toThrow('does not begin with @failed:');
  });
});
