// The server in memory behind a socket, in the protocol of Redis (RESP2). So the specs that were written for Redis judge it, by
// the real ioredis.
import { createHash } from 'node:crypto';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { drawnDialect, toInteger, wholeText } from '#memory/lua/numbers.js';
import type { CommandTable } from '#memory/lua/runtime.js';
import { LuaError, LuaTable, shown, type LuaValue } from '#memory/lua/values.js';
import { commandsOf } from '#memory/server/commands.js';
import { Random } from '../../../tools/chaos/random.js';
import { DeclaredKeysServer, hasRun, NOT_IN_MEMORY, scriptOf } from './declared-keys.js';
import { extraCommands } from './extra-commands.js';

/** A reply: a value of Lua, an error, several replies at once, or none yet. */
type Reply = LuaValue | Error | readonly LuaValue[] | typeof NOTHING;

const NOTHING = Symbol('no reply');
const OK = () => LuaTable.of({ ok: 'OK' });

/** A database: its server, and the commands beside those of the server. */
interface Database {
  readonly server: DeclaredKeysServer;
  readonly extra: CommandTable;
}

class RespServer {
  /** The scripts by their digests. */
  readonly scripts = new Map<string, string>();
  private readonly databases = new Map<number, Database>();
  private readonly sockets = new Set<Socket>();
  private readonly random: Random;
  private readonly listener: Server;
  private clients = 0;

