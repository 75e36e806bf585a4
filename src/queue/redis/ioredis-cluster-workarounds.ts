// What ioredis leaves undone when the connections of a Cluster end in the middle of something. Its right place is ioredis.
import type { Cluster, Redis } from 'ioredis';
import {
  failUnanswered,
  isClosedByApplication,
  unansweredCommands,
  waitsToReconnect,
} from './ioredis-internals.js';
import { isCluster, streamOf, type RedisClient } from './redis-client.js';

/**
 * Replaces the connections of a client that has some. One that still connects gives up by itself what does not answer; told
 * to disconnect before it has a node, it would do so for ever.
 */
export function replaceNodes(client: Cluster): void {
  if (['ready', 'connect', 'disconnecting'].includes(client.status)) {
    client.nodes('all').forEach(swallowAskingRejection);
    client.disconnect(true);
  }
}

/**
 * Replaces the connection to one node. What it owes fails with the error. ioredis would send it again by itself, at any time: a
 * claim that comes behind the next one of its worker brings jobs of which nobody hears. For the same reason a node counts that the
 * client has left meanwhile.
 */
export function replaceUnanswering(node: Redis, error: Error): void {
  swallowAskingRejection(node);
  failUnanswered(node, error);
  streamOf(node)?.destroy();
}

/** Where a connection is half-open, ioredis waits 2 s for its end; what disconnects for longer waits for nothing, in ms. */
const LONGEST_END_MS = 3_000;

const disconnecting = new WeakSet<Cluster>();

/**
 * Frees a client of a Cluster that would never connect again: one that is disconnecting and was given a node meanwhile, by a
 * redirection, or had none when it was told to, waits for an end; one whose last connection ends late, when it has already
 * begun to connect anew, goes back to closed and does nothing more. To be asked now and then by who waits for the client.
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

/** Closing, it connects by itself. */
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
  const timer = setTimeout(() => {
    end();
    if (client.status === 'disconnecting' && !isClosedByApplication(client)) {
      connect(client);
    }
  }, LONGEST_END_MS).unref();
  client.once('close', end);
}

function connect(client: Cluster): void {
  client.connect().catch(() => undefined); // it tries again by itself, or is freed again
}

/** ioredis hears no answer to an ASKING of its own: that of one which is cut off would end the process, as nobody's. */
function swallowAskingRejection(node: Redis): void {
  for (const command of unansweredCommands(node)) {
    if (command.name === 'asking') {
      command.promise.catch(() => undefined);
    }
  }
}
