import { RedisUnsuitableError } from '../../queue/errors/errors.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { OutboxWriter } from '../../queue/store/outbox-writer.js';
import type { ScriptServer } from '../../memory/server/script-server.js';
import type { ScriptStore } from '../../memory/script-store.js';
import type { ServerConnection } from './server-connection.js';

/** The memory of each app. It goes with the app. */
const servers = new WeakMap<object, ScriptServer>();

/**
 * Connects to the memory of an app, by the time of the process: `forRoot({ redis: 'memory' })`. The store is loaded now,
 * because an app with a server never needs it.
 */
export async function connectInMemory(app: object, logger: SafeLogger): Promise<ServerConnection> {
  const { ScriptStore } = await import('../../memory/script-store.js');
  const store = new ScriptStore(systemClock, { server: servers.get(app) });
  servers.set(app, store.server);
  return new EmbeddedConnection(store, logger);
}

/** The connection of an app whose queues are in memory: always there, and nothing to close. */
export class MemoryConnection implements ServerConnection {
  readonly connection: ServerConnection['connection'];
  readonly ready = true;
  readonly trouble = 'none';
  readonly remedy = '';
  isClosed = false;

  /** @param stopping called when the worker is being stopped */
  constructor(
    readonly store: ScriptStore,
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

class EmbeddedConnection extends MemoryConnection {
  readonly isEmbedded = true;

  override async close(): Promise<void> {
    await super.close();
    this.store.close();
  }
}
