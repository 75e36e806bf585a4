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
  /** Half-open: nothing passes, without an error. */
  dead: boolean;
  /** Its latest requests, by which a test selects it. */
  lately: string;
  /** True after a request without a reply. */
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
  private faking = false;
  private delayMs = 0;
  private upward: Bandwidth | undefined;
  private downward: Bandwidth | undefined;
  private losses: Loss[] = [];
  private onLostReply: (() => void) | undefined;
  private onRequest: (() => void)[] = [];
  private accepted = 0;
  private struckRequests = 0;
  private textBytes = 0;

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

  /** The server's URL with its user, password and database, but with the proxy's address. */
  get url(): string {
    const url = new URL(this.given);
    url.hostname = '127.0.0.1';
    url.port = String((this.listener.address() as { port: number }).port);
    return url.href;
  }

  /** Returns the number of open connections, and of all that were ever made. */
  get connections(): { open: number; made: number } {
    return { open: this.links.size, made: this.accepted };
  }

  /** Returns the bytes of the script texts that clients have sent, by EVAL. */
  get texts(): number {
    return this.textBytes;
  }

  /** Returns the number of requests that it lost, delayed, or whose reply it lost. */
  get struck(): number {
    return this.struckRequests;
  }

  /** Returns the number of connections that wait for a reply. */
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
   * Makes the connections half-open: they stay, and nothing passes in either direction, permanently. New connections
   * are treated the same until `heal()`.
   */
  pause(which: (requests: string) => boolean = () => true): void {
    this.swallowing = which('');
    this.links.forEach((link) => {
      if (link.dead || !which(link.lately)) return;
      link.dead = true;
      this.strike(link);
    });
  }

  /** Lets new connections work again, and replies pass. Connections that a pause killed stay dead. */
  heal(): void {
    this.swallowing = false;
    this.refusing = false;
    this.onLostReply = undefined;
    this.losses = [];
  }

  /** Confirms each SSUBSCRIBE by itself, and passes none on, until it is called with false. */
  fakeSubscriptions(faking = true): void {
    this.faking = faking;
  }

  /** Leads new connections to another server. Existing connections are unchanged. */
  retarget(url: string): void {
    this.target = addressOf(new URL(url));
  }

  /** Delays all bytes from now on by this long, each way. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** Limits all later traffic to this many bytes per second and direction, or removes the limit. */
  limitBandwidth(bytesPerSecond?: number): void {
    this.upward?.end();
    this.downward?.end();
    this.upward = bytesPerSecond === undefined ? undefined : new Bandwidth(bytesPerSecond);
    this.downward = bytesPerSecond === undefined ? undefined : new Bandwidth(bytesPerSecond);
  }

  /** Returns the bytes that passed since the bandwidth was limited, from the server and to it. */
  get passed(): { down: number; up: number } {
    return { down: this.downward?.passed ?? 0, up: this.upward?.passed ?? 0 };
  }

  /**
   * Loses one reply: the next request with this text reaches the server, which acts. Then the connection is cut before
   * the reply passes. Resolves after that.
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
      for (const [, bytes] of text.matchAll(/\$4\r\neval\r\n\$(\d+)\r\n/g)) this.textBytes += Number(bytes);
      const hit = this.losses.findIndex(({ request }) => text.includes(request));
      if (hit >= 0) [losing] = this.losses.splice(hit, 1);
      if (this.delayMs > 0 || this.upward) this.struckRequests++;
      this.pass(link, client, server, this.faking ? fakeConfirmations(client, text) : chunk);
      this.onRequest.splice(0).forEach((resolve) => resolve());
    });
    server.on('data', (chunk: Buffer) => {
      if (link.dead) return;
      if (this.onLostReply || losing) this.strike(link);
      link.waiting = false;
      if (this.onLostReply) return this.onLostReply();
      if (!losing) return this.pass(link, server, client, chunk);
      link.dead = true; // the rest of the answer, which is in flight, is lost with it
      const { done } = losing;
      setTimeout(() => {
        client.resetAndDestroy();
        done();
      }, 20);
    });
    const end = () => {
      // The end of a half-open connection is not passed on.
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

  /** Drops the reply of the link's request. */
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

/** Confirms the subscriptions of a request. Returns the rest of the request. */
function fakeConfirmations(client: Socket, request: string): Buffer {
  const rest = request.replace(/\*2\r\n\$10\r\nSSUBSCRIBE\r\n(\$\d+\r\n[^\r]+\r\n)/g, (_, channel: string) => {
    client.write(`*3\r\n$10\r\nssubscribe\r\n${channel}:1\r\n`, 'latin1');
    return '';
  });
  return Buffer.from(rest, 'latin1');
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
