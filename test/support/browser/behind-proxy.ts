// A queue behind a network that fails.
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { FaultProxy } from '../faults/fault-proxy.js';
import { leaveBroken, namedConnection, newQueue } from '../worker/workers.js';

/** Makes a queue whose worker reaches the server through a proxy, and the same queue past it. */
export async function behindProxy(
  options: QueueOptions = {},
): Promise<{ proxy: FaultProxy; redis: Redis; queue: JobQueue; other: JobQueue }> {
  const proxy = await FaultProxy.start();
  const redis = namedConnection({ retryStrategy: () => 20, maxRetriesPerRequest: null }, proxy.url);
  redis.on('error', () => undefined);
  const other = newQueue(options);
  const queue = newQueue(options, redis, other.name);
  leaveBroken(queue); // only the comparison with `other` counts
  await redis.ping();
  return { proxy, redis, queue, other };
}
