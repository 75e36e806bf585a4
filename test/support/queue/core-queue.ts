// A JobQueue of one test, beside the TestQueue that reads and seeds the same keys.
import { afterEach } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { queueOn, type TestQueue } from './queue-state.js';
import { connect, uniqueQueueName } from '../redis/redis.js';

const open = new Set<JobQueue>();
let shared: Redis | undefined;

afterEach(() => {
  open.forEach((queue) => queue.close());
  open.clear();
});

/** Makes a queue that is closed after the test. */
export function openedQueue(...asked: ConstructorParameters<typeof JobQueue>): JobQueue {
  const queue = new JobQueue(...asked);
  open.add(queue);
  return queue;
}

/** Makes a queue with an unused name on `client`, else on the shared one. Reads its state from the shared server. */
export function coreQueue(options: QueueOptions = {}, client?: Redis): { queue: JobQueue; state: TestQueue } {
  shared ??= connect();
  const name = uniqueQueueName();
  const queue = openedQueue(client ?? shared, name, options);
  return { queue, state: queueOn(shared, options, name) };
}

/** Makes another JobQueue on the same keys, as another process would have. */
export function sameQueue(queue: JobQueue, options: QueueOptions = {}, client: Redis = connect()): JobQueue {
  return openedQueue(client, queue.name, options);
}