  /** @param seed draws the version of Redis, the order of hash tables, and what the server picks at random */
  constructor(seed: number) {
    this.random = new Random(seed);
    this.listener = createServer((socket) => {
      this.sockets.add(socket.setNoDelay(true));
      socket.on('close', () => this.sockets.delete(socket));
      const client = new RespClient(this, socket, ++this.clients);
      socket.on('data', (data) => client.read(data));
    });
    this.listener.listen(0); // bound at once, because no name is looked up
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.listener.address() as AddressInfo).port}`;
  }

  database(index: number): Database {
    const known = this.databases.get(index);
    if (known) return known;
    const random = () => this.random.next();
    const server = new DeclaredKeysServer(() => performance.timeOrigin + performance.now(), {
      random,
      dialect: drawnDialect(random),
    });
    const database = { server, extra: extraCommands(server.keys, commandsOf(server.keys)) };
    this.databases.set(index, database);
    return database;
  }

  /** @throws if the script of this spec has not run here, because nothing has then checked its keys */
  requireScriptOf(spec: string): void {
    const name = scriptOf(spec);
    const texts = [...this.databases.values()].flatMap(({ server }) => [...server.checked]);
    if (name && !(name in NOT_IN_MEMORY) && !hasRun(name, texts)) {
      throw new Error(`The script ${name} has not run in memory. Run it in ${spec}, or name it in NOT_IN_MEMORY.`);
    }
  }

  close(): void {
    this.sockets.forEach((socket) => socket.destroy());
    this.listener.close();
  }
}

/** Starts a server of one test file. MEMORY_SEED draws another version of Redis. */
export function startRespServer(): RespServer {
  return new RespServer(Number(process.env.MEMORY_SEED ?? 1));
}

class RespClient {
  /** The bytes that are no command yet: as they came, their number, and how many the next command needs. */
  private arrived: Buffer[] = [];
  private size = 0;
  private needed = 0;
  private unread: Buffer = Buffer.alloc(0);
  private index = 0;
  private name = '';
  /** Ends the subscriptions, by their channels. */
  private readonly subscriptions = new Map<string, () => void>();
  /** The commands that wait behind one that blocks. */
  private behind: string[][] | undefined;
  private endWait: (() => void) | undefined;
  /** The commands of a transaction. */
  private queued: string[][] | undefined;

  constructor(
    private readonly owner: RespServer,
    private readonly socket: Socket,
    private readonly id: number,
  ) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.subscriptions.forEach((end) => end());
      this.endWait?.();
    });
  }

  private get database(): Database {
    return this.owner.database(this.index);
  }

  read(data: Buffer): void {
    this.arrived.push(data);
    this.size += data.length;
    if (this.size < this.needed) return; // a large text comes in many pieces
    this.unread = this.arrived.length === 1 ? data : Buffer.concat(this.arrived);
    for (let words = this.next(); words; words = this.next()) this.take(words);
    this.arrived = [this.unread];
    this.size = this.unread.length;
  }

  /** Returns the words of the next command that has arrived whole. Else notes how many bytes it needs at least. */
  private next(): string[] | undefined {
    const { unread } = this;
    let at = 0;
    const line = (): string | undefined => {
      const end = unread.indexOf('\r\n', at);
      if (end < 0) return undefined;
      const text = unread.toString('latin1', at, end);
      at = end + 2;
      return text;
    };
    this.needed = 0;
    const head = line();
    if (head === undefined) return undefined;
    const words: string[] = [];
    for (let left = Number(head.slice(1)); left > 0; left--) {
      const size = line();
      if (size === undefined) return undefined;
      const end = at + Number(size.slice(1));
      if (unread.length < end + 2) {
        this.needed = end + 2;
        return undefined;
      }
      words.push(unread.toString('latin1', at, end));
      at = end + 2;
    }
    this.unread = unread.subarray(at);
    return words;
  }

  private take(words: string[]): void {
    if (this.behind) this.behind.push(words);
    else this.send(this.answer(words));
  }

  private send(reply: Reply): void {
    if (reply !== NOTHING && this.socket.writable) this.socket.write(encoded(reply), 'latin1');
  }

  /** Runs a command. A fault of the server in memory becomes an error reply that no Redis has. */
  private answer(words: string[]): Reply {
    try {
      return this.run(words);
    } catch (error) {
      if (error instanceof LuaError) return replyOfError(error);
      return new Error(`FAULT ${(error as Error).stack?.replaceAll('\n', ' ')}`);
    }
  }

  private run([word = '', ...args]: string[]): Reply {
    const name = word.toUpperCase();
    if (this.queued && name !== 'EXEC' && name !== 'DISCARD') {
      this.queued.push([word, ...args]);
      return LuaTable.of({ ok: 'QUEUED' });
    }
    const ofConnection = CONNECTION[name];
    if (ofConnection) return ofConnection.call(this, args);
    const { server, extra } = this.database;
    const more = Object.hasOwn(extra, name) ? extra[name] : undefined;
    return more ? server.step(() => more(...args)) : server.send(name, args);
  }

  evaluate(text: string, [count = '0', ...rest]: string[]): Reply {
    const keys = Number(count);
    return this.database.server.run(text, rest.slice(0, keys), rest.slice(keys));
  }

  eval([text = '', ...rest]: string[]): Reply {
    this.load(text);
    return this.evaluate(text, rest);
  }

  evalsha([digest = '', ...rest]: string[]): Reply {
    const text = this.owner.scripts.get(digest.toLowerCase());
    if (text === undefined) return new Error('NOSCRIPT No matching script. Please use EVAL.');
    return this.evaluate(text, rest);
  }

  script([verb = '', ...args]: string[]): Reply {
    const { scripts } = this.owner;
    switch (verb.toUpperCase()) {
      case 'LOAD':
        return this.load(args[0]!);
      case 'EXISTS':
        return new LuaTable(args.map((digest) => (scripts.has(digest) ? 1 : 0)));
      case 'FLUSH':
        scripts.clear();
        return OK();
      default:
        return new Error(`ERR unknown subcommand '${verb}'`);
    }
  }

  private load(text: string): string {
    const digest = createHash('sha1').update(text, 'latin1').digest('hex');
    this.owner.scripts.set(digest, text);
    return digest;
  }

  select([index = '0']: string[]): Reply {
    this.index = Number(index);
    return OK();
  }

  client([verb = '', ...args]: string[]): Reply {
    switch (verb.toUpperCase()) {
      case 'ID':
        return this.id;
      case 'SETNAME':
        this.name = args[0] ?? '';
        return OK();
      case 'GETNAME':
        return this.name;
      default:
        return OK();
    }
  }

  multi(): Reply {
    this.queued = [];
    return OK();
  }

  discard(): Reply {
    this.queued = undefined;
    return OK();
  }

  exec(): Reply {
    const commands = this.queued ?? [];
    this.queued = undefined;
    const replies = commands.map((words) => encoded(this.answer(words)));
    this.socket.write(`*${replies.length}\r\n${replies.join('')}`, 'latin1');
    return NOTHING;
  }

  subscribe(verb: 'subscribe' | 'ssubscribe', channels: string[]): Reply {
    const isSharded = verb === 'ssubscribe';
    return channels.map((channel) => {
      if (!this.subscriptions.has(channel)) {
        const hear = (message: string) =>
          this.send(new LuaTable([isSharded ? 'smessage' : 'message', channel, message]));
        this.subscriptions.set(channel, this.database.server.subscribe(channel, hear));
      }
      return new LuaTable([verb, channel, this.subscriptions.size]);
    });
  }

  unsubscribe(verb: 'unsubscribe' | 'sunsubscribe', asked: string[]): Reply {
    const channels = asked.length > 0 ? asked : [...this.subscriptions.keys()];
    if (channels.length === 0) return [new LuaTable([verb, false, 0])];
    return channels.map((channel) => {
      this.subscriptions.get(channel)?.();
      this.subscriptions.delete(channel);
      return new LuaTable([verb, channel, this.subscriptions.size]);
    });
  }

  /** Waits for a marker. Other commands of the connection wait behind it. */
  bzpopmin(args: string[]): Reply {
    const [keys, seconds] = [args.slice(0, -1), Number(args.at(-1))];
    const timer: { ends?: NodeJS.Timeout } = {};
    let reply: Reply = NOTHING;
    const end = (found: Reply) => {
      clearTimeout(timer.ends);
      this.endWait = undefined;
      const waiting = this.behind;
      this.behind = undefined;
      if (!waiting) reply = found; // a marker was there at once
      else {
        this.send(found);
        waiting.forEach((words) => this.take(words));
      }
    };
    const forget = this.database.server.wait({ keys, end: (...found) => end(new LuaTable(found)) });
    if (reply !== NOTHING) return reply;
    this.behind = [];
    const giveUp = () => {
      forget();
      end(false);
    };
    if (seconds > 0) timer.ends = setTimeout(giveUp, seconds * 1_000);
    this.endWait = () => {
      clearTimeout(timer.ends);
      forget();
    };
    return NOTHING;
  }

  /** Moves an item of a list once there is one. It looks again and again, because the server waits for markers alone. */
  blmove(args: string[]): Reply {
    const deadline = performance.now() + 1_000 * Number(args[4]);
    const move = (): LuaValue => this.database.server.step(() => this.database.extra.LMOVE!(...args.slice(0, 4)));
    const found = move();
    if (found !== false) return found;
    const waiting: string[][] = [];
    this.behind = waiting;
    const timer = setInterval(() => {
      const later = move();
      if (later === false && performance.now() < deadline) return;
      this.endWait!();
      this.behind = undefined;
      this.send(later);
      waiting.forEach((words) => this.take(words));
    }, 5);
    this.endWait = () => clearInterval(timer);
    return NOTHING;
  }

  quit(): Reply {
    this.socket.end('+OK\r\n');
    return NOTHING;
  }
}

const INFO = [
  '# Server',
  'redis_version:7.4.0',
  'redis_mode:standalone',
  '# Memory',
  'maxmemory_policy:noeviction',
  '# Persistence',
  'loading:0',
  'aof_enabled:1',
  'aof_last_write_status:ok',
  'rdb_last_bgsave_status:ok',
  '# Replication',
  'role:master',
  '',
].join('\r\n');

/** The commands of a connection, beside those on keys. */
const CONNECTION: Readonly<Record<string, (this: RespClient, args: string[]) => Reply>> = {
  PING: ([text]) => text ?? LuaTable.of({ ok: 'PONG' }),
  ECHO: ([text]) => text,
  AUTH: OK,
  HELLO: () => new Error('NOPROTO unsupported protocol version'),
  INFO: () => INFO,
  COMMAND: () => new LuaTable(),
  CONFIG: ([verb, name]) => (verb?.toUpperCase() === 'GET' ? new LuaTable([name, '']) : OK()),
  WAIT: () => 0,
  WATCH: OK,
  UNWATCH: OK,
  QUIT() {
    return this.quit();
  },
  SELECT(args) {
    return this.select(args);
  },
  CLIENT(args) {
    return this.client(args);
  },
  MULTI() {
    return this.multi();
  },
  DISCARD() {
    return this.discard();
  },
  EXEC() {
    return this.exec();
  },
  SCRIPT(args) {
    return this.script(args);
  },
  EVAL(args) {
    return this.eval(args);
  },
  EVALSHA(args) {
    return this.evalsha(args);
  },
  SUBSCRIBE(args) {
    return this.subscribe('subscribe', args);
  },
  SSUBSCRIBE(args) {
    return this.subscribe('ssubscribe', args);
  },
  UNSUBSCRIBE(args) {
    return this.unsubscribe('unsubscribe', args);
  },
  SUNSUBSCRIBE(args) {
    return this.unsubscribe('sunsubscribe', args);
  },
  BLMOVE(args) {
    return this.blmove(args);
  },
  BZPOPMIN(args) {
    return this.bzpopmin(args);
  },
};

function replyOfError({ value }: LuaError): Error {
  const err = value instanceof LuaTable ? value.get('err') : undefined;
  return new Error(typeof err === 'string' ? err : `ERR user_script: ${shown(value)}`);
}

function encoded(reply: Reply): string {
  if (Array.isArray(reply)) return reply.map(encoded).join('');
  if (reply instanceof Error) return `-${reply.message.replace(/[\r\n]+/g, ' ')}\r\n`;
  if (typeof reply === 'number') return `:${wholeText(toInteger(reply))}\r\n`;
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`;
  if (reply === true) return ':1\r\n';
  return reply instanceof LuaTable ? encodedTable(reply) : '$-1\r\n';
}

function encodedTable(table: LuaTable): string {
  const [err, ok] = [table.get('err'), table.get('ok')];
  if (err !== undefined) return encoded(new Error(shown(err)));
  if (ok !== undefined) return `+${shown(ok)}\r\n`;
  const end = table.items.indexOf(undefined);
  const items = end < 0 ? table.items : table.items.slice(0, end);
  return `*${items.length}\r\n${items.map(encoded).join('')}`;
}
