import { RedisPermissionError } from '../errors/redis-errors.js';
import type { QueueKeys } from './queue-keys.js';
import { LONGEST_TRIP_MS } from '../runtime/bounds.js';
import type { QueueStore } from '../store/queue-store.js';
import type { ScriptCall } from '../transport/script-runner.js';

/**
 * All commands that the scripts call. `test/lua/queue/check-permissions.spec.ts` compares the list with the scripts.
 */
export const SCRIPT_COMMANDS = (
  'exists get hdel hexists hget hgetall hincrby hkeys hlen hmget hrandfield hset hsetnx hstrlen incr incrby lindex llen lpos lpush lrange lrem ' +
  'persist pexpire pexpireat pttl publish pubsub rpop rpush set time type unlink zadd zcard zcount zincrby zmscore zpopmin zrange ' +
  'xadd xrange zrem zremrangebyscore zscore'
).split(' ');

/** Asks which of the commands are refused to the user of the connection. */
export function permissionsCall(
  keys: QueueKeys,
  commands: readonly string[] = SCRIPT_COMMANDS,
): ScriptCall<string[]> {
  return {
    script: 'queueCheckPermissions',
    keys: [keys.jobPrefix, keys.events],
    args: commands,
    decode: (reply) => reply as string[],
  };
}

/**
 * Checks before the first job that Redis will not refuse a script halfway.
 *
 * @throws RedisPermissionError that names the missing permissions of the connection's user
 */
export async function requirePermissions(store: Pick<QueueStore, 'exec'>, keys: QueueKeys): Promise<void> {
  const refused = await store.exec(permissionsCall(keys), { timeoutMs: LONGEST_TRIP_MS });
  if (refused.length > 0) {
    throw new RedisPermissionError(
      refused.map((command) =>
        command === 'publish' ? `the command publish on the channel ${keys.events}` : `the command ${command}`,
      ),
    );
  }
}
