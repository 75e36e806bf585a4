import type { Redis } from 'ioredis';
import { backgroundInterval, backgroundTimeout } from '../../runtime/clock.js';
import { errorText } from '../connection-errors.js';

/** The interval of the pings, in ms. A connection that is silent for as long after one is replaced. */
const PING_MS = 2_000;

/** The time until a connection has to be open, in ms. */
const LONGEST_OPENING_MS = 5_000;

/** A command without a reply. */
interface SentCommand {
  readonly verb: 'SSUBSCRIBE' | 'SUNSUBSCRIBE' | 'SUBSCRIBE' | 'UNSUBSCRIBE' | 'PING';
  readonly channel: string;
}

/** A channel to subscribe. A sharded one is known only to the master of its slot. */
interface HubChannel {
  readonly name: string;
  readonly isSharded: boolean;
}

/** Receives what happens on a connection. */
interface HubConnectionListener {
  /** Called when the server counts this subscriber of the channel from now on. */
  confirmed(channel: string): void;
  message(channel: string, text: string): void;
  /** Called when the server has ended the subscription by itself, or refuses it. */
  dropped(channel: string, error?: Error): void;
  /** Called when the connection has ended, and with it all its subscriptions. */
  closed(connection: HubConnection): void;
}

/**
 * A connection to one master that only subscribes. ioredis opens it, with its TLS and passwords. Then
 * the hub reads and writes the socket itself. For an unasked sunsubscribe, and MOVED as the reply to SSUBSCRIBE, each
 * version of ioredis does something else.
 */
export class HubConnection {
  private socket: Redis['stream'] | undefined;
  private readonly reader = new ReplyReader((reply) => this.receive(reply));
  private readonly unanswered: SentCommand[] = [];
  /** The channels to subscribe once the connection is open. */
  private waiting: HubChannel[] = [];
  private owesPong = false;
  private isClosed = false;
  private timer: NodeJS.Timeout;

  /** @param client a new client of one server, not connected and without retries */
  constructor(
    private readonly client: Redis,
    private readonly listener: HubConnectionListener,
  ) {
    this.timer = backgroundTimeout(() => this.close(), LONGEST_OPENING_MS);
    client.once('end', () => this.close());
    this.open().catch(() => this.close()); // the client has reported the error
  }

  subscribe(channel: HubChannel): void {
    if (this.socket) {
      this.send({ verb: channel.isSharded ? 'SSUBSCRIBE' : 'SUBSCRIBE', channel: channel.name });
    } else {
      this.waiting.push(channel);
    }
  }

  unsubscribe(channel: HubChannel): void {
    if (this.socket) {
      this.send({ verb: channel.isSharded ? 'SUNSUBSCRIBE' : 'UNSUBSCRIBE', channel: channel.name });
    } else {
      this.waiting = this.waiting.filter((each) => each !== channel);
    }
  }

  close(): void {
    if (!this.isClosed) {
      this.isClosed = true;
      clearTimeout(this.timer);
      this.socket?.destroy();
      // Of a closed client, ioredis would keep the process alive for two seconds.
      if (!['close', 'end'].includes(this.client.status)) this.client.disconnect();
      this.listener.closed(this);
    }
  }

  private async open(): Promise<void> {
    await this.client.connect();
    await this.client.ping(); // behind everything that the client sends by itself
    if (this.isClosed) {
      return;
    }
    clearTimeout(this.timer);
    this.socket = this.client.stream;
    this.socket.removeAllListeners('data');
    this.socket.on('data', (bytes: Buffer) => this.read(bytes));
    this.socket.once('close', () => this.close());
    this.timer = backgroundInterval(() => setImmediate(() => this.ping()), PING_MS);
    this.waiting.splice(0).forEach((channel) => this.subscribe(channel));
  }

  /** Pings. Called after the bytes of this tick were read, so that a process that was suspended keeps its connection. */
  private ping(): void {
    if (this.owesPong) {
      return this.close();
    }
    if (!this.isClosed) {
      this.owesPong = true;
      this.send({ verb: 'PING', channel: '' });
    }
  }

  private send(command: SentCommand): void {
    this.unanswered.push(command);
    const parts = command.verb === 'PING' ? [command.verb] : [command.verb, command.channel];
    const texts = parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
    this.socket?.write(`*${parts.length}\r\n${texts.join('')}`);
  }

