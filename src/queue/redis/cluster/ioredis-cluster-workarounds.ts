// Workarounds for what ioredis leaves undone when connections of a Cluster end. They belong into ioredis.
import type { Cluster, Redis } from 'ioredis';
import {
  failUnanswered,
  isClosedByApplication,
  unansweredCommands,
  waitsToReconnect,
} from '../ioredis-internals.js';
import { isCluster, streamOf, type RedisClient } from '../redis-client.js';
import { backgroundTimeout } from '../../runtime/clock.js';

/**
 * Replaces the open connections of a client. Leaves alone a connecting client, which has its own timeout. A disconnect
 * before it has a node would make it hang forever.
 */
export function replaceNodes(client: Cluster): void {
  if (['ready', 'connect', 'disconnecting'].includes(client.status)) {
    client.nodes('all').forEach(swallowAskingRejection);
    client.disconnect(true);
  }
}

/**
 * Replaces the connection to one node. Its unanswered calls fail with the error, because ioredis would send them again
 * later. A claim that arrives after its worker's next claim takes jobs that no worker runs. For the same reason a node
 * that the client has dropped is skipped.
 */
export function replaceUnanswering(node: Redis, error: Error): void {
  swallowAskingRejection(node);
  failUnanswered(node, error);
  streamOf(node)?.destroy();
}

/** The time a client may be disconnecting, in ms. The client waits 2 s for the end of a half-open connection. */
const LONGEST_END_MS = 3_000;

const disconnecting = new WeakSet<Cluster>();

/**
 * Frees a Cluster client that would never connect again. One case is a disconnecting client that a redirection gave a
 * node, or that had no node. It waits for an end that never comes. The other is a client whose last connection ends
 * during its reconnect: it returns to closed and stops. Call it repeatedly while waiting for the client.
 */
export function unstickCluster(client: RedisClient): void {
  if (!isCluster(client) || isClosedByApplication(client)) {
    return;
  }
  if (client.status === 'disconnecting' && client.nodes('all').length > 0) {
    replaceNodes(client);
  } else if (client.status === 'disconnecting') {
    connectUnlessItCloses(client);
  } else if (client.status === 'close' && !waitsToReconnect(client)) {
    connect(client);
  }
}

/** Connects the client, unless it is closing: then it connects by itself. */
function connectUnlessItCloses(client: Cluster): void {
  if (disconnecting.has(client)) {
    return;
  }
  disconnecting.add(client);
  const end = () => {
    clearTimeout(timer);
    client.off('close', end);
    disconnecting.delete(client);
  };
  const timer = backgroundTimeout(() => {
    end();
    if (client.status === 'disconnecting' && !isClosedByApplication(client)) {
      connect(client);
    }
  }, LONGEST_END_MS);
  client.once('close', end);
}

function connect(client: Cluster): void {
  client.connect().catch(() => undefined); // it tries again by itself, or is freed again
}

/**
 * Handles the rejection of an ASKING that ioredis sent itself. If the connection is cut, the unhandled rejection would end
 * the process.
 */
function swallowAskingRejection(node: Redis): void {
  for (const command of unansweredCommands(node)) {
    if (command.name === 'asking') {
      command.promise.catch(() => undefined);
    }
  }
}
