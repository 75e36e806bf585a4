import { RedisUnsuitableError } from '../../queue/errors/errors.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { ServerConnection } from '../../nest/connection/server-connection.js';
import type { OutboxWriter } from '../../queue/store/verbs/outbox-writer.js';
import type { MemoryStore } from '../memory-store/memory-store.js';

/** The connection of an app whose queues are in memory: always there, and nothing to close. */
export class MemoryConnection implements ServerConnection {
  readonly connection: ServerConnection['connection'];
  readonly ready = true;
  readonly trouble = 'none';
  isClosed = false;

  /** @param stopping called when the worker is being stopped */
  constructor(
    readonly store: MemoryStore,
    logger: SafeLogger,
    readonly stopping?: (stopped: Promise<unknown>) => void,
    readonly outbox?: OutboxWriter,
  ) {
    this.connection = { logger, whenReady: async () => {}, watch: (onChange) => onChange(true) };
  }

  get address(): string {
    return this.store.place;
  }

  async require(): Promise<void> {}

  async reach(): Promise<boolean> {
    return true;
  }

  /** Has no limit: a wait for the clock of the test takes as long as the test lets it. */
  async ask<Value>(_timeoutMs: number, ask: () => Promise<Value>): Promise<Value> {
    if (this.isClosed) {
      throw new RedisUnsuitableError('The app is closed, and its queues in memory with it.');
    }
    return ask();
  }

  askNow<Value>(_timeoutMs: number, ask: () => Promise<Value>): Promise<Value> {
    return this.ask(0, ask);
  }

  async ping(): Promise<void> {}

  async audit(): Promise<[]> {
    return [];
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}
