import { z } from 'zod';
import { parseJson } from '../queue/codec/stored-value.js';
import type { RedisClient } from '../queue/redis/redis-client.js';
import {
  digestOf,
  type OldJob,
  type TakenJob,
  pairs,
  Source,
  type SourceSettings,
  SourceKeys,
  type Place,
} from './bullmq-source.js';

// A queue of bee-queue: what a mover reads and changes there. Its jobs have no names, priorities and schedules.

/** Its names of the places that BullMQ calls otherwise. */
const NAMES: Readonly<Record<string, string>> = { wait: 'waiting', completed: 'succeeded' };

class BeeKeys extends SourceKeys {
  override of(name: string): string {
    return super.of(NAMES[name] ?? name);
  }
}

export class BeeSource extends Source {
  constructor(redis: RedisClient, prefix: string, queue: string) {
    super(redis, prefix, queue, new BeeKeys(prefix, queue));
  }

  override async settings(): Promise<SourceSettings> {
    return { era: 'bee', version: undefined, isPaused: false };
  }

  override async counts(): Promise<Record<string, number>> {
    const { redis, keys } = this;
    const [wait, active, delayed, failed, completed, transit] = await Promise.all([
      redis.llen(keys.of('wait')),
      redis.llen(keys.active),
      redis.zcard(keys.of('delayed')),
      redis.scard(keys.of('failed')),
      redis.scard(keys.of('completed')),
      redis.zcard(keys.transit),
    ]);
    return { wait, active, delayed, failed, completed, transit };
  }

  protected override get digested(): { key: string; field: string } {
    return { key: this.keys.of('jobs'), field: '' };
  }

  /** Deletes jobs that are in their new queue. */
  override async acknowledge(jobs: readonly TakenJob[]): Promise<void> {
    if (jobs.length > 0) {
      const { transit, taken } = this.keys;
      await this.run('migrateBeeAcknowledge', [this.keys.of('jobs'), transit, taken], pairs(jobs));
    }
  }

  /** Gives jobs back that cannot be moved. */
  override async giveBack(jobs: readonly TakenJob[]): Promise<void> {
    if (jobs.length > 0) {
      const places = ['wait', 'delayed', 'jobs'].map((name) => this.keys.of(name));
      const { transit, taken } = this.keys;
      await this.run(
        'migrateBeeGiveBack',
        [...places, transit, taken, this.keys.of('earlierDelayed')],
        pairs(jobs),
      );
    }
  }

  /** Returns false, because bee-queue has no markers. */
  protected override isMarker(): boolean {
    return false;
  }

  protected override async job(id: string, place: Place, score: number): Promise<OldJob> {
    const json = await this.redis.hgetBuffer(this.keys.of('jobs'), id);
    const fields = json === null ? {} : fieldsOf(json.toString(), this.queue);
    const digest = digestOf(json);
    return { id, place, score, fields, digest, dueMs: score, isParent: false, hasLostKey: true, dedupTtlMs: -1 };
  }
}

const jobSchema = z.looseObject({
  data: z.unknown(),
  options: z.looseObject({
    retries: z.number().default(0),
    timeout: z.number().nullish(),
    backoff: z.looseObject({ strategy: z.string(), delay: z.number().nullish() }).nullish(),
  }),
});

/** Returns a job as a hash of BullMQ would have it. It has the name of its queue. It counts only the retries that are left. */
function fieldsOf(json: string, queue: string): OldJob['fields'] {
  const parsed = jobSchema.safeParse(parseJson(json).value);
  if (!parsed.success) {
    return { name: queue };
  }
  const { data, options } = parsed.data;
  const { retries, timeout, backoff } = options;
  const opts = {
    attempts: retries + 1,
    ...(timeout && { timeout }),
    ...(backoff &&
      backoff.strategy !== 'immediate' && { backoff: { type: backoff.strategy, delay: backoff.delay ?? 0 } }),
  };
  return { name: queue, data: JSON.stringify(data ?? null), opts: JSON.stringify(opts) };
}
