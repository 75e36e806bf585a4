import { RedisUnsuitableError } from '../model/errors.js';
import { explainRefusal } from './permission-error.js';
import { isCluster, streamOf, type RedisClient } from './redis-client.js';
import {
  nodesAwaitingReply,
  unstickCluster,
  replaceNodes,
  replaceUnresponsiveNodes,
} from './ioredis-cluster-workarounds.js';

/** A server that is merely slow must not lose its connections: nothing is given less than this, in ms. */
export const SHORTEST_TRIP_MS = 1_000;

/** How long a connection that was accepted may take to become ready, in ms, before it is taken for dead. */
const LONGEST_HANDSHAKE_MS = 5_000;

/**
 * Waits for an answer of the server. When none comes in time the connection is replaced: a half-open one would keep
 * silent for as long as the operating system believes in it, a quarter of an hour. One that was made meanwhile, or that
 * leads to a server which says that it loads its data, is left alone, and in a Cluster each that says something. After a
 * tick that took all of the time, what has arrived meanwhile is read first.
 *
 * @throws RedisUnsuitableError when none came in time; what was asked for may have been done. RedisPermissionError
 */
export function withResponseTimeout<Answer>(
  client: RedisClient,
  limitMs: number,
  answer: Promise<Answer>,
): Promise<Answer> {
  const replaceSilence = silenceOf(client);
  return new Promise((resolve, reject) => {
    let answered = false;
    const expire = () => {
      if (answered) {
        return;
      }
      const error = new RedisUnsuitableError(
        `Redis gave no answer within ${limitMs} ms; the connection is replaced.`,
      );
      replaceSilence(error);
      reject(error);
    };
    const timer = setTimeout(() => setImmediate(expire), limitMs).unref();
    const inTime = <Outcome>(end: (outcome: Outcome) => void) => {
      return (outcome: Outcome) => {
        answered = true;
        clearTimeout(timer);
        end(outcome);
      };
    };
    answer.then(
      inTime(resolve),
      inTime((error: unknown) => reject(explainRefusal(error))),
    );
  });
}

/** Answers the way to replace what has kept silent from now on. */
function silenceOf(client: RedisClient): (error: Error) => void {
  if (isCluster(client)) {
    const awaiting = nodesAwaitingReply(client);
    return (error) => (client.status === 'ready' ? replaceUnresponsiveNodes(awaiting, error) : cut(client));
  }
  const asked = streamOf(client);
  return () => {
    const isLoading = client.status === 'connect' && asked !== undefined && asked.bytesRead > 0;
    if (streamOf(client) === asked && !isLoading) {
      cut(client);
    }
  };
}

/** How often a client that does not connect is looked at, in ms. */
const STUCK_MS = 1_000;

/**
 * Replaces each connection of a client that is accepted and then keeps silent: it would never become ready, and never
 * fail. A server that loads its data answers that. A client of a Cluster is freed where it is stuck. Answers the way to end
 * the supervision.
 */
export function withHandshakeTimeout(client: RedisClient, limitMs: number = LONGEST_HANDSHAKE_MS): () => void {
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
  const looking = setInterval(() => unstickCluster(client), STUCK_MS).unref();
  return () => {
    clearTimeout(timer);
    clearInterval(looking);
    client.off('connect', begin);
  };
}

/** When a client's connection was last replaced. */
const replacedAt = new WeakMap<RedisClient, number>();

/**
 * Waits for an answer that the client asks for again by itself on each new connection, and replaces each that does not
 * bring it. However many wait, a connection has all of the time for its answers.
 */
export async function retryUntilAnswered<Answer>(
  client: RedisClient,
  answer: Promise<Answer>,
  limitMs: number = LONGEST_HANDSHAKE_MS,
): Promise<Answer> {
  const look = () => {
    if (client.status !== 'ready') {
      unstickCluster(client);
    } else if (performance.now() - (replacedAt.get(client) ?? -Infinity) >= limitMs) {
      replacedAt.set(client, performance.now());
      cut(client);
    }
  };
  const supervision = setInterval(look, limitMs).unref();
  try {
    return await answer;
  } finally {
    clearInterval(supervision);
  }
}

/**
 * Ends a connection that no longer answers, so that the client makes a new one. A polite end would wait for the other
 * side, which on a half-open connection never comes: the socket is destroyed.
 */
export function cut(client: RedisClient): void {
  if (isCluster(client)) {
    replaceNodes(client);
  } else if (client.status === 'ready' || client.status === 'connect') {
    streamOf(client)?.destroy();
  }
}
