// What the two places of a move have in common: the keys of a queue, and the scripts of moves.
import type { JobQueue } from '../../queue/job-queue.js';
import type { RedisAccess } from '../../queue/redis-access.js';
import type { QueueKeys } from '../../queue/scripts/queue-keys.js';
import { call } from '../../queue/scripts/script-call.js';
import type { ScriptName } from '../../queue/transport/script-runner.js';
import { MoverOvertakenError } from './transit.js';

/** The connection of a place, with all keys of the queue. */
export type PlaceAccess = RedisAccess & { keys: QueueKeys };

/** One place of a move. */
export abstract class Place {
  constructor(
    readonly queue: JobQueue,
    private readonly access: PlaceAccess,
  ) {}

  get keys(): QueueKeys {
    return this.access.keys;
  }

  get client(): RedisAccess['client'] {
    return this.access.client;
  }

  /** Returns a key of the move. */
  moving(part: string): string {
    return `${this.keys.base}moving:${part}`;
  }

  protected run<Reply>(
    script: ScriptName,
    args: readonly (string | number)[],
    decode: (reply: unknown) => Reply,
  ): Promise<Reply> {
    return this.queue.exec(() => call(script, this.keys.standard, args, decode));
  }

  /** Returns a reply to this mover. @throws MoverOvertakenError */
  protected mine<Reply>(reply: Reply): Reply {
    if (reply === -1 || reply === 'stale' || (Array.isArray(reply) && reply[0] === 'stale')) {
      throw new MoverOvertakenError(this.queue.name);
    }
    return reply;
  }
}
