// An outbox without an app: its tables in a database, and a queue whose enqueues may take a transaction.
import { systemClock } from '#queue/runtime/clock.js';
import { JobQueue, type JobQueueOptions } from 'nest-job-queue/core';
import { outboxSql, type OutboxDatabase } from 'nest-job-queue/outbox';
import { JobOutbox } from '#outbox/job-outbox.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { JobHandle } from '#queue/results/job-handle.js';
import { gate } from '../faults/wait.js';
import { connect, uniqueQueueName } from '../redis/redis.js';

export class TestOutbox {
  readonly outbox: JobOutbox;
  readonly queue: JobQueue;
  readonly warnings: string[] = [];
  private readonly queues = new Map<string, JobQueue>();

  constructor(
    readonly database: OutboxDatabase,
    options: JobQueueOptions = {},
    redis = connect(),
    /** True if a wake makes it ship. Else only a call of `ship` does. */
    wakes = false,
  ) {
    const warn = (text: string) => void this.warnings.push(text);
    this.outbox = new JobOutbox({
      database: keepingAside(database),
      relays: wakes,
      clock: systemClock,
      logger: { log: warn, warn, error: warn },
      pollMs: wakes ? 60_000 : 1_000,
      keepDoneMs: 1_000_000,
      connections: ['default'],
      queueOf: (_connection, name) => this.queueOf(name),
    });
    const open = (name: string) => {
      const queue = new JobQueue(redis, name, options);
      queue.outbox = () => this.outbox.writerFor('default');
      this.queues.set(name, queue);
      return queue;
    };
    this.queueOf = (name) => this.queues.get(name) ?? open(name);
    this.queue = open(uniqueQueueName('outbox'));
  }

  readonly queueOf: (name: string) => JobQueue;

  /** Enqueues in a transaction. */
  enqueue(
    transaction: object,
    payload: unknown,
    { ordered, ...options }: EnqueueOptions & { ordered?: boolean } = {},
  ): Promise<JobHandle> {
    return this.queue.producer.one(undefined, payload, options, { transaction, ...(ordered && { ordered }) });
  }

  /** Returns the payloads of the pending jobs, in their order. */
  async pending(queue = this.queue): Promise<unknown[]> {
    return (await queue.list('pending', { limit: 1_000 })).map(({ payload }) => payload);
  }

  async rows(): Promise<number> {
    return (await this.outbox.stats()).waiting;
  }

  /** Makes each call to a queue stall once it is reached, until it may go on. */
  stallAt(queue: JobQueue) {
    const [reached, goesOn] = [gate(), gate()];
    this.queueOf(queue.name).exec = async (...asked: Parameters<typeof queue.exec>) => {
      reached.open();
      await goesOn.promise;
      return queue.exec(...asked) as never;
    };
    return { reached: reached.promise, goOn: () => goesOn.open() };
  }

  /** Deletes all jobs, so that their ids are forgotten. */
  async purge(): Promise<void> {
    await this.queue.purge({ confirm: this.queue.name });
  }

  close(): void {
    this.queues.forEach((queue) => queue.close());
  }
}

/** The statement that sets a refused row aside for some time. */
const SETS_ASIDE = /^UPDATE job_outbox SET attempts = \?, .*not_before = /;

/**
 * Returns a database whose refused rows stay aside for hours, unless a test asks for them. So no outcome depends on the
 * time that a test takes.
 */
function keepingAside(database: OutboxDatabase): OutboxDatabase {
  return {
    ...database,
    run: (transaction, sql, values, name) => {
      const [attempts, error, retryInMs, ...where] = values;
      const kept = SETS_ASIDE.test(sql) ? [attempts, error, Number(retryInMs) * 3_600, ...where] : values;
      return database.run(transaction, sql, kept, name);
    },
  };
}

/** Makes the tables of the outbox, and one for the app's own rows. */
export async function makeTables(database: OutboxDatabase): Promise<void> {
  const statements = [...outboxSql(database.dialect), 'CREATE TABLE orders (name text)'];
  for (const sql of statements) {
    await database.begin((transaction) => database.run(transaction, sql, []));
  }
}
