// The shards of a queue as this process uses them; see docs/internals/spread.md.
import { EnqueueError } from '../queue/errors/enqueue-errors.js';
import { InvalidOptionError, RedisUnsuitableError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import { markOfShard, shardOfId, shardOfKey } from '../queue/model/spread.js';
import type { ResolvedQueueOptions } from '../queue/model/queue-options.js';

/** The options of an enqueue that decide its shard. Nobody has checked them yet. */
interface ShardKeys {
  readonly id?: unknown;
  readonly group?: unknown;
  readonly unique?: unknown;
}

/** A queue over all masters: its shards, and which of them a call uses. */
export class SpreadQueue {
  private readonly replies: readonly ShardReplies[];
  /** The shard of the next job without a key. Processes begin anywhere, so that they do not follow each other. */
  private turn: number;
  /** The queue as one object, see spreadOver. */
  whole!: JobQueue;

  /** @param reference returns the queue of a shard beyond the known ones, which another process may have */
  constructor(
    readonly name: string,
    readonly shards: readonly JobQueue[],
    private readonly reference: (shard: number) => JobQueue,
  ) {
    this.replies = shards.map((shard) => new ShardReplies(shard));
    this.turn = Math.floor(shards[0]!.store.clock.random() * shards.length);
  }

  /** Returns the shard of a key, such as a group. */
  ofKey(key: string): JobQueue {
    return this.shards[shardOfKey(key, this.shards.length)]!;
  }

  /**
   * Returns the shard of a new job by its options; undefined if they have no key. Options that are not as they must be have
   * none, because their check refuses them. An own id may end in the number of a shard that this process does not know. It
   * names none, because nobody may serve that shard.
   *
   * @param subject how errors name the job
   * @throws InvalidOptionError for an id of one shard beside a key of another
   */
  ofJob(subject: string, options: unknown): JobQueue | undefined {
    const { id, group, unique } = (options ?? {}) as ShardKeys;
    const key = [group, (unique as { key?: unknown } | null | undefined)?.key].find(isText);
    const shard = isText(id) ? this.named(id) : undefined;
    if (shard === undefined) {
      const chosen = key ?? (isText(id) ? id : undefined);
      return chosen === undefined ? undefined : this.ofKey(chosen);
    }
    if (key !== undefined && shard !== this.ofKey(key)) {
      const mark = markOfShard(this.shards.indexOf(shard));
      throw new InvalidOptionError(
        `${subject}.id`,
        `an id that does not end in ${mark}, which names another shard than its group or unique key`,
        show(id),
      );
    }
    return shard;
  }

  /**
   * Returns the shard of a job without a key: the next one, and each in turn. It passes over shards whose master is away, unless
   * all are.
   */
  next(): JobQueue {
    const { length } = this.shards;
    const { turn } = this;
    for (let tries = 0; tries < length; tries++) {
      const shard = (turn + tries) % length;
      if (!this.replies[shard]!.isAway) {
        this.turn = (shard + 1) % length;
        return this.shards[shard]!;
      }
    }
    this.turn = (turn + 1) % length;
    return this.shards[turn]!;
  }

  /** Notes how long a shard owes the reply to a call of a producer, and whether it failed. Returns the reply. */
  async follow<Reply>(shard: JobQueue, call: () => Promise<Reply>): Promise<Reply> {
    return (this.replies[this.shards.indexOf(shard)] ?? new ShardReplies(shard)).follow(call);
  }

  /** Passes over a shard until a read of it succeeds. */
  passOver(shard: JobQueue): void {
    this.replies[this.shards.indexOf(shard)]?.failed();
  }

  /** The shards that owe a reply, or whose last enqueue failed. */
  get away(): JobQueue[] {
    return this.shards.filter((_, shard) => this.replies[shard]!.isAway);
  }

  /** Returns the known shard that an id names; undefined if it names none. */
  named(id: string): JobQueue | undefined {
    const shard = shardOfId(id);
    return shard === undefined ? undefined : this.shards[shard];
  }

  /** Returns the shard of a new batch: that of its own id, as a job with this id. Without an id it is the next one. */
  ofBatch(id: unknown): JobQueue {
    return isText(id) ? (this.named(id) ?? this.ofKey(id)) : this.next();
  }

  /**
   * Returns the shard of a job: the one that its id names. For an own id it asks the shard of its hash, and then the others.
   * An id may name a shard that only other processes know: that one is asked too. Returns the shard of the hash if no
   * shard has the job.
   *
   * @throws the error of a shard that could not be asked, unless another one has the job
   */
  holderOf(id: string): Promise<JobQueue> {
    return this.holder(id, (shard) => shard.get(id));
  }

  /** Returns the shard of a batch, found in the same way. */
  holderOfBatch(id: string): Promise<JobQueue> {
    return this.holder(id, (shard) => shard.exec((calls) => calls.batches.status({ id })));
  }

  private async holder(id: string, read: ReadIn): Promise<JobQueue> {
    const named = this.named(id);
    if (named) {
      return named;
    }
    const likely = this.ofKey(id);
    const beyond = shardOfId(id);
    const others = this.shards.filter((shard) => shard !== likely);
    const first = await holderAmong([likely], read);
    const { holder, failed } = first.holder
      ? first
      : await holderAmong(beyond === undefined ? others : [this.reference(beyond), ...others], read);
    const failure = first.failed ?? failed;
    if (!holder && failure) {
      throw failure.reason;
    }
    return holder ?? likely;
  }
}

/** Reads a job or a batch in a shard. Returns null, or undefined, if it is not there. */
type ReadIn = (shard: JobQueue) => Promise<unknown>;

/** Asks shards. Returns the one that has what is read, and a failure of another. */
async function holderAmong(shards: readonly JobQueue[], read: ReadIn) {
  const found = await Promise.allSettled(shards.map(read));
  const holder = shards[found.findIndex((each) => each.status === 'fulfilled' && (each.value ?? null) !== null)];
  const failed = found.find((each) => each.status === 'rejected');
  return { holder, failed };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** The age of an unanswered enqueue, in ms, from which its shard is passed over. */
const AWAY_AFTER_MS = 250;
/** The time between two reads of a shard whose enqueue failed, in ms. */
const ASK_EVERY_MS = 1_000;
/** An id that no job has. */
const NO_JOB = '-';

/** Knows whether the master of a shard replies to the producers of this process. */
class ShardReplies {
  private inFlight = 0;
  /** Since when a reply is owed, or the time of the last reply while others are; by the monotonic clock. */
  private owedSince = Infinity;
  private hasFailed = false;
  private askedAt = -Infinity;

  constructor(private readonly shard: JobQueue) {}

  /** True while a reply is late, and from a failure until a read succeeds. The look at a failed one sends that read. */
  get isAway(): boolean {
    if (this.hasFailed) this.ask();
    return this.hasFailed || this.now - this.owedSince > AWAY_AFTER_MS;
  }

  failed(): void {
    this.hasFailed = true;
  }

  async follow<Reply>(call: () => Promise<Reply>): Promise<Reply> {
    if (this.inFlight++ === 0) this.owedSince = this.now;
    try {
      const reply = await call();
      this.hasFailed = false;
      return reply;
    } catch (error) {
      this.hasFailed ||= error instanceof EnqueueError || error instanceof RedisUnsuitableError;
      throw error;
    } finally {
      this.owedSince = --this.inFlight > 0 ? this.now : Infinity;
    }
  }

  private ask(): void {
    if (this.now - this.askedAt < ASK_EVERY_MS) {
      return;
    }
    this.askedAt = this.now;
    this.shard.get(NO_JOB).then(
      () => (this.hasFailed = false),
      () => undefined,
    );
  }

  private get now(): number {
    return this.shard.store.clock.monotonic();
  }
}

/** The options that count in one queue, and the advice for a spread one. */
const OF_ONE_QUEUE = {
  maxRunning: 'Use a named limit: forRoot({ limits }), and the option limits of the queue.',
  rateLimit: 'Use a named limit: forRoot({ limits }), and the option limits of the queue.',
  maxPending: 'Bound each group by groups.maxPending, or leave it out.',
  maxPendingBytes: 'Leave it out.',
} as const satisfies Partial<Record<keyof ResolvedQueueOptions, string>>;

/** Refuses options of a spread queue that would hold for each shard alone. @throws InvalidOptionError */
export function refuseOfOneQueue(name: string, options: object): void {
  for (const [option, hint] of Object.entries(OF_ONE_QUEUE)) {
    const value = (options as Record<string, unknown>)[option];
    if (value !== undefined) {
      throw new InvalidOptionError(
        `${option} of queue "${name}"`,
        'none in a queue with `spread`, whose shards would each have it',
        show(value),
        hint,
      );
    }
  }
}
