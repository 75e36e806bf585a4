import type { Connection } from '../redis/connection.js';
import { Hub } from '../redis/cluster/hub.js';
import { isCluster } from '../redis/redis-client.js';
import { RedisUnsuitableError } from '../errors/errors.js';
import { RedisPermissionError } from '../errors/redis-errors.js';
import { LONGEST_TRIP_MS } from '../runtime/bounds.js';
import type { QueueStore, WakeListener, WakeSubscription } from '../store/queue-store.js';
import type { QueueCalls } from './all-calls.js';
import { CANCEL_MARKER } from './queue-keys.js';
import { permissionsCall } from './preparation.js';

/** The commands that a directed wake needs beside those of every script. */
const WAKE_COMMANDS = ['spublish', 'ssubscribe', 'pubsub|shardnumsub'];

/** The store that knows what its server can. */
interface WakingStore extends Pick<QueueStore, 'exec'> {
  readonly connection: Connection;
}

/**
 * Listens on the wake channels of a worker. Returns undefined if this client has no hub, because it is not of a Cluster.
 *
 * @throws RedisPermissionError; RedisUnsuitableError if the server lacks sharded channels
 */
export async function listenForWakes(
  { connection, exec }: WakingStore,
  worker: string,
  queues: readonly QueueCalls[],
  listener: WakeListener,
): Promise<WakeSubscription | undefined> {
  const [first] = queues;
  if (!first || !isCluster(connection.client)) {
    return undefined;
  }
  const { hasShardedChannels } = await connection.inspect();
  if (!hasShardedChannels) {
    throw new RedisUnsuitableError(
      'This server lacks sharded channels (SSUBSCRIBE and SPUBLISH, which Redis 7.0 brought)',
    );
  }
  const missing = await exec(permissionsCall([first.keys], WAKE_COMMANDS), { timeoutMs: LONGEST_TRIP_MS });
  if (missing.length > 0) {
    throw new RedisPermissionError(missing.map(({ command }) => `the command ${command}`));
  }
  const hub = Hub.of(connection);
  const confirmed = new Set<QueueCalls>();
  const leaves = queues.map((calls) =>
    hub.listen(calls.keys.wakeChannel(worker), {
      confirmed: () => {
        confirmed.add(calls);
        listener.confirmed(calls);
      },
      message: (text) => (text === CANCEL_MARKER ? listener.cancelled(calls) : listener.woken(calls)),
      refused: (error) => listener.refused(error),
    }),
  );
  return {
    renew: (queue) => {
      const calls = queue as QueueCalls;
      if (confirmed.delete(calls)) {
        hub.renew(calls.keys.wakeChannel(worker));
      }
    },
    leave: () => leaves.forEach((leave) => leave()),
  };
}
