// The shards of queues, as the commands of a session take them.
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import {
  markOfShard,
  MOST_SHARDS,
  shardName,
  shardNames,
  shardOfName,
  shardsIn,
} from '../../queue/model/spread.js';
import { redisWithAllKeys } from '../../queue/redis-access.js';
import { isQueueName } from '../../queue/validation/names.js';
import { ANY_QUEUE } from '../../queue/model/shared-limit.js';
import type { SpreadQueue } from '../../spread/spread-queue.js';
import { spreadOver, type WindowOnShards } from '../../spread/whole-queue.js';

/** The most names of the register that are read. */
const MOST_NAMES = 10_000;

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
export class QueueShards {
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
