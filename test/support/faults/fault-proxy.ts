// A TCP proxy before a Redis, with the faults of a network.
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterAll } from '@jest/globals';
import { testRedisUrl } from '../redis/redis.js';
import { Bandwidth } from './bandwidth.js';

const open = new Set<FaultProxy>();

afterAll(async () => {
  await Promise.all([...open].map((proxy) => proxy.close()));
  open.clear();
});

interface Link {
  client: Socket;
  server: Socket;
  /** Half-open: nothing passes any more, and nobody is told. */
  dead: boolean;
  /** What it has asked lately, to tell it from others. */
  lately: string;
  /** Whether it has asked and not been answered since. */
  waiting: boolean;
}

interface Loss {
  request: string;
  done: () => void;
}

export class FaultProxy {
  private readonly links = new Set<Link>();
  private swallowing = false;
  private refusing = false;
  private delayMs = 0;
  private upward: Bandwidth | undefined;
  private downward: Bandwidth | undefined;
  private losses: Loss[] = [];
  private onLostReply: (() => void) | undefined;
  private onRequest: (() => void)[] = [];
  private accepted = 0;
  private struckRequests = 0;

  private constructor(
    private readonly listener: Server,
    private readonly given: URL,
    private target = addressOf(given),
  ) {
    listener.on('connection', (client) => this.connect(client));
  }

  /** Listens on a free port, for the shared server or for another, whose URL begins with redis:// */
  static async start(target = testRedisUrl()): Promise<FaultProxy> {
    const listener = createServer();
    const proxy = new FaultProxy(listener, new URL(target));
    open.add(proxy);
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** That of the server, its user, password and database included, but by way of the proxy. */
  get url(): string {
    const url = new URL(this.given);
    url.hostname = '127.0.0.1';
    url.port = String((this.listener.address() as { port: number }).port);
    return url.href;
  }

  /** How many connections are open, and how many were ever made. */
  get connections(): { open: number; made: number } {
    return { open: this.links.size, made: this.accepted };
  }

  /** How many requests it has kept from the server, or from their answer, or delayed. */
  get struck(): number {
    return this.struckRequests;
  }

  /** How many connections have asked and not been answered since. */
  get waiting(): number {
    return [...this.links].filter(({ waiting }) => waiting).length;
  }

  /** Resolves when the next request has passed, and before its answer does. */
  asked(): Promise<void> {
    return new Promise((resolve) => this.onRequest.push(resolve));
  }

  /** Cuts all connections, with a reset. New ones are made as ever. */
  cut(): void {
    this.links.forEach((link) => {
      const { client, server } = link;
      this.strike(link);
      client.resetAndDestroy();
      server.destroy();
    });
  }

  /** Cuts all connections, and new ones at once: the server is away, until `heal()`. */
  refuse(): void {
    this.refusing = true;
    this.cut();
  }

  /**
   * Half-open: the connections stay, and nothing passes any more in either direction, for good. New ones are accepted
   * and share that fate until `heal()`.
   */
  pause(which: (requests: string) => boolean = () => true): void {
    this.swallowing = which('');
    this.links.forEach((link) => {
      if (link.dead || !which(link.lately)) return;
      link.dead = true;
      this.strike(link);
    });
  }

  /** New connections work again, and replies pass. Those that a pause killed stay dead. */
  heal(): void {
    this.swallowing = false;
    this.refusing = false;
    this.onLostReply = undefined;
    this.losses = [];
  }

  /** New connections lead to another server; those that exist stay where they are. */
  retarget(url: string): void {
    this.target = addressOf(new URL(url));
  }

  /** Everything that passes from now on takes so much longer, each way. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** Everything that passes from now on shares so many bytes per second, each way; without a number there is no limit. */
  limitBandwidth(bytesPerSecond?: number): void {
    this.upward?.end();
    this.downward?.end();
    this.upward = bytesPerSecond === undefined ? undefined : new Bandwidth(bytesPerSecond);
    this.downward = bytesPerSecond === undefined ? undefined : new Bandwidth(bytesPerSecond);
  }

  /** How many bytes have passed since the bandwidth was limited: from the server, and to it. */
  get passed(): { down: number; up: number } {
    return { down: this.downward?.passed ?? 0, up: this.upward?.passed ?? 0 };
  }

  /**
   * Loses one reply: the next request that holds this text reaches the server, which acts; then the connection is cut
   * before its answer passes. Resolves when that has happened.
   */
  loseReplyTo(request: string): Promise<void> {
    return new Promise((resolve) => this.losses.push({ request, done: resolve }));
  }

  /** Loses all replies until `heal()`; requests reach the server. Resolves when it has answered a first one. */
  loseReplies(): Promise<void> {
    return new Promise((resolve) => (this.onLostReply = resolve));
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private connect(client: Socket): void {
    this.accepted++;
    client.on('error', () => undefined);
    if (this.refusing) {
      client.resetAndDestroy();
      return;
    }
    const server = createConnection(this.target);
    const link: Link = { client, server, dead: this.swallowing, lately: '', waiting: false };
    this.links.add(link);
    let losing: Loss | undefined;
    client.on('data', (chunk: Buffer) => {
      link.waiting = true;
      if (link.dead) return this.strike(link);
      const text = chunk.toString('latin1');
      link.lately = text;
      const hit = this.losses.findIndex(({ request }) => text.includes(request));
      if (hit >= 0) [losing] = this.losses.splice(hit, 1);
      if (this.delayMs > 0 || this.upward) this.struckRequests++;
      this.pass(link, client, server, chunk);
      this.onRequest.splice(0).forEach((resolve) => resolve());
    });
    server.on('data', (chunk: Buffer) => {
      if (link.dead) return;
      if (this.onLostReply || losing) this.strike(link);
      link.waiting = false;
      if (this.onLostReply) return this.onLostReply();
      if (!losing) return this.pass(link, server, client, chunk);
      link.dead = true; // the rest of the answer, which is under way, is lost with it
      const { done } = losing;
      setTimeout(() => {
        client.resetAndDestroy();
        done();
      }, 20);
    });
    const end = () => {
      // Nobody is told of the end of a half-open connection.
      if (!link.dead || client.destroyed) {
        client.destroy();
        server.destroy();
      }
      if (client.destroyed) this.links.delete(link);
    };
    client.on('close', end);
    server.on('close', end);
    server.on('error', () => undefined);
  }

  /** Its request is answered no more. */
  private strike(link: Link): void {
    if (link.waiting) this.struckRequests++;
    link.waiting = false;
  }

  private pass(link: Link, from: Socket, to: Socket, chunk: Buffer): void {
    if (this.delayMs === 0) {
      this.passNow(link, from, to, chunk);
      return;
    }
    setTimeout(() => !link.dead && !to.destroyed && this.passNow(link, from, to, chunk), this.delayMs);
  }

  private passNow(link: Link, from: Socket, to: Socket, chunk: Buffer): void {
    const bandwidth = to === link.server ? this.upward : this.downward;
    if (bandwidth) {
      bandwidth.pass(link, from, to, chunk);
    } else {
      to.write(chunk);
    }
  }
}

function addressOf({ protocol, hostname, port }: URL): { host: string; port: number } {
  if (protocol !== 'redis:') {
    throw new Error(
      `The proxy of the faults expects a URL that begins with redis://, found ${protocol}//: ` +
        'it cannot harm what it cannot read, and so not TLS',
    );
  }
  return { host: hostname.replace(/^\[|\]$/g, '') || '127.0.0.1', port: Number(port || 6379) };
}
