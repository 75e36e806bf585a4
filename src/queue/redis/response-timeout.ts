import type { Cluster, Redis } from 'ioredis';
import { RedisUnsuitableError } from '../errors/errors.js';
import { backgroundInterval, backgroundTimeout } from '../runtime/clock.js';
import { unstickCluster, replaceNodes, replaceUnanswering } from './cluster/ioredis-cluster-workarounds.js';
import { bytesOf, owesAnswer, sentCommands, type UnansweredCommand } from './ioredis-internals.js';
import { explainForCaller } from './connection-errors.js';
import { streamOf, type RedisClient, isCluster } from './redis-client.js';

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

/** The slowest upload rate that a large command is allowed, in bytes per ms: half of the slowest supported link. */
const SLOWEST_UPLOAD = 32;

/** A command up to this size gets no extra time, in bytes. */
const SMALL_COMMAND_BYTES = 64 * 1_024;

/**
 * Distinguishes a live connection from a dead one, from the moment a command is sent. A connection lives while bytes
 * arrive or leave a full buffer. A large command gets the time that its bytes take on a slow link. The operating system
 * does not show whether they leave.
 */
export interface Silence {
  /** Returns the time that the reply may still take, in ms; 0 if its connection was silent for too long. */
  remainingMs(limitMs: number): number;
  /** Replaces each connection that has been silent for too long. Its unanswered commands may fail with the error. */
  replaceDead(limitMs: number, error: Error): void;
}

/**
 * Begins to watch. Call it once the command is sent.
 *
 * @param askedAt when the time of the reply began
 */
export function silenceOf(client: RedisClient, askedAt: number = performance.now()): Silence {
  return isCluster(client) ? new ClusterSilence(client, askedAt) : new SingleSilence(client, askedAt);
}

/**
 * Ends a connection that no longer replies, so that the client makes a new one. Destroys the socket, because an orderly
 * end would wait for the other side, which a half-open connection lacks.
 */
export function cut(client: RedisClient): void {
  if (isCluster(client)) {
    replaceNodes(client);
  } else if (client.status === 'ready' || client.status === 'connect') {
    streamOf(client)?.destroy();
  }
}

/** Counts the bytes of the connection of one client to one server. */
class Traffic {
  readonly stream: Redis['stream'] | undefined;
  private movedAt: number;
  private bytesRead: number;
  /** Read at first only for a full buffer, because Node adds up all buffered writes. */
  private bytesSent: number;
  private wasFull: boolean;

  constructor(
    readonly node: Redis,
    readonly askedAt: number,
  ) {
    this.movedAt = askedAt;
    this.stream = streamOf(node);
    this.bytesRead = this.stream?.bytesRead ?? 0;
    this.wasFull = isFull(this.stream);
    this.bytesSent = this.wasFull ? sentBytes(this.stream) : 0;
  }

  /** Returns how long the connection may still be silent, in ms. */
  remainingMs(limitMs: number): number {
    const silentMs = this.silentMs();
    return silentMs < limitMs ? limitMs - silentMs : Math.max(0, limitMs + uploadMs(this.node) - silentMs);
  }

  private silentMs(): number {
    const now = performance.now();
    const stream = streamOf(this.node);
    const bytesRead = stream?.bytesRead ?? 0;
    const bytesSent = sentBytes(stream);
    // Bytes that the operating system accepted at once may still be in its buffer. Bytes that left a full buffer were
    // received.
    if (bytesRead > this.bytesRead || (this.wasFull && bytesSent > this.bytesSent)) {
      this.movedAt = now;
    }
    this.bytesRead = bytesRead;
    this.bytesSent = bytesSent;
    this.wasFull = isFull(stream);
    return now - this.movedAt;
  }
}

class SingleSilence implements Silence {
  private readonly traffic: Traffic;

  constructor(
    private readonly client: Redis,
    askedAt: number,
  ) {
    this.traffic = new Traffic(client, askedAt);
  }

  remainingMs(limitMs: number): number {
    return this.isSame && this.client.status === 'ready'
      ? this.traffic.remainingMs(limitMs)
      : leftOf(limitMs, this.traffic.askedAt);
  }

  /** Leaves alone a newer connection, and one to a server that reports that it is loading. */
  replaceDead(limitMs: number): void {
    if (this.isSame && !isLoading(this.client) && this.remainingMs(limitMs) === 0) {
      cut(this.client);
    }
  }

  private get isSame(): boolean {
    return streamOf(this.client) === this.traffic.stream;
  }
}

/**
 * In a Cluster each connection that owed a reply at that moment counts. Only the silent ones are replaced; other
 * connections and an away master are not affected.
 */
class ClusterSilence implements Silence {
  private readonly awaited: readonly AwaitedNode[];

  constructor(
    private readonly client: Cluster,
    private readonly askedAt: number,
  ) {
    this.awaited = client
      .nodes('all')
      .filter(owesAnswer)
      .map((node) => new AwaitedNode(node, askedAt));
  }

  remainingMs(limitMs: number): number {
    const leftMs = leftOf(limitMs, this.askedAt);
    const owing = this.client.status === 'ready' ? this.awaited.filter((node) => node.isUnanswered) : [];
    return Math.max(leftMs, ...owing.map((node) => node.remainingMs(limitMs)));
  }

  replaceDead(limitMs: number, error: Error): void {
    if (leftOf(limitMs, this.askedAt) > 0) {
      return;
    }
    if (this.client.status === 'ready') {
      this.awaited.filter((node) => node.isDead(limitMs)).forEach(({ node }) => replaceUnanswering(node, error));
    } else {
      cut(this.client);
    }
  }
}

/** A Cluster's connection that owed a reply. A connection that was not made yet had no stream. */
class AwaitedNode extends Traffic {
  private readonly last: UnansweredCommand | undefined;

  constructor(node: Redis, askedAt: number) {
    super(node, askedAt);
    this.last = sentCommands(node).at(-1);
  }

  /** Returns whether the connection is the same, ready, and still owes the same reply. */
  get isUnanswered(): boolean {
    return this.node.status === 'ready' && streamOf(this.node) === this.stream && this.owes;
  }

  isDead(limitMs: number): boolean {
    const stream = streamOf(this.node);
    const isSame = this.stream === undefined || this.stream === stream;
    const owes = this.last === undefined || this.owes;
    return stream !== undefined && isSame && owes && !isLoading(this.node) && this.remainingMs(limitMs) === 0;
  }

  private get owes(): boolean {
    return this.last !== undefined && sentCommands(this.node).includes(this.last);
  }
}

function leftOf(limitMs: number, askedAt: number): number {
  return Math.max(0, limitMs - (performance.now() - askedAt));
}

function isLoading(node: Redis): boolean {
  return node.status === 'connect' && (streamOf(node)?.bytesRead ?? 0) > 0;
}

function sentBytes(stream: Redis['stream'] | undefined): number {
  return stream ? stream.bytesWritten - stream.writableLength : 0;
}

function isFull(stream: Redis['stream'] | undefined): boolean {
  return stream !== undefined && stream.writableLength > 0;
}

/** Returns the upload time that the next unanswered command may take, in ms. */
function uploadMs(node: Redis): number {
  const [next] = sentCommands(node);
  return next ? Math.max(0, bytesOf(next) - SMALL_COMMAND_BYTES) / SLOWEST_UPLOAD : 0;
}