  private read(bytes: Buffer): void {
    this.owesPong = false;
    try {
      this.reader.read(bytes);
    } catch (error) {
      this.client.emit('error', new Error(`unreadable: ${errorText(error as Error)}`));
      this.close();
    }
  }

  private receive(reply: Reply): void {
    if (reply instanceof Error) {
      const failed = this.unanswered.shift();
      if (failed?.verb === 'SSUBSCRIBE' || failed?.verb === 'SUBSCRIBE') {
        this.listener.dropped(failed.channel, reply);
      }
      return;
    }
    const [kind, channel, text] = Array.isArray(reply) ? reply.map(String) : [];
    if (kind === 'smessage' || kind === 'message') {
      this.listener.message(channel!, text!);
    } else if (kind === 'sunsubscribe') {
      this.unsubscribed(channel!);
    } else {
      this.unanswered.shift();
      if (kind === 'ssubscribe' || kind === 'subscribe') {
        this.listener.confirmed(channel!);
      }
    }
  }

  /** Handles the end of a subscription. The server ends it by itself when a slot moves or the master is demoted. */
  private unsubscribed(channel: string): void {
    const [head] = this.unanswered;
    if (head?.verb === 'SUNSUBSCRIBE' && head.channel === channel) {
      this.unanswered.shift();
    } else {
      this.listener.dropped(channel);
    }
  }
}

/** A value that a server sent: text, a number, nothing, an error, or a list of these. */
type Reply = string | number | null | Error | Reply[];

const CR = 13;
const LF = 10;

/** A list whose values have not all arrived. */
interface OpenList {
  values: Reply[];
  missing: number;
}

/**
 * Reads the replies of a connection that subscribes. ioredis cannot: version 5 ends the process at a sunsubscribe that it
 * did not ask for. Understands what a server sends to SUBSCRIBE, SSUBSCRIBE, their ends and PING, in RESP2 and RESP3.
 */
class ReplyReader {
  private rest: Buffer = Buffer.alloc(0);
  private readonly lists: OpenList[] = [];

  constructor(private readonly onReply: (reply: Reply) => void) {}

  /** @throws TypeError for bytes that are no such reply */
  read(bytes: Buffer): void {
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    let at = 0;
    for (let next = this.readAt(at); next !== undefined; next = this.readAt(at)) {
      at = next;
    }
    this.rest = this.rest.subarray(at);
  }

  /** Reads one line, and the text that it announces. Returns where the next one begins; undefined if bytes are missing. */
  private readAt(at: number): number | undefined {
    const end = this.endOfLine(at);
    if (end === undefined) {
      return undefined;
    }
    const line = this.rest.toString('utf8', at + 1, end);
    const next = end + 2;
    switch (String.fromCharCode(this.rest[at]!)) {
      case '+':
        return this.got(line, next);
      case '-':
        return this.got(Object.assign(new Error(line), { name: 'ReplyError' }), next);
      case ':':
        return this.got(Number(line), next);
      case '_':
        return this.got(null, next);
      case '$':
        return this.text(Number(line), next);
      case '*':
      case '>':
        return this.list(Number(line), next);
      default:
        throw new TypeError(`expected a reply of Redis, found ${JSON.stringify(line.slice(0, 40))}`);
    }
  }

  private endOfLine(at: number): number | undefined {
    const end = this.rest.indexOf(CR, at);
    return end >= 0 && this.rest[end + 1] === LF ? end : undefined;
  }

  private text(length: number, from: number): number | undefined {
    if (length < 0) {
      return this.got(null, from);
    }
    return this.rest.length < from + length + 2
      ? undefined
      : this.got(this.rest.toString('utf8', from, from + length), from + length + 2);
  }

  private list(length: number, next: number): number {
    if (length <= 0) {
      return this.got(length < 0 ? null : [], next);
    }
    this.lists.push({ values: [], missing: length });
    return next;
  }

  /** Adds a value to the innermost open list, and hands out a whole reply. */
  private got(value: Reply, next: number): number {
    const list = this.lists.at(-1);
    if (!list) {
      this.onReply(value);
      return next;
    }
    list.values.push(value);
    list.missing--;
    if (list.missing === 0) {
      this.lists.pop();
      return this.got(list.values, next);
    }
    return next;
  }
}
