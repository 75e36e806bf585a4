import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { ServerConnection } from '../../nest/connection/server-connection.js';
import { MemoryServer } from '../memory-store/memory-server.js';
import { MemoryStore } from '../memory-store/memory-store.js';
import { MemoryConnection } from './memory-connection.js';

/** The memory of each app. It goes with the app. */
const servers = new WeakMap<object, MemoryServer>();

/** Connects to the memory of an app, by the time of the process: `forRoot({ redis: 'memory' })`. */
export function connectInMemory(app: object, logger: SafeLogger): ServerConnection {
  const server = servers.get(app) ?? new MemoryServer(() => systemClock.now());
  servers.set(app, server);
  return new EmbeddedConnection(new MemoryStore(systemClock, { server }), logger);
}

class EmbeddedConnection extends MemoryConnection {
  readonly isEmbedded = true;
}
