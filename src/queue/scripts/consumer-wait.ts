import type { Connection } from '../redis/connection.js';
import type { RedisClient } from '../redis/redis-client.js';
import { withResponseTimeout } from '../redis/response-timeout.js';
import { systemClock } from '../runtime/clock.js';
import { InterruptibleWait } from '../runtime/waits.js';
import type { ConsumerWait } from '../store/queue-store.js';
import { ScriptRunner } from '../transport/script-runner.js';
import { LONGEST_WAIT_TRIP_MS } from './worker-wait.js';

/**
 * Lets a manual consumer wait for jobs: blocks on the queue's wake marker, on a separate connection. It takes no job,
 * so a cut call loses nothing. Concurrent waits share one blocking call.
 */
export class RedisConsumerWait implements ConsumerWait {
  private client: RedisClient | undefined;
  private waiting: Promise<void> | undefined;
  private readonly interruptible = new InterruptibleWait(systemClock);

  constructor(
    private readonly connection: Connection,
    private readonly wakeKey: string,
  ) {}

  /** Resolves when a marker came or after `ms`, at most a second: a foreign producer sets no marker. */
  wait(ms: number): Promise<void> {
    this.waiting ??= this.block(Math.min(1_000, Math.max(10, ms))).finally(() => {
      this.waiting = undefined;
    });
    return this.waiting;
  }

  close(): void {
    this.client?.disconnect();
    this.client = undefined;
    this.interruptible.end();
  }

  private async block(ms: number): Promise<void> {
    const client = (this.client ??= this.connection.duplicate('blocking'));
    let failure: Error | undefined;
    const onFailure = (error: Error) => void (failure = error);
    const marker = new ScriptRunner(client).wait({
      keys: [this.wakeKey],
      seconds: ms / 1_000,
      onRefusal: onFailure,
    });
    // A frozen server never replies. Then the connection is replaced, and the caller claims again.
    await withResponseTimeout(client, ms + LONGEST_WAIT_TRIP_MS, marker).catch(onFailure);
    if (failure && this.client) {
      this.connection.logger.warn(`The wait for jobs failed; trying again: ${failure.message}`);
      // A server that refuses the wait does so at once, and the caller would ask without a pause.
      await this.interruptible.wait(ms);
    }
  }
}
