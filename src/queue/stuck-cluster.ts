// What ioredis leaves undone when the connections of a Cluster end in the middle of something. Its right place is ioredis.
import type { Cluster, Redis } from 'ioredis';
import { isCluster, type RedisClient } from './redis-client.js';

/**
 * Replaces the connections of a client that has some. One that still connects gives up by itself what does not answer; told
 * to disconnect before it has a node, it would do so for ever.
 */
export function replaceNodes(client: Cluster): void {
  if (['ready', 'connect', 'disconnecting'].includes(client.status)) {
    client.nodes('all').forEach(hearAsking);
    client.disconnect(true);
  }
}

/**
 * Frees a client of a Cluster that would never connect again: one that is disconnecting and was given a node meanwhile, by a
 * redirection, waits for its end; one whose last connection ends late, when it has already begun to connect anew, goes back to
 * closed and does nothing more. To be asked now and then by who waits for the client.
 */
export function freeStuck(client: RedisClient): void {
  if (!isCluster(client) || isClosing(client)) {
    return;
  }
  const { status } = client;
  if (status === 'disconnecting' && client.nodes('all').length > 0) {
    replaceNodes(client);
  } else if (status === 'disconnecting' || status === 'close') {
    client.connect().catch(() => undefined); // it tries again by itself, or is freed again
  }
}

/** Whether the application has closed it, which ioredis does not declare. */
function isClosing(client: Cluster): boolean {
  return (client as unknown as { manuallyClosing?: boolean }).manuallyClosing === true;
}

/**
 * ioredis hears no answer to an ASKING of its own: that of one which is cut off would end the process, as nobody's. Its
 * queues of commands are not declared, and may be absent in another version, which then is left as it is.
 */
function hearAsking(node: Redis): void {
  const { commandQueue, offlineQueue } = node as unknown as Record<string, { toArray(): Queued[] } | undefined>;
  for (const { command } of [...(commandQueue?.toArray() ?? []), ...(offlineQueue?.toArray() ?? [])]) {
    if (command.name === 'asking') {
      command.promise.catch(() => undefined);
    }
  }
}

/** A command that a client has sent, or will send. */
interface Queued {
  command: { name: string; promise: Promise<unknown> };
}
