import type { Cluster, Redis } from 'ioredis';
import { bytesOf, owesAnswer, sentCommands, type UnansweredCommand } from './ioredis-internals.js';
import { replaceNodes, replaceUnanswering } from './cluster/ioredis-cluster-workarounds.js';
import { isCluster, streamOf, type RedisClient } from './redis-client.js';

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
