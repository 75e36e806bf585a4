import { byWhole } from '../../inspect/join-shards.js';
import type { ServerVerdict } from '../../inspect/server-verdict.js';
import { EncryptedQueueError } from '../../queue/errors/enqueue-errors.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord } from '../../queue/model/job.js';
import { SHORTEST_OUTCOME_MS, type QueueOptions } from '../../queue/model/queue-options.js';
import { ANY_QUEUE } from '../../queue/model/shared-limit.js';
import {
  markOfShard,
  MOST_SHARDS,
  shardName,
  shardNames,
  shardOfName,
  shardsIn,
  shardOfId,
} from '../../queue/model/spread.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { isCluster, type RedisClient } from '../../queue/redis/redis-client.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import type { ActionAuthor } from '../../queue/store/action-entry.js';
import { ShownContent } from '../../queue/store/shown-content.js';
import { isQueueName, isLimitName, PREFIX, PREFIX_RULE } from '../../queue/validation/names.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';
import { spreadOver, type WindowOnShards, eachShard } from '../../spread/whole-queue.js';
import { CliError, EXIT } from '../exit-codes.js';
import { failureOf, silent } from '../failure.js';
import { clientOf, type AddressOptions, type ClientOfCommand, type ConnectionLife } from './address.js';
import { REPLY_MS, reach } from './reach.js';

/** Options that every command has. */
export interface SessionOptions extends AddressOptions {
  prefix: string;
}

/** Keeps all entries of a queue's audit trail: calls of this command line are written and push nothing out. */
const TRAIL: QueueOptions = { auditTrail: { maxEntries: 100_000_000 } };

/** Does the same for the outcomes of jobs: the shortest age never begins a new hash too early. */
const OUTCOMES: QueueOptions = { outcomes: { cap: 10_000_000, ageMs: SHORTEST_OUTCOME_MS } };

/** The most names of the register that are read. */
const MOST_NAMES = 10_000;

const SCAN_COUNT = 5_000;

/** The time the names of the queues are cached, in ms. */
const NAMES_MS = 60_000;

/** The longest wait for a word from a master, in ms. A silent one must hold up no command on the queues of others. */
const LOOK_MS = 1_000;

/** The interval at which a long-running command checks that Redis replies, in ms. */
const BEAT_MS = 2_000;

/** Refuses a glob, because a prefix is part of a pattern of keys and a glob would find other names. */
function checkPrefix(prefix: string): void {
  if (!PREFIX.test(prefix)) {
    throw new InvalidOptionError('--prefix', PREFIX_RULE, show(prefix));
  }
}

/** The connection to Redis of one command. */
export class Session {
  private readonly queues = new Map<string, JobQueue>();
  private names: { at: number; found: readonly string[] } | undefined;

  readonly client: RedisClient;
  readonly prefix: string;
  /** The address of Redis, without a password. */
  readonly place: string;
  private readonly life: ConnectionLife;
  /** The shards of the queues. */
  readonly shards = new QueueShards({
    queue: (name) => this.queue(name),
    audited: (name) => this.audited(name),
    isThere: (name) => this.isThere(name),
    replies: (key) => this.replies(key),
  });

  private constructor(
    { client, place, life }: ClientOfCommand,
    /** The author of what the command does. */
    private readonly author: ActionAuthor,
    /** The lead of the server's clock over this machine's, in ms. */
    readonly skewMs: number,
    private readonly opened: { options: SessionOptions; env: NodeJS.ProcessEnv },
  ) {
    this.client = client;
    this.prefix = opened.options.prefix;
    this.place = place;
    this.life = life;
  }

  /** Sets whether further connections, such as a subscriber's, reconnect. */
  set reconnects(wanted: boolean) {
    this.life.reconnects = wanted;
  }

  /** @throws CliError where Redis cannot be reached */
  static async open(options: SessionOptions, env: NodeJS.ProcessEnv, author: ActionAuthor): Promise<Session> {
    checkPrefix(options.prefix);
    const found = clientOf(options, env);
    const skewMs = await reach(found);
    return new Session(found, author, skewMs, { options, env });
  }

