import { RedisUnsuitableError } from '../errors/errors.js';
import { explainRefusal } from './permission-error.js';
import { isCluster, type RedisClient } from './redis-client.js';
import { retryUntilAnswered } from './response-timeout.js';

/**
 * Repeats the SELECT of a client for another database than 0. If Redis refuses it, ioredis only emits an error, and its
 * commands go to database 0.
 *
 * @throws RedisUnsuitableError for a database that the server does not have; RedisPermissionError
 */
export async function requireDatabase(client: RedisClient): Promise<void> {
  const database = databaseOf(client);
  if (isCluster(client) || database === 0) {
    return;
  }
  await retryUntilAnswered(client, client.select(database)).catch((error: Error) => {
    throw /out of range/.test(error.message)
      ? new RedisUnsuitableError(
          `Redis has no database ${database} (${error.message}): expected one that it has, in the URL or the option \`db\`.`,
          { cause: error },
        )
      : explainRefusal(error);
  });
}

/** Returns the database that ioredis takes for the current one. It may have been selected after the start. */
function databaseOf(client: RedisClient): number {
  return (client as { condition?: { select?: number } | null }).condition?.select ?? 0;
}
