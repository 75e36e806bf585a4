import type { Redis } from 'ioredis';
import { RedisUnsuitableError } from './errors.js';
import { isCluster, type RedisClient } from './redis-client.js';

/** A server that is merely slow must not lose its connections: nothing is given less than this, in ms. */
export const SHORTEST_TRIP_MS = 1_000;

/** How long a connection that was accepted may take to become ready, in ms, before it is taken for dead. */
const LONGEST_HANDSHAKE_MS = 5_000;

/**
 * Waits for an answer of the server. When none comes in time the connection is replaced: a half-open one would keep
 * silent for as long as the operating system believes in it, a quarter of an hour. One that was made meanwhile, or that
 * leads to a server which says that it loads its data, is left alone.
 *
 * @throws RedisUnsuitableError when none came in time; what was asked for may have been done
 */
export function supervised<Answer>(client: RedisClient, limitMs: number, answer: Promise<Answer>): Promise<Answer> {
  const asked = streamOf(client);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const isLoading = client.status === 'connect' && asked !== undefined && asked.bytesRead > 0;
      if (streamOf(client) === asked && !isLoading) {
        cut(client);
      }
      reject(new RedisUnsuitableError(`Redis gave no answer within ${limitMs} ms; the connection is replaced.`));
    }, limitMs).unref();
    const inTime = <Outcome>(end: (outcome: Outcome) => void) => {
      return (outcome: Outcome) => {
        clearTimeout(timer);
        end(outcome);
      };
    };
    answer.then(inTime(resolve), inTime(reject));
  });
}

/** How often a client of a Cluster is asked whether it still disconnects, in ms. */
const DISCONNECTING_MS = 1_000;

/**
 * Replaces each connection of a client that is accepted and then keeps silent: it would never become ready, and never
 * fail. A server that loads its data answers that. A redirection that reaches a client of a Cluster while it disconnects
 * gives it a node again, and ioredis would then wait for its end for ever: it is told once more. Answers the way to end
 * the supervision.
 */
export function superviseHandshake(client: RedisClient, limitMs: number = LONGEST_HANDSHAKE_MS): () => void {
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    clearTimeout(timer);
    const stream = streamOf(client);
    const heard = stream?.bytesRead;
    const look = () => {
      if (client.status === 'connect') {
        return stream?.bytesRead === heard ? cut(client) : begin();
      }
    };
    timer = setTimeout(look, limitMs).unref();
  };
  if (client.status === 'connect') {
    begin();
  }
  client.on('connect', begin);
  const again = () => client.isCluster && client.status === 'disconnecting' && cut(client);
  const looking = setInterval(again, DISCONNECTING_MS).unref();
  return () => {
    clearTimeout(timer);
    clearInterval(looking);
    client.off('connect', begin);
  };
}

/**
 * Waits for an answer that the client asks for again by itself on each new connection, and replaces each that does not
 * bring it.
 */
export async function insist<Answer>(
  client: RedisClient,
  answer: Promise<Answer>,
  limitMs: number = LONGEST_HANDSHAKE_MS,
): Promise<Answer> {
  const supervision = setInterval(() => client.status === 'ready' && cut(client), limitMs).unref();
  try {
    return await answer;
  } finally {
    clearInterval(supervision);
  }
}

/**
 * Ends a connection that no longer answers, so that the client makes a new one. A polite end would wait for the other
 * side, which on a half-open connection never comes: the socket is destroyed. A client of a Cluster that still connects is
 * left alone: it gives up by itself what does not answer, and told to disconnect before it has a node, it would do so for
 * ever.
 */
export function cut(client: RedisClient): void {
  if (isCluster(client)) {
    if (['ready', 'connect', 'disconnecting'].includes(client.status)) {
      client.nodes('all').forEach(hearAsking);
      client.disconnect(true);
    }
  } else if (client.status === 'ready' || client.status === 'connect') {
    streamOf(client)?.destroy();
  }
}

/** The socket of a single connection, which ioredis does not declare; undefined for a Cluster, which has many. */
function streamOf(client: RedisClient): { destroy(): void; readonly bytesRead: number } | undefined {
  return client.isCluster ? undefined : (client as { stream?: ReturnType<typeof streamOf> }).stream;
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
