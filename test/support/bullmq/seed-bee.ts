// A queue in the layout of bee-queue, written without the library.
import type { Redis } from 'ioredis';
import { BeeSource } from '#migrate/bee-source.js';
import { uniqueQueueName } from '../redis/redis.js';

export class SeededBee {
  readonly name = uniqueQueueName();
  readonly source: BeeSource;

  constructor(readonly redis: Redis) {
    this.source = new BeeSource(redis, 'bq', this.name);
  }

  key(part: string): string {
    return `bq:${this.name}:${part}`;
  }

  /** Adds a job as the last to run. */
  async wait(id: string, options: Record<string, unknown> = {}, data: unknown = { id }): Promise<void> {
    await this.hash(id, options, data);
    await this.redis.lpush(this.key('waiting'), id);
  }

  async delayed(id: string, dueMs: number): Promise<void> {
    await this.hash(id, { delay: dueMs }, { id });
    await this.redis.zadd(this.key('delayed'), dueMs, id);
  }

  /** Deletes a job, but no entry in a list. */
  async remove(id: string): Promise<void> {
    await this.redis.hdel(this.key('jobs'), id);
  }

  /** Adds a job with an id that another job had. */
  async addAgain(id: string, data: unknown = 'new'): Promise<void> {
    await this.wait(id, {}, data);
  }

  /** Returns the waiting jobs, the next one first. */
  async line(): Promise<string[]> {
    return (await this.redis.lrange(this.key('waiting'), 0, -1)).toReversed();
  }

  /** Returns the ids of all jobs. */
  async ids(): Promise<string[]> {
    return (await this.redis.hkeys(this.key('jobs'))).toSorted();
  }

  private async hash(id: string, options: Record<string, unknown>, data: unknown): Promise<void> {
    const json = JSON.stringify({
      data,
      options: { timestamp: 1, stacktraces: [], ...options },
      status: 'created',
    });
    await this.redis.hset(this.key('jobs'), id, json);
  }
}
