import { JobQueue } from '../queue/job-queue.js';
import type { QueueOptions } from '../queue/model/queue-options.js';
import { JobQueueError } from '../queue/errors/errors.js';
import { announcedRedact } from '../queue/codec/announced-content.js';
import type { JobRecord } from '../queue/model/job.js';
import type { ScheduleRecord } from '../queue/model/schedule.js';
import { redactValue } from '../queue/codec/redact.js';
import { redactRecord } from '../queue/store/redact-record.js';
import { redisAccess } from '../queue/redis-access.js';
import { isCluster, type RedisClient } from '../queue/redis/redis-client.js';
import { isQueueName } from '../queue/validation/names.js';
import { clientOf, unreachable, type AddressOptions } from './address.js';
import { CliError, EXIT } from './exit-codes.js';

/** Options that every command has. */
export interface SessionOptions extends AddressOptions {
  prefix: string;
}

/** Of a queue with an audit trail: what is done here is written down, and pushes nothing out. */
const KEEPS_ALL: QueueOptions = { auditTrail: { maxEntries: 100_000_000 } };

const SCAN_COUNT = 5_000;

/** One connection to Redis, for the time of one command. */
export class Session {
  private readonly queues = new Map<string, JobQueue>();

  private constructor(
    readonly client: RedisClient,
    private readonly prefix: string,
    /** Where Redis is, without a password. */
    readonly place: string,
  ) {}

  /** @throws CliError where Redis cannot be reached */
  static async open(options: SessionOptions): Promise<Session> {
    const { client, place } = clientOf(options);
    let reason: Error | undefined;
    client.on('error', (error: Error) => (reason = error));
    try {
      await client.connect();
      await client.ping();
    } catch (error) {
      client.disconnect();
      throw unreachable(place, reason ?? (error as Error));
    }
    return new Session(client, options.prefix, place);
  }

  queue(name: string, options: QueueOptions = {}): JobQueue {
    let queue = this.queues.get(name);
    if (!queue || options.auditTrail) {
      queue?.close();
      queue = new JobQueue(this.client, name, { prefix: this.prefix, ...options });
      this.queues.set(name, queue);
    }
    return queue;
  }

  /**
   * A queue that is there: a misspelled name must not look like an idle queue.
   *
   * @throws CliError
   */
  async known(name: string): Promise<JobQueue> {
    const queue = this.queue(name);
    const { keys } = await redisAccess(queue);
    const { stats, pending, workers, names, scheduleDue } = keys;
    if ((await this.client.exists(stats, pending, workers, names, scheduleDue)) === 0) {
      throw new CliError(
        `There is no queue ${JSON.stringify(name)}. "queues" lists those that are there.`,
        EXIT.notFound,
      );
    }
    return this.audited(name);
  }

  /** A queue, there or not, whose audit trail goes on where it has one. */
  async audited(name: string): Promise<JobQueue> {
    const { keys } = await redisAccess(this.queue(name));
    return (await this.client.exists(keys.audit)) === 0 ? this.queue(name) : this.queue(name, KEEPS_ALL);
  }

  /** Returns what may be shown of a queue: not what its workers hide by `redact`. */
  async shownBy(queue: JobQueue) {
    const redact = announcedRedact(await queue.exec((calls) => calls.content()));
    return {
      job: (job: JobRecord): JobRecord => redactRecord(redact, job),
      payload: ({ id, name, queue: queueName, payload }: ScheduleRecord): unknown =>
        redactValue(redact, payload, { part: 'payload', job: { id, name, queue: queueName } }),
    };
  }

  /**
   * Refuses to store a payload in the clear where the workers encrypt.
   *
   * @throws CliError
   */
  async refuseSecret(queue: JobQueue): Promise<void> {
    const content = await queue.exec((calls) => calls.content());
    if (content?.encrypted) {
      throw new CliError(
        `Queue ${JSON.stringify(queue.name)} is encrypted, and the command line has no key. Enqueue by the app.`,
      );
    }
  }

  /** The names of all queues, by a walk over the keys in small steps. */
  async queueNames(): Promise<string[]> {
    const found = new Set<string>();
    const nodes = isCluster(this.client) ? this.client.nodes('master') : [this.client];
    for (const node of nodes) {
      for (const kind of ['stats', 'workers']) {
        let cursor = '0';
        do {
          const match = `${this.prefix}:*:${kind}`;
          const [next, keys] = await node.scan(cursor, 'MATCH', match, 'COUNT', SCAN_COUNT);
          keys.forEach((key) => found.add(nameIn(key.slice(this.prefix.length + 1, -kind.length - 1))));
          cursor = next;
        } while (cursor !== '0');
      }
    }
    return [...found].filter((name) => !name.includes(':job:') && isQueueName(name)).toSorted();
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

/** In a Cluster the name is in braces. */
function nameIn(text: string): string {
  return /^\{.*\}$/.test(text) ? text.slice(1, -1) : text;
}

/** Errors of the library say what was expected and found; they need no stack. */
export function isForUser(error: unknown): error is CliError | JobQueueError {
  return error instanceof CliError || error instanceof JobQueueError;
}