  /**
   * Opens another session of the same author: to the same Redis, unless the environment names another.
   *
   * @throws CliError where Redis cannot be reached
   */
  openBeside(options: SessionOptions, env?: NodeJS.ProcessEnv): Promise<Session> {
    return env
      ? Session.open(options, env, this.author)
      : Session.open({ ...this.opened.options, ...options }, this.opened.env, this.author);
  }

  /** Opens a session that connects, and connects again, as soon as Redis is there. */
  static openLater(options: SessionOptions, env: NodeJS.ProcessEnv, author: ActionAuthor): Session {
    const found = clientOf(options, env);
    found.life.reconnects = true;
    found.client.on('error', () => undefined);
    void found.client.connect().catch(() => undefined);
    return new Session(found, author, 0, { options, env });
  }

  /**
   * Waits for the reply to a Redis command, with a timeout, because a server may be frozen.
   *
   * @throws CliError
   */
  awaitReply<Reply>(asked: Promise<Reply>): Promise<Reply> {
    return within(systemClock, REPLY_MS, asked, () => {
      throw silent(this.place);
    });
  }

  /** Waits until the connection is gone or Redis keeps silent; rejects then. Ends with `signal`. */
  lost(signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      let owed = 0;
      const beat = () => {
        owed++;
        void this.awaitReply(this.client.ping()).then(() => owed--, reject);
      };
      // A queue cuts a silent connection, too. Redis owes the replies to several beats then.
      const closed = () => (owed > 1 ? silent(this.place) : failureOf(new Error('closed'), this.place, true));
      const onClose = () => reject(closed());
      const timer = setInterval(beat, BEAT_MS);
      this.client.once('close', onClose);
      signal.addEventListener('abort', () => {
        clearInterval(timer);
        this.client.off('close', onClose);
      });
    });
  }

  queue(name: string, options: QueueOptions = {}): JobQueue {
    let queue = this.queues.get(name);
    if (!queue || Object.keys(options).length > 0) {
      queue?.close();
      queue = new JobQueue(this.client, name, { prefix: this.prefix, ...options });
      queue.author = this.author;
      this.queues.set(name, queue);
    }
    return queue;
  }

  /**
   * Returns an existing queue, so that a misspelled name does not look like an idle queue. One with shards acts on all of them.
   *
   * @throws CliError
   */
  async known(name: string): Promise<JobQueue> {
    const others = await this.shards.others(name);
    return others.length === 0 ? this.existing(name) : this.shards.whole(name, others);
  }

  /**
   * Returns an existing queue for what it has once: of one with shards the first.
   *
   * @throws CliError
   */
  async existing(name: string): Promise<JobQueue> {
    if (!(await this.isThere(name))) {
      throw noQueue(JSON.stringify(name));
    }
    return this.audited(name);
  }

  /**
   * Takes one shard of a queue for this command. Returns its name.
   *
   * @throws CliError
   */
  async takeShard(name: string, shard: number): Promise<string> {
    const number = await this.shards.numberOf(name, await this.shards.others(name));
    if (shard >= number) {
      const has = number === 1 ? 'no shards' : `the shards 0 to ${number - 1}`;
      throw new CliError(`Queue ${JSON.stringify(name)} has ${has}, found --shard ${shard}.`, EXIT.notFound);
    }
    this.shards.isAlone = true;
    this.shards.idMark = number === 1 ? '' : markOfShard(shard);
    return shardName(name, shard);
  }

  /**
   * Returns the existing queue of a job, or the shard that has it.
   *
   * @throws CliError; the error of a shard that may have the job, and could not be asked
   */
  async holder(name: string, id: string): Promise<JobQueue> {
    const shard = this.shards.isAlone ? 0 : (shardOfId(id) ?? 0);
    const named = shardName(name, shard);
    if (shard > 0 && isQueueName(named) && (await this.isThere(named))) {
      return this.audited(named);
    }
    const others = await this.shards.others(name);
    if (others.length === 0) {
      return this.existing(name);
    }
    const names = [name, ...others];
    const found = await Promise.allSettled(names.map((each) => this.jobIn(each, id)));
    const at = found.findIndex((each) => each.status === 'fulfilled' && each.value !== null);
    const failed = found.find((each) => each.status === 'rejected');
    if (at === -1 && failed) {
      throw failed.reason;
    }
    return this.audited(names[Math.max(at, 0)]!);
  }

  /** Reads a job of a shard. @throws CliError if its master keeps silent; any other error of the read */
  private async jobIn(shard: string, id: string): Promise<JobRecord | null> {
    if (!(await this.replies(shard))) {
      throw silent(this.place);
    }
    return this.queue(shard).get(id);
  }

  /** Returns all queues. One with shards is one queue, and no shard is looked at yet. */
  async allQueues(): Promise<JobQueue[]> {
    const all = byWhole(await this.queueNames(), (name) => name);
    return all.map(({ queue, shards }) => {
      const names = shards.length === 1 ? shards : shardNames(queue, shardsIn(queue, shards));
      const [first, ...others] = names.map((each) => this.queue(each)) as [JobQueue, ...JobQueue[]];
      return others.length === 0 ? first : this.shards.wholeOf(queue, [first, ...others]);
    });
  }

  /** Returns whether the server of a key, or of the keys of a queue, replies soon. Only the masters of a Cluster are asked. */
  private async replies(key: string): Promise<boolean> {
    if (!isCluster(this.client)) {
      return true;
    }
    const asked = this.client.exists(/\{.*\}/.test(key) ? key : `{${key}}`).then(
      () => true,
      () => false,
    );
    return within(systemClock, LOOK_MS, asked, () => false);
  }

  private async isThere(name: string): Promise<boolean> {
    const { keys } = await redisWithAllKeys(this.queue(name));
    const { stats, pending, workers, names, scheduleDue } = keys;
    return (await this.awaitReply(this.client.exists(stats, pending, workers, names, scheduleDue))) > 0;
  }

  /** Returns a queue, there or not, which writes its audit trail and its outcomes if it has them. */
  async audited(name: string): Promise<JobQueue> {
    const { audit, outcomesA, outcomesB } = (await redisWithAllKeys(this.queue(name))).keys;
    const [trails, outcomes] = await this.awaitReply(
      Promise.all([this.client.exists(audit), this.client.exists(outcomesA, outcomesB)]),
    );
    return this.queue(name, { ...(trails > 0 && TRAIL), ...(outcomes > 0 && OUTCOMES) });
  }

  /** Returns what may be shown of a queue: it hides the parts that its workers list under `redact`. */
  async shownBy(queue: JobQueue): Promise<ShownContent> {
    const announced = await eachShard(queue, (shard) => shard.exec((calls) => calls.content()));
    return ShownContent.by(announced, queue.options);
  }

  /**
   * Refuses a move into an encrypted queue, before it is planned.
   *
   * @throws EncryptedQueueError
   */
  async refuseSecret(queue: JobQueue): Promise<void> {
    const content = await queue.exec((calls) => calls.content());
    if (content?.encrypted) {
      throw new EncryptedQueueError(queue.name);
    }
  }

  /**
   * Returns the names of all queues, by a walk over the keys in small steps. A long-running command walks once a
   * minute.
   */
  async queueNames(): Promise<readonly string[]> {
    const now = performance.now();
    if (!this.names || now - this.names.at > NAMES_MS) {
      this.names = { at: now, found: await this.findNames() };
    }
    return this.names.found;
  }

  /**
   * Returns the names of all limits that queues share, by a walk over the keys. So those of a fleet that is away are there,
   * too.
   */
  async limitNames(): Promise<readonly string[]> {
    const start = `${this.prefix}:limit:{`;
    const found = await this.findKeys(`${start}*[}s]`, (key) => {
      const [, name = ''] = /^([^{}]*)\}(?::queues)?$/s.exec(key.slice(start.length)) ?? [];
      return name;
    });
    return found.filter((name) => isLimitName(name)).toSorted();
  }

  private async findNames(): Promise<readonly string[]> {
    // stats, workers and schedule_due, in one pass
    const found = await this.findKeys(`${this.prefix}:*:[sw]*[rtu][es]`, (key) => this.nameIn(key));
    return found.filter((name) => isQueueName(name)).toSorted();
  }

  /** Returns the names in all keys of a pattern, each once. */
  private async findKeys(match: string, nameIn: (key: string) => string): Promise<string[]> {
    const found = new Set<string>();
    const nodes = isCluster(this.client) ? this.client.nodes('master') : [this.client];
    for (const node of nodes) {
      let cursor = '0';
      do {
        const [next, keys] = await this.awaitReply(node.scan(cursor, 'MATCH', match, 'COUNT', SCAN_COUNT));
        keys.forEach((key) => found.add(nameIn(key)));
        cursor = next;
      } while (cursor !== '0');
    }
    return [...found];
  }

  /** Returns the name in a key of a queue, '' for another key. In a Cluster it is in braces. */
  private nameIn(key: string): string {
    const [, name = ''] = /^(.*):(?:stats|workers|schedule_due)$/s.exec(key.slice(this.prefix.length + 1)) ?? [];
    return /^\{.*\}$/s.test(name) ? name.slice(1, -1) : name;
  }

  /** Returns the error that no queue was found, with the address and what is known of Redis there. */
  noQueues(server?: ServerVerdict): CliError {
    const hint = 'Look for a wrong database in the address, or say --prefix.';
    const where = `at ${this.place} whose keys begin with ${JSON.stringify(this.prefix)}`;
    const ofServer = server ? ` ${server.summary} there.` : '';
    return new CliError(`There are no queues ${where}. ${hint}${ofServer}`, EXIT.notFound);
  }

  /** Returns whether the connection is gone: a command makes no second one. */
  get isCut(): boolean {
    return this.client.status !== 'ready';
  }

  close(): void {
    this.queues.forEach((queue) => queue.close());
    this.client.disconnect();
  }
}

