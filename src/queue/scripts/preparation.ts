import { NO_TEXT } from '../codec/sealed.js';
import { scriptCommands } from '../digests.generated.js';
import { RedisPermissionError } from '../errors/redis-errors.js';
import { listOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { LONGEST_TRIP_MS } from '../runtime/bounds.js';
import type { Clock } from '../runtime/clock.js';
import type { QueueStore } from '../store/queue-store.js';
import type { RedisCall, ScriptCall } from '../transport/script-runner.js';
import type { QueueCalls } from './all-calls.js';
import type { QueueKeys } from './queue-keys.js';

/** The most queues of one check of permissions, so that it takes Redis about a millisecond. */
const MOST_QUEUES = 16;

interface WaitingQueue {
  calls: QueueCalls;
  done: (prepared: Promise<unknown>) => void;
}

/** Runs calls, and knows which server each key is at. */
interface PreparedStore {
  readonly clock: Clock;
  readonly isSharded: boolean;
  serverOf(calls: QueueCalls): string;
  exec<Reply>(call: RedisCall<Reply>, limit: { timeoutMs: number }): Promise<Reply>;
}

/** Returns whether the scripts of a queue run inside the frame of `lua/audit`, and so have other texts. */
function isFramed({ options: { auditTrail, outcomes } }: QueueCalls): boolean {
  return auditTrail !== undefined || outcomes !== undefined;
}

/** Prepares queues for their first job. The queues of one tick share their calls, because a worker opens all at once. */
export class Preparation {
  private waiting: WaitingQueue[] = [];

  constructor(private readonly store: PreparedStore) {}

  /** Checks the permissions, and sends the texts of scripts that may be needed when the process dies. */
  prepare(calls: QueueCalls): Promise<void> {
    if (this.waiting.length === 0) {
      this.store.clock.soon(() => this.prepareAll(this.waiting.splice(0)));
    }
    return new Promise<unknown>((resolve) => this.waiting.push({ calls, done: resolve })).then(() => undefined);
  }

  private prepareAll(queues: readonly WaitingQueue[]): void {
    const taught = new Map<string, Promise<unknown>>();
    const checked = new Map<WaitingQueue, Promise<unknown>>();
    const size = this.store.isSharded ? 1 : MOST_QUEUES; // a Cluster has each queue in its own slot
    for (let i = 0; i < queues.length; i += size) {
      const group = queues.slice(i, i + size);
      const keys = group.map(({ calls }) => calls.keys);
      const check = requirePermissions(this.store, keys);
      group.forEach((each) => checked.set(each, check));
    }
    for (const each of queues) {
      const server = `${this.store.serverOf(each.calls)} ${isFramed(each.calls)}`;
      const texts = taught.get(server) ?? this.teach(each.calls);
      taught.set(server, texts);
      each.done(Promise.all([checked.get(each), texts]));
    }
  }

  /** Sends the texts of scripts in advance. By the time Redis asks for one, the process may have died. */
  private teach(calls: QueueCalls): Promise<unknown> {
    const start = calls.start([{ id: '', token: this.store.clock.randomId(), fence: 0 }]);
    const teach = (call: RedisCall<unknown>) =>
      this.store.exec(call, { timeoutMs: LONGEST_TRIP_MS }).catch(() => undefined); // the first use teaches it then
    return Promise.all([start, calls.noteDeath({ claims: [], error: NO_TEXT }), calls.release([])].map(teach));
  }
}

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
async function requirePermissions(store: Pick<QueueStore, 'exec'>, queues: readonly QueueKeys[]): Promise<void> {
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
