// The queue under test on a store, and the time that passes there; here on the real Redis.
import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import type { ClaimedJob } from '#queue/model/job.js';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { gapsIn } from '../support/invariants/audit-gaps.js';
import { violations } from '../support/invariants/invariants.js';
import { TestSchedules } from '../support/queue/schedules.js';
import { TestQueue } from '../support/queue/queue-state.js';
import { letTimePass } from './time.js';
import { LIMITS } from './rules/queue-model.js';

/** A queue under test. */
export interface RealQueue {
  readonly queue: JobQueue;
  /** All its claims, as the consumer holds them. */
  readonly claimed: ClaimedJob[];
  /** The calls and replies, to explain a failure. */
  readonly story: string[];
  /** Returns the time of the store, in ms. */
  now(): Promise<number>;
  /** Returns the time once it differs from the last step's, so that two steps never share an instant. */
  nextMoment(): Promise<number>;
  endMoment(): Promise<void>;
  /** Lets time pass by moving all instants of the queue into the past. The time of the store stays as it is. */
  letTimePass(ms: number): Promise<void>;
  /** Makes a schedule due since this many ms. Returns its due time. */
  makeDue(schedule: string, sinceMs: number): Promise<number>;
  /** Returns the owner of each unique key. */
  uniqueKeys(): Promise<Record<string, string>>;
  /** Returns broken invariants of the state, without the model. */
  violations(): Promise<string[]>;
  audit(): Promise<string[]>;
  close(): Promise<void>;
}

export class RedisQueue implements RealQueue {
  readonly queue: JobQueue;
  readonly state: TestQueue;
  /** All its claims, as the consumer holds them. */
  readonly claimed: ClaimedJob[] = [];
  /** The calls and replies, to explain a failure. */
  readonly story: string[] = [];
  private last = 0;

  constructor(redis: Redis, name: string, options: Pick<QueueOptions, 'auditTrail'> = {}) {
    this.queue = new JobQueue(redis, name, { ...LIMITS, ...options });
    this.state = new TestQueue(redis, LIMITS, name);
  }

  async nextMoment(): Promise<number> {
    let now = await this.state.now();
    while (now <= this.last) {
      now = await this.state.now();
    }
    return now;
  }

  async endMoment(): Promise<void> {
    this.last = await this.state.now();
  }

  now(): Promise<number> {
    return this.state.now();
  }

  makeDue(schedule: string, sinceMs: number): Promise<number> {
    return new TestSchedules(this.state).makeDue(schedule, sinceMs);
  }

  uniqueKeys(): Promise<Record<string, string>> {
    return this.state.redis.hgetall(this.state.keys.unique);
  }

  letTimePass(ms: number): Promise<void> {
    return letTimePass(this.state, ms);
  }

  /**
   * Returns broken invariants of the state in Redis, without the model. Runs after a sweep, because an id in use again
   * may be in the history of an earlier job.
   */
  async violations(): Promise<string[]> {
    await this.state.run(this.state.scripts.sweep.tidy(500));
    return [...(await violations(this.state.redis, this.state.scripts)), ...(await gapsIn(this.queue))];
  }

  /** Returns the doctor's findings and changes, which are none after public calls alone. */
  async audit(): Promise<string[]> {
    const before = await this.state.snapshot();
    const { findings } = await this.queue.doctor({ repair: true, exclusive: true });
    const after = await this.state.snapshot();
    const changed = Object.keys({ ...before, ...after }).filter(
      (key) => !isDeepStrictEqual(before[key], after[key]),
    );
    return [
      ...findings.map(({ kind, subject, found, expected }) => `${kind} ${subject}: ${found}, expected ${expected}`),
      ...changed.map((key) => `changed ${key}`),
    ];
  }

  async close(): Promise<void> {
    await this.queue.purge({ confirm: this.queue.name });
    this.queue.close();
    const left = Object.keys(await this.state.snapshot());
    await Promise.all(left.map((key) => this.state.redis.del(this.state.keys.jobPrefix.replace(/job:$/, key))));
  }
}
