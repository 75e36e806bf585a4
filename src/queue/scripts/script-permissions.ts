import { RedisPermissionError } from '../errors/redis-errors.js';
import type { QueueKeys } from './queue-keys.js';
import { scriptCommands } from '../digests.generated.js';
import { LONGEST_TRIP_MS } from '../runtime/bounds.js';
import { listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import type { QueueStore } from '../store/queue-store.js';
import type { ScriptCall } from '../transport/script-runner.js';

/** A permission that a queue needs and the user of the connection does not have. */
interface MissingPermission {
  /** The index of the queue. */
  queue: number;
  command: string;
}

/** Asks which of the commands are refused to the user of the connection, for queues of one slot. */
export function permissionsCall(
  queues: readonly QueueKeys[],
  commands: readonly string[] = scriptCommands,
): ScriptCall<MissingPermission[]> {
  return {
    script: 'queueCheckPermissions',
    keys: queues.flatMap(({ jobPrefix, events }) => [jobPrefix, events]),
    args: commands,
    decode: (reply) =>
      listOf(reply).map((pair) => {
        const [number, command] = listOf(pair);
        return { queue: wholeNumberOf(number) - 1, command: textOf(command) };
      }),
  };
}

/**
 * Checks before the first job that Redis will not refuse a script halfway.
 *
 * @throws RedisPermissionError that names the missing permissions of the connection's user
 */
export async function requirePermissions(
  store: Pick<QueueStore, 'exec'>,
  queues: readonly QueueKeys[],
): Promise<void> {
  const refused = await store.exec(permissionsCall(queues), { timeoutMs: LONGEST_TRIP_MS });
  if (refused.length > 0) {
    const missing = refused.map(({ queue, command }) =>
      command === 'publish'
        ? `the command publish on the channel ${queues[queue]?.events}`
        : `the command ${command}`,
    );
    throw new RedisPermissionError([...new Set(missing)]);
  }
}
