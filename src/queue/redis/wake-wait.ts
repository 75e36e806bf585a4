import { systemClock } from '../runtime/clock.js';
import { InterruptibleWait } from '../runtime/interruptible-wait.js';
import type { Connection } from './connection.js';
import type { RedisClient } from './redis-client.js';

/**
 * Lets a manual consumer sleep until jobs are enqueued: blocks on the queue's wake marker, on a connection of its own.
 * It takes no job, so a call that is cut loses nothing. Several waits at a time share one blocking call.
 */
export class WakeWait {
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
    // A frozen server never answers: then the connection is replaced, and the caller looks again.
    const cut = setTimeout(() => client.disconnect(true), ms + 2_000);
    try {
      await client.bzpopmin(this.wakeKey, ms / 1_000);
    } catch (error) {
      if (this.client) {
        this.connection.logger.warn(`Waiting for jobs was cut: ${(error as Error).message}`);
        // A server that refuses the wait does so at once, and the caller would ask without a pause.
        await this.interruptible.wait(ms);
      }
    } finally {
      clearTimeout(cut);
    }
  }
}
