import { RedisUnsuitableError } from '../errors/errors.js';
import { explainForCaller } from './permission-error.js';
import { cut, silenceOf } from './connection-silence.js';
import { unstickCluster } from './cluster/ioredis-cluster-workarounds.js';
import { streamOf, type RedisClient } from './redis-client.js';
import { backgroundInterval, backgroundTimeout } from '../runtime/clock.js';

/** The time an accepted connection may take to become ready, in ms, before it counts as dead. */
const LONGEST_HANDSHAKE_MS = 5_000;

/** Errors of servers that stayed silent. */
const unanswered = new WeakSet<object>();

/** Returns whether an error says that the server did not reply in time. */
export function isUnanswered(error: unknown): boolean {
  return typeof error === 'object' && error !== null && unanswered.has(error);
}

/** Returns the error of a server that did not reply in time. */
export function unansweredError(message: string): RedisUnsuitableError {
  const error = new RedisUnsuitableError(message);
  unanswered.add(error);
  return error;
}

/** The number of times a connection is checked within its limit. A silent connection is found at most one check late. */
const LOOKS_PER_LIMIT = 4;

/**
 * Waits for a reply while bytes move over the connection. Replaces a connection that is silent for the limit. The
 * operating system would keep a half-open one for a quarter of an hour. If one tick used up the time, the bytes that
 * arrived during it are read first.
 *
 * @param limitMs how long the connection may be silent
 * @throws RedisUnsuitableError without a reply in time; the request may have been carried out. RedisPermissionError
 */
export function withResponseTimeout<Reply>(
  client: RedisClient,
  limitMs: number,
  reply: Promise<Reply>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const endWatch = watchSilence(client, limitMs, reject);
    const inTime = <Outcome>(end: (outcome: Outcome) => void) => {
      return (outcome: Outcome) => {
        endWatch();
        end(outcome);
      };
    };
    reply.then(
      inTime(resolve),
      inTime((error: unknown) => reject(explainForCaller(error, client))),
    );
  });
}

/**
 * Calls back once the connection that owes a reply was silent for too long, and replaces it. Returns a function that ends
 * the watch.
 */
export function watchSilence(client: RedisClient, limitMs: number, onDead: (error: Error) => void): () => void {
  const silence = silenceOf(client);
  let ended = false;
  const look = () => {
    if (ended) {
      return;
    }
    const error = unansweredError(
      `Redis gave no answer within ${Math.round(limitMs)} ms; the connection is replaced.`,
    );
    const leftMs = silence.remainingMs(limitMs);
    silence.replaceDead(limitMs, error);
    if (leftMs > 0) {
      timer = lookIn(leftMs);
    } else {
      onDead(error);
    }
  };
  const lookIn = (leftMs: number) => {
    return backgroundTimeout(() => afterReads(look), Math.min(leftMs, limitMs / LOOKS_PER_LIMIT));
  };
  let timer = lookIn(limitMs);
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** Calls back once the bytes that arrived while one tick used up the time are read. Bun reads them after the first immediates. */
function afterReads(call: () => void): void {
  setImmediate(() => setImmediate(call));
}

/** The interval of checks of a client that does not connect, in ms. */
const STUCK_MS = 1_000;

/**
 * Replaces each accepted connection that stays silent, because it would neither become ready nor fail. A loading server
 * does reply. Frees a stuck client of a Cluster. Returns a function that stops the watch.
 */
export function withHandshakeTimeout(client: RedisClient, limitMs: number = LONGEST_HANDSHAKE_MS): () => void {
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    clearTimeout(timer);
    const stream = streamOf(client);
    const bytesBefore = stream?.bytesRead;
    const check = () => {
      if (client.status === 'connect') {
        return stream?.bytesRead === bytesBefore ? cut(client) : begin();
      }
    };
    timer = backgroundTimeout(check, limitMs);
  };
  if (client.status === 'connect') {
    begin();
  }
  client.on('connect', begin);
  const watch = backgroundInterval(() => unstickCluster(client), STUCK_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(watch);
    client.off('connect', begin);
  };
}

/** The time when a client's connection was last replaced. */
const replacedAt = new WeakMap<RedisClient, number>();

/**
 * Waits for a reply that the client requests again on each new connection. Replaces each connection that does not
 * deliver it. Any number of callers share the full time of a connection.
 */
export async function retryUntilAnswered<Reply>(
  client: RedisClient,
  reply: Promise<Reply>,
  limitMs: number = LONGEST_HANDSHAKE_MS,
): Promise<Reply> {
  let bytesRead = bytesReadBy(client);
  const check = () => {
    const before = bytesRead;
    bytesRead = bytesReadBy(client);
    if (client.status !== 'ready') {
      unstickCluster(client);
    } else if (bytesRead > before) {
      return; // the reply may be behind a large reply
    } else if (performance.now() - (replacedAt.get(client) ?? -Infinity) >= limitMs) {
      replacedAt.set(client, performance.now());
      cut(client);
    }
  };
  let ended = false;
  const look = () => void (ended || check());
  const supervision = backgroundInterval(() => afterReads(look), limitMs);
  try {
    return await reply;
  } finally {
    ended = true;
    clearInterval(supervision);
  }
}

/** Returns 0 for a Cluster client, because bytes of other nodes prove nothing about the asked one. */
function bytesReadBy(client: RedisClient): number {
  return streamOf(client)?.bytesRead ?? 0;
}
