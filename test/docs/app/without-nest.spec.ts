// docs/without-nest.md: its program runs a job and stops, and its loop claims by hand.
import { expect, it } from '@jest/globals';
import type { JobQueue, TopicClient, Worker } from 'nest-job-queue/core';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue } from '../../support/worker/workers.js';
import { loadExample } from '../example.js';

async function work(payload: unknown): Promise<unknown> {
  if (payload === 'bad') throw new Error('no');
  return payload;
}

it('the program runs its job and stops', async () => {
  process.env.REDIS_URL = testRedisUrl();
  process.env.QUEUE = uniqueQueueName();
  const { result, stop } = await loadExample<{ result: unknown; stop(): Promise<void> }>(
    'without-nest.md',
    'program',
  );
  expect(result).toEqual({ text: 'Welcome, ada@example.com!', attempt: 1 });
  await stop();
  process.off('SIGTERM', stop as () => void);
});

it('the loop completes and fails jobs', async () => {
  type WorkOnce = (queue: JobQueue, work: (payload: unknown) => Promise<unknown>) => Promise<boolean>;
  const { workOnce } = await loadExample<{ workOnce: WorkOnce }>('without-nest.md', 'claim');
  const queue = newQueue({ maxAttempts: 1 });
  const good = await queue.enqueue('good');
  const bad = await queue.enqueue('bad');
  expect([await workOnce(queue, work), await workOnce(queue, work)]).toEqual([true, true]);
  expect((await queue.get(good.id))?.status).toBe('completed');
  expect((await queue.get(bad.id))?.status).toBe('failed');
});

it('the topic reaches its subscriber', async () => {
  interface Example {
    subscribe(
      redis: unknown,
      send: (orderId: string) => Promise<void>,
    ): Promise<{ topics: TopicClient; worker: Worker }>;
    paid(topics: TopicClient, orderId: string): Promise<{ jobs: readonly { result(): Promise<unknown> }[] }>;
  }
  const { subscribe, paid } = await loadExample<Example>('without-nest.md', 'topics');
  const sent: string[] = [];
  const { topics, worker } = await subscribe(connect(), async (orderId) => void sent.push(orderId));
  const orderId = uniqueQueueName();
  const { jobs } = await paid(topics, orderId);
  await Promise.all(jobs.map((job) => job.result()));
  expect(sent).toContain(orderId);
  await worker.stop();
  topics.close();
});
