// A queue in the layout of BullMQ or Bull, written without either library.
import type { Redis } from 'ioredis';
import { Source } from '#migrate/bullmq-source.js';
import { uniqueQueueName } from '../redis/redis.js';

/** The options of a seeded job. */
export interface Seed {
  name?: string;
  data?: unknown;
  opts?: Record<string, unknown>;
  /** Further fields of its hash. */
  fields?: Record<string, string | number>;
}

/** A queue of BullMQ 6, or of another version. */
export class SeededQueue {
  readonly name = uniqueQueueName();
  readonly source: Source;
  private counter = 0;

  constructor(
    readonly redis: Redis,
    readonly prefix = 'bull',
  ) {
    this.source = new Source(redis, prefix, this.name);
  }

  key(part: string): string {
    return `${this.prefix}:${this.name}:${part}`;
  }

  async version(version: string): Promise<void> {
    await this.redis.hset(this.key('meta'), 'version', version);
  }

  /** Writes the hash of a job. */
  async hash(id: string, { name = 'encode', data = { id }, opts = {}, fields = {} }: Seed = {}): Promise<void> {
    const priority = Number(opts['priority'] ?? 0);
    await this.redis.hset(this.key(id), {
      name,
      data: JSON.stringify(data),
      opts: JSON.stringify(opts),
      timestamp: 1,
      delay: 0,
      priority,
      ...fields,
    });
  }

  async wait(id: string, seed?: Seed): Promise<void> {
    await this.hash(id, seed);
    await this.redis.lpush(this.key('wait'), id);
  }

  /** Deletes a job, but no entry in a list. */
  async remove(id: string): Promise<void> {
    await this.redis.del(this.key(id));
  }

  /** Adds a job with an id that another job had. */
  async addAgain(id: string, data: unknown = 'new'): Promise<void> {
    await this.wait(id, { data, fields: { timestamp: 2 } });
  }

  async prioritized(id: string, priority: number, seed: Seed = {}): Promise<void> {
    await this.hash(id, { ...seed, opts: { ...seed.opts, priority } });
    await this.redis.zadd(this.key('prioritized'), priority * 2 ** 32 + ++this.counter, id);
  }

  async delayed(id: string, dueMs: number, seed?: Seed): Promise<void> {
    await this.hash(id, seed);
    await this.redis.zadd(this.key('delayed'), dueMs * 4_096 + (++this.counter % 4_096), id);
  }

  async failed(id: string, finishedMs: number, seed: Seed = {}): Promise<void> {
    const stack = ['Error: an earlier one', 'TypeError: no file 7\n    at work (work.js:1:2)'];
    const fields = { atm: 2, failedReason: 'no file 7', stacktrace: JSON.stringify(stack), finishedOn: finishedMs };
    await this.hash(id, { ...seed, fields: { ...fields, ...seed.fields } });
    await this.redis.zadd(this.key('failed'), finishedMs, id);
  }

  async scheduler(id: string, nextMs: number, fields: Record<string, string | number>): Promise<void> {
    await this.redis.hset(this.key(`repeat:${id}`), { name: 'tick', ic: 1, ...fields });
    await this.redis.zadd(this.key('repeat'), nextMs, id);
    await this.delayed(`repeat:${id}:${nextMs}`, nextMs, { name: 'tick', fields: { rjk: id } });
  }

  /** Returns the ids of a list, next to run first. */
  async line(place: 'wait' | 'paused' = 'wait'): Promise<string[]> {
    return (await this.redis.lrange(this.key(place), '0', '-1')).toReversed();
  }

  /** Returns the names of all its keys but those of the mover. */
  async keysLeft(): Promise<string[]> {
    const prefix = this.key('');
    const keys = await this.redis.keys(`${prefix}*`);
    return keys.map((key) => key.slice(prefix.length)).filter((key) => !key.startsWith('njq:')).toSorted(); // prettier-ignore
  }
}