/** Returns the error for an unknown queue. @param next a further step */
export function noQueue(which: string, next?: string): CliError {
  const words = [`There is no queue ${which}. "queues" lists all queues.`, ...(next === undefined ? [] : [next])];
  return new CliError(words.join(' '), EXIT.notFound);
}

// The shards of queues, as the commands of a session take them.

/** The queues of a session. */
interface Queues {
  queue(name: string): JobQueue;
  /** Returns the queue with what it writes beside its jobs. */
  audited(name: string): Promise<JobQueue>;
  isThere(name: string): Promise<boolean>;
  /** Returns whether the server of a key replies soon. A call to a silent one would cut the connection to all. */
  replies(key: string): Promise<boolean>;
}

/** Whether a shard is there; undefined of one whose master is away. */
interface Look {
  shard: string;
  isThere: boolean | undefined;
}

/** Finds the shards of queues, and asks all of them. A shard that does not reply does not stop a command. */
class QueueShards {
  private readonly failures = new Map<string, string>();
  /** True if the command takes one shard alone. The name of a queue is that of its first shard then. */
  isAlone = false;
  /** The end of the ids of such a shard. Empty if the queue has no others. */
  idMark = '';

  constructor(private readonly queues: Queues) {}

  /** The shards that did not reply, in their order, with the reason. */
  get unreached(): ReadonlyMap<string, string> {
    const all = [...this.failures];
    return new Map(all.toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
  }

  /** Asks shards again that did not reply. For a command that reads again and again. */
  beginAgain(): void {
    this.failures.clear();
  }

  /**
   * Returns the names of the shards of a queue beside the first, whose name is that of the queue. Those of the register are looked
   * at, because jobs of few keys may be in the last shards alone. A shard whose master is away cannot say whether it is
   * there. It is, if the register has it, or if others are there: most numbers are a power of two.
   */
  async others(name: string): Promise<string[]> {
    if (this.isAlone) {
      return [];
    }
    const registered = await this.registered(name);
    const shards: Look[] = [];
    // Twice as many each time, because most numbers are a power of two.
    for (let known = 1; known < MOST_SHARDS; known *= 2) {
      const next = await this.look(shardNames(name, 2 * known).slice(known));
      shards.push(...next);
      const isEnd = next.every(({ isThere }) => isThere === false || (isThere === undefined && known > 1));
      if (isEnd && 2 * known >= registered) break;
    }
    const last = shards.findLastIndex(({ isThere }) => isThere) + 1;
    const isSilent = shards.some(({ isThere }) => isThere === undefined);
    const number = last === 0 ? 0 : 2 ** Math.ceil(Math.log2(last + 1));
    const most = Math.max(number, isSilent ? registered : 0);
    return shards.flatMap(({ shard, isThere }, i) => ((isThere ?? i < most - 1) ? [shard] : []));
  }

  /** Returns how many shards a queue has or had, by these others and by the register. */
  async numberOf(name: string, others: readonly string[]): Promise<number> {
    return Math.max(await this.registered(name), ...others.map((each) => shardOfName(each)!.shard + 1), 1);
  }

  /** Returns which shards are there. */
  private look(names: readonly string[]): Promise<Look[]> {
    return Promise.all(
      names.map(async (shard) => {
        if (!isQueueName(shard)) return { shard, isThere: false }; // it would be too long
        const isThere = (await this.queues.replies(shard)) ? this.queues.isThere(shard) : undefined;
        return { shard, isThere: await isThere?.catch(() => undefined) };
      }),
    );
  }

  /** Returns how many shards of a queue the register of queues has; 0 if it cannot be read. */
  private async registered(name: string): Promise<number> {
    const door = this.queues.queue(ANY_QUEUE);
    try {
      if (!(await this.queues.replies(door.name))) return 0;
      const { keys } = await redisWithAllKeys(door);
      if (!(await this.queues.replies(keys.register))) return 0;
      return shardsIn(name, await door.store.queues.registered(await door.calls(), MOST_NAMES, door.callLimit));
    } catch {
      return 0;
    }
  }

  /** Returns a queue with these other shards as one queue. A shard between them that is not there is empty. */
  async whole(name: string, others: readonly string[]): Promise<JobQueue> {
    const number = Math.max(...others.map((each) => shardOfName(each)!.shard)) + 1;
    const names = shardNames(name, number);
    const shards = await Promise.all(names.map((each) => this.opened(each)));
    return this.wholeOf(name, shards);
  }

  /** Returns some shards as one queue, without a look at them. */
  wholeOf(name: string, shards: readonly JobQueue[]): JobQueue {
    return this.spreadOf(name, shards).whole;
  }

  private spreadOf(name: string, shards: readonly JobQueue[]): SpreadQueue {
    const reference = (shard: number) => this.queues.queue(shardName(name, shard));
    return spreadOver(name, shards, { reference, spreadOf: () => undefined }, this.windowOn(shards));
  }

  /**
   * Returns a queue to add jobs to, there or not. One with shards gives each job its shard, as a producer does. So it needs
   * their exact number: that of the shards with workers. Without workers it is the number of the register.
   */
  async toFill(name: string): Promise<JobQueue> {
    const one = shardOfName(name);
    if (one || this.isAlone) {
      const queue = await this.queues.audited(name);
      queue.idMark = one ? markOfShard(one.shard) : this.idMark;
      return queue;
    }
    const known = await this.numberOf(name, await this.others(name));
    if (known === 1) {
      return this.queues.audited(name);
    }
    const shards = await Promise.all(shardNames(name, known).map((each) => this.served(each)));
    const served = shards.findLastIndex(({ workers }) => workers !== 0) + 1;
    const used = shards.slice(0, served || known);
    const spread = this.spreadOf(
      name,
      used.map(({ shard }) => shard),
    );
    used.forEach(({ shard, workers }) => workers === undefined && spread.passOver(shard));
    return spread.whole;
  }

  /** Returns how many workers a shard has; undefined if its master is away. */
  private async served(name: string): Promise<{ shard: JobQueue; workers: number | undefined }> {
    try {
      const shard = (await this.queues.replies(name)) ? await this.queues.audited(name) : undefined;
      return { shard: shard ?? this.queues.queue(name), workers: shard && (await shard.stats()).workers };
    } catch {
      return { shard: this.queues.queue(name), workers: undefined };
    }
  }

  /** Opens a shard. If its master is away, the command goes on without it. */
  private async opened(shard: string): Promise<JobQueue> {
    try {
      if (await this.queues.replies(shard)) return await this.queues.audited(shard);
      this.failures.set(shard, 'no answer');
    } catch (error) {
      this.failures.set(shard, (error as Error).message);
    }
    return this.queues.queue(shard);
  }

  private windowOn(shards: readonly JobQueue[]): WindowOnShards {
    const left = () => shards.filter(({ name }) => !this.failures.has(name));
    return {
      asked: () => (left().length > 0 ? left() : shards),
      failed: ({ name }, error) => {
        this.failures.set(name, (error as Error).message);
        if (error instanceof InvalidOptionError || left().length === 0) throw error; // the same in all
      },
      advice: `Pass --shard with 0 to ${shards.length - 1}.`,
    };
  }
}
