import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { shardNames, shardOfKey, shardsIn } from '../../queue/model/spread.js';
import { registerQueues } from '../../queue/register/register-queues.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';

/** The most names of the register that the check reads. */
const MOST_NAMES = 10_000;
/** The most groups of a shard that are counted. */
const MOST_GROUPS = 1_000;

/**
 * Compares the number of shards of each queue with that in the register of Redis. Then it adds the shards of this process to
 * the register. See docs/internals/spread.md.
 *
 * @throws InvalidOptionError for a smaller number while the other shards are in use. Also for a larger one while jobs of groups
 * wait that would get another shard
 */
export async function checkSpreads(
  queues: QueueRegistry,
  logger: JobQueueLogger,
  spreads: readonly SpreadQueue[] = queues.spreads,
): Promise<void> {
  if (spreads.length === 0) {
    return;
  }
  const [door] = spreads[0]!.shards as [JobQueue];
  const read: ReadOr = async (fallback, ask) => {
    try {
      return await ask();
    } catch (error) {
      logger.warn(
        `Could not compare the number of shards with that of other processes. It must be the same in all: ${(error as Error).message}`,
      );
      return fallback;
    }
  };
  const known = await read([], async () =>
    door.store.queues.registered(await door.calls(), MOST_NAMES, door.callLimit),
  );
  await Promise.all(spreads.map((spread) => check(spread, shardsIn(spread.name, known), queues, read)));
  registerQueues(...spreads.flatMap(({ shards }) => shards));
}

/** Returns what a read returns. If it fails, because a master may be away, it warns and returns the fallback. */
type ReadOr = <Reply>(fallback: Reply, ask: () => Promise<Reply>) => Promise<Reply>;

async function check(
  { name, shards }: SpreadQueue,
  known: number,
  queues: QueueRegistry,
  read: ReadOr,
): Promise<void> {
  const others = shardNames(name, known).slice(shards.length);
  await Promise.all(
    others.map((other) => refuseInUse(name, { number: shards.length, known }, queues.reference(other), read)),
  );
  if (known < shards.length) {
    await refuseMovedGroups(name, shards.slice(0, known), shards.length, read);
  }
}

/** @throws InvalidOptionError for a shard beyond the number of this process, which has jobs or workers */
async function refuseInUse(
  queue: string,
  { number, known }: { number: number; known: number },
  shard: JobQueue,
  read: ReadOr,
): Promise<void> {
  const stats = await read(undefined, () => shard.stats());
  if (stats === undefined) {
    return;
  }
  const { pending, scheduled, processing, failed, workers } = stats;
  const jobs = pending + scheduled + processing + failed;
  if (jobs + workers > 0) {
    throw new InvalidOptionError(
      `spread of queue "${queue}"`,
      `${known}, as in another process`,
      String(number),
      `Shard "${shard.name}" has ${jobs} jobs and ${workers} workers. Set the same number in all processes. ` +
        'For a smaller one stop the others, and let a worker of the larger number end all jobs.',
    );
  }
}

/** @throws InvalidOptionError with the count of jobs whose groups would get another shard */
async function refuseMovedGroups(
  queue: string,
  known: readonly JobQueue[],
  number: number,
  read: ReadOr,
): Promise<void> {
  const lists = await Promise.all(known.map((shard) => read([], () => shard.groups.list({ limit: MOST_GROUPS }))));
  const isMoved = (group: string) => shardOfKey(group, known.length) !== shardOfKey(group, number);
  const moved = lists.flat().filter((group) => group.name !== '' && isMoved(group.name));
  const jobs = moved.reduce((sum, { pending, running }) => sum + pending + running, 0);
  if (jobs > 0) {
    throw new InvalidOptionError(
      `spread of queue "${queue}"`,
      `${known.length} while jobs of groups wait that would get another shard`,
      String(number),
      `${jobs} jobs of ${moved.length} groups wait or run, such as those of "${moved[0]!.name}". ` +
        'Stop the producers of groups, and let these jobs end. Then start processes with the new number.',
    );
  }
}
