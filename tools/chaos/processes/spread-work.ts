// The work of a queue with shards. Half of its jobs have a group, whose order must be exact. Each other job goes to the next
// shard.
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { SpreadQueue } from '#spread/spread-queue.js';
import type { RedisClient } from '#queue/redis/redis-client.js';
import { queueOptions } from './workload.js';

const SHARDS = 3;
/** Enough groups that each shard has some. */
const GROUPS = 8;

/** The jobs that the workers run at once, over all shards. */
export const SPREAD_CONCURRENCY = 4;

function spreadOptions(): QueueOptions {
  return { ...queueOptions(false), groups: { maxRunning: 1 } };
}

/** Returns the group of a job; undefined for one that any shard may have. */
export function sensorOf(number: number): string | undefined {
  return number % 2 === 0 ? `sensor-${(number / 2) % GROUPS}` : undefined;
}

/**
 * Makes the shards as an app does. It imports the library here, because the earlier version has no shards.
 *
 * @param queue the main queue of the run
 */
export async function spreadQueueOf(redis: RedisClient, queue: string): Promise<SpreadQueue> {
  const [{ JobQueue: Queue }, { markOfShard, shardNames }, { SpreadQueue: Spread }] = await Promise.all([
    import('#queue/job-queue.js'),
    import('#queue/model/spread.js'),
    import('#spread/spread-queue.js'),
  ]);
  const name = `${queue}-spread`;
  const shards: JobQueue[] = shardNames(name, SHARDS).map((each) => new Queue(redis, each, spreadOptions()));
  shards.forEach((shard, i) => (shard.idMark = markOfShard(i)));
  return new Spread(name, shards, () => {
    throw new Error('No other process has more shards.');
  });
}
