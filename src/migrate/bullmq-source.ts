// A queue of BullMQ or Bull as the old place of its jobs: its keys, its jobs and its scripts.
import { createHash } from 'node:crypto';
import { luaScripts, type LuaScriptName } from '../queue/lua.generated.js';
import type { RedisClient } from '../queue/redis/redis-client.js';
import { randomId } from '../queue/runtime/clock.js';

/** The places where jobs wait in BullMQ and Bull, in the order in which their workers take jobs. */
export const PLACES = ['wait', 'paused', 'prioritized', 'delayed'] as const;
export type Place = (typeof PLACES)[number] | 'failed';

/** The keys of a queue of BullMQ or Bull, and those of the mover beside them. */
export class SourceKeys {
  readonly job: string;
  readonly dedup: string;
  readonly meta: string;
  /** Exists while a queue of Bull is paused. */
  readonly bullPause: string;
  readonly marker: string;
  readonly priority: string;
  readonly repeat: string;
  readonly active: string;
  /** The ids in transit, in their order. */
  readonly transit: string;
  /** The entry of each id in transit. */
  readonly taken: string;
  /** The fence, the last order, and the name of the source. */
  readonly mover: string;
  /** The schedulers in transit. */
  readonly schedulers: string;

  constructor(prefix: string, queue: string) {
    const of = (name: string) => `${prefix}:${queue}:${name}`;
    this.job = of('');
    this.dedup = of('de:');
    [this.meta, this.bullPause] = [of('meta'), of('meta-paused')];
    [this.marker, this.priority] = [of('marker'), of('priority')];
    [this.repeat, this.active] = [of('repeat'), of('active')];
    [this.transit, this.taken] = [of('njq:transit'), of('njq:taken')];
    [this.mover, this.schedulers] = [of('njq:mover'), of('njq:schedulers')];
  }

  /** Returns the key of a place or of another set of jobs. */
  of(name: string): string {
    return this.job + name;
  }
}

/** The fields of a job's hash that are read. */
const FIELDS = [
  'name',
  'data',
  'opts',
  'priority',
  'atm',
  'attemptsMade',
  'stc',
  'deid',
  'rjk',
  'parentKey',
  'defa',
  'failedReason',
  'stacktrace',
  'processedOn',
  'finishedOn',
  'timestamp',
] as const;

/** A job of BullMQ or Bull. */
export interface OldJob {
  id: string;
  place: Place;
  /** Its score, in a sorted set. */
  score: number;
  /** When a delayed job is due, in ms. */
  dueMs: number;
  fields: Partial<Record<(typeof FIELDS)[number], string>>;
  /** A digest that another job with the same id does not have. */
  digest: string;
  /** True if it has children, or results of them. */
  isParent: boolean;
  /** True if another job holds its key of deduplication, or none. */
  hasLostKey: boolean;
  /** The rest of the time of its key; -1 without an expiry. */
  dedupTtlMs: number;
}

/** A job that was taken. */
export interface TakenJob extends OldJob {
  /** Its entry, which names the place it came from. */
  entry: string;
}

/** Returns the key of an entry, which never comes again. */
export function keyOf(entry: string): string {
  return entry.slice(0, entry.indexOf(' '));
}

function placeOf(entry: string): { place: Place; score: number; digest: string } {
  const [, place, score, , digest] = entry.split(' ') as [string, Place, string, string, string];
  return { place, score: Number(score), digest };
}

/** Returns the digest of a job, as `take` writes it into the entry. */
export function digestOf(text: string | Buffer | null | undefined): string {
  return text === null || text === undefined ? '-' : createHash('sha1').update(text).digest('hex');
}

/** The jobs of one step, which must not block the server. */
export const STEP = 200;

type Script = Extract<LuaScriptName, `migrate${string}`>;
type Redis = Pick<RedisClient, 'eval'>;

/** The library that wrote a queue: Bull 4, BullMQ up to 5, BullMQ 6, or bee-queue. */
export type SourceEra = 'bull' | 'bullmq5' | 'bullmq6' | 'bee';

/** The settings of a queue for its whole fleet. */
export interface SourceSettings {
  era: SourceEra;
  /** As its library wrote it; undefined for Bull. */
  version: string | undefined;
  isPaused: boolean;
  concurrency?: number;
  rate?: { max: number; duration: number };
}

/** A scheduler, or a repeatable job of Bull. */
export interface OldScheduler {
  id: string;
  nextMs: number;
  /** Its hash, empty for Bull. */
  fields: Record<string, string>;
}

/** Another mover works on the same queue. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
  constructor() {
    super('Another mover has taken over this queue. This one stopped; nothing is lost, and nothing runs twice.');
  }
}

/** A queue of BullMQ or Bull: what a mover reads and changes there. */
export class Source {
  private fence = '';

  constructor(
    readonly redis: RedisClient,
    readonly prefix: string,
    readonly queue: string,
    readonly keys = new SourceKeys(prefix, queue),
  ) {}

  /** Returns whether the queue exists. */
  async exists(): Promise<boolean> {
    const { meta, repeat, active, transit, schedulers } = this.keys;
    const others = ['id', 'completed', 'failed', ...PLACES].map((name) => this.keys.of(name));
    return (await this.redis.exists(meta, repeat, active, transit, schedulers, ...others)) > 0;
  }

  async settings(): Promise<SourceSettings> {
    const [version, paused, concurrency, max, duration] = await this.redis.hmget(
      this.keys.meta,
      'version',
      'paused',
      'concurrency',
      'max',
      'duration',
    );
    const isPaused = (await this.redis.exists(this.keys.bullPause)) === 1 || paused !== null;
    return {
      era: await this.era(version ?? undefined),
      version: version ?? undefined,
      isPaused,
      ...(concurrency && { concurrency: Number(concurrency) }),
      ...(max && duration && { rate: { max: Number(max), duration: Number(duration) } }),
    };
  }

  /** Returns the settings that an earlier run has handled for a queue here: set, or left because one was there. */
  async settingsMoved(target: string): Promise<string[]> {
    const noted = await this.redis.hget(this.keys.mover, `settings:${target}`);
    return noted ? noted.split(',') : [];
  }

  /** Notes the settings that this run has handled for a queue here. */
  async noteSettings(target: string, settings: readonly string[]): Promise<void> {
    if (settings.length > 0) {
      await this.redis.hset(this.keys.mover, `settings:${target}`, settings.join(','));
    }
  }

  /** Returns who wrote the queue. Bull has neither a version, nor a stream of events. */
  private async era(version: string | undefined): Promise<SourceEra> {
    const [, major] = /^bullmq:(\d+)/.exec(version ?? '') ?? [];
    if (major !== undefined) {
      return Number(major) >= 6 ? 'bullmq6' : 'bullmq5';
    }
    const { marker } = this.keys;
    const found = await this.redis.exists(marker, this.keys.of('prioritized'), this.keys.of('events'));
    return found > 0 ? 'bullmq5' : 'bull';
  }

  /** Returns the number of jobs of each state. */
  async counts(): Promise<Record<string, number>> {
    const lists = ['wait', 'paused', 'active'];
    const sets = ['prioritized', 'delayed', 'waiting-children', 'failed', 'completed', 'repeat'];
    const counted = await Promise.all([
      ...lists.map((name) => this.redis.llen(this.keys.of(name))),
      ...sets.map((name) => this.redis.zcard(this.keys.of(name))),
      this.redis.zcard(this.keys.transit),
    ]);
    return Object.fromEntries([...lists, ...sets, 'transit'].map((name, i) => [name, counted[i]!]));
  }

  /** Returns ids of a place with their scores, in the order in which they would run. */
  async ids(place: Place, offset: number, limit: number): Promise<[id: string, score: number][]> {
    const key = this.keys.of(place);
    if (place === 'wait' || place === 'paused') {
      const found = await this.redis.lrange(key, String(-(offset + limit)), String(-(offset + 1)));
      return found.toReversed().map((id) => [id, 0]);
    }
    const found = await this.redis.zrange(key, String(offset), String(offset + limit - 1), 'WITHSCORES');
    return found.flatMap((id, i) => (i % 2 === 0 ? [[id, Number(found[i + 1])] as [string, number]] : []));
  }

  /** Returns the jobs of ids. Markers of older versions, which are no jobs, are left out. */
  async jobs(place: Place, ids: readonly (readonly [string, number])[]): Promise<OldJob[]> {
    const found = await Promise.all(ids.map(([id, score]) => this.job(id, place, score)));
    return found.filter((job) => !this.isMarker(job));
  }

  /** Returns whether an id is a marker of BullMQ up to 5. An app may give a job of Bull such an id, but a marker has no hash. */
  protected isMarker({ id, fields }: OldJob): boolean {
    return /^0:\d+$/.test(id) && Object.keys(fields).length === 0;
  }

  protected async job(id: string, place: Place, score: number): Promise<OldJob> {
    const key = this.keys.job + id;
    const [values, family] = await Promise.all([
      this.redis.hmget(key, ...FIELDS),
      this.redis.exists(`${key}:dependencies`, `${key}:processed`, `${key}:failed`),
    ]);
    const fields: OldJob['fields'] = {};
    FIELDS.forEach((field, i) => {
      const value = values[i];
      if (value !== null && value !== undefined) {
        fields[field] = value;
      }
    });
    const dedup = fields.deid === undefined ? undefined : this.keys.dedup + fields.deid;
    const [owner, ttl] = dedup ? await Promise.all([this.redis.get(dedup), this.redis.pttl(dedup)]) : [null, -1];
    return {
      id,
      place,
      score,
      dueMs: Math.floor(score / 4_096),
      fields,
      digest: digestOf(fields.timestamp),
      isParent: family > 0,
      hasLostKey: owner !== id,
      dedupTtlMs: ttl,
    };
  }

  /** Becomes the mover of this queue: an earlier one can take nothing more. */
  async begin(): Promise<void> {
    await this.redis.hsetnx(this.keys.mover, 'source', `bullmq-${randomId()}`);
    this.fence = String(await this.redis.hincrby(this.keys.mover, 'fence', 1));
  }

  /** Returns whether a move of a queue of ours came here, by the name of that move. */
  async received(move: string): Promise<boolean> {
    return (await this.redis.hexists(this.keys.mover, `from:${move}`)) === 1;
  }

  /** Returns the sender of this mover; see docs/internals/enqueue-once.md. */
  async sender(): Promise<{ source: string; fence: number }> {
    const source = await this.redis.hget(this.keys.mover, 'source');
    return { source: source!, fence: Number(this.fence) };
  }

  /**
   * Raises the fence above that of the new queue, because this queue was restored from a backup.
   *
   * @throws OvertakenError if another mover has begun
   */
  async raiseFence(above: number): Promise<void> {
    if ((await this.redis.hget(this.keys.mover, 'fence')) !== this.fence) {
      throw new OvertakenError();
    }
    this.fence = String(await this.redis.hincrby(this.keys.mover, 'fence', above + 1 - Number(this.fence)));
  }

  /** The text that `take` digests: a field of each job's hash. Of bee-queue it is the job in the hash of all. */
  protected get digested(): { key: string; field: string } {
    return { key: this.keys.job, field: 'timestamp' };
  }

  /** Takes jobs. Returns how many. @throws OvertakenError */
  async take(place: Place, ids: readonly string[]): Promise<number> {
    const { priority, transit, taken, mover } = this.keys;
    return this.fenced(
      'migrateBullmqTake',
      [this.keys.of(place), priority, transit, taken, mover, this.digested.key],
      [this.fence, place, this.digested.field, ...ids],
    );
  }

  /**
   * Returns the first jobs in transit. A deleted job has no fields, also if a newer one has its id. A job is passed over
   * that another mover ends between the two reads.
   */
  async inTransit(): Promise<TakenJob[]> {
    const ids = await this.redis.zrange(this.keys.transit, '0', String(STEP - 1));
    const entries = ids.length > 0 ? await this.redis.hmget(this.keys.taken, ...ids) : [];
    const taken = ids.flatMap((id, i) => (entries[i] ? [{ id, entry: entries[i] }] : []));
    return Promise.all(
      taken.map(async ({ id, entry }) => {
        const { place, score, digest } = placeOf(entry);
        const job = await this.job(id, place, score);
        return { ...job, ...(job.digest !== digest && { fields: {} }), entry };
      }),
    );
  }

  /** Returns all entries in transit. */
  entries(): Promise<string[]> {
    return this.redis.hvals(this.keys.taken);
  }

  /** Deletes jobs that are in their new queue. */
  async acknowledge(jobs: readonly TakenJob[]): Promise<void> {
    if (jobs.length > 0) {
      const { job, dedup, transit, taken } = this.keys;
      await this.run('migrateBullmqAcknowledge', [job, dedup, transit, taken], pairs(jobs));
    }
  }

  /** Gives jobs back that cannot be moved. */
  async giveBack(jobs: readonly TakenJob[], era: SourceEra): Promise<void> {
    if (jobs.length > 0) {
      const { priority, meta, marker, transit, taken, job, bullPause } = this.keys;
      const places = PLACES.map((place) => this.keys.of(place));
      const keys = [...places, priority, meta, marker, transit, taken, job, bullPause, this.keys.of('failed')];
      await this.run('migrateBullmqGiveBack', keys, [era, ...pairs(jobs)]);
    }
  }

  async schedulers(): Promise<OldScheduler[]> {
    const found = await this.redis.zrange(this.keys.repeat, '0', '-1', 'WITHSCORES');
    const pairsOf = found.flatMap((id, i) => (i % 2 === 0 ? [[id, Number(found[i + 1])] as const] : []));
    return Promise.all(
      pairsOf.map(async ([id, nextMs]) => ({
        id,
        nextMs,
        fields: await this.redis.hgetall(`${this.keys.repeat}:${id}`),
      })),
    );
  }

  /** Takes a scheduler. Returns false if it has changed. @throws OvertakenError */
  async takeScheduler({ id, nextMs }: OldScheduler, kept: string): Promise<boolean> {
    const { repeat, schedulers, mover } = this.keys;
    const keys = [repeat, `${repeat}:${id}`, schedulers, mover];
    return (await this.fenced('migrateBullmqTakeScheduler', keys, [this.fence, id, String(nextMs), kept])) === 1;
  }

  /** Returns what was kept of each scheduler in transit, by its id. */
  schedulersInTransit(): Promise<Record<string, string>> {
    return this.redis.hgetall(this.keys.schedulers);
  }

  async acknowledgeScheduler(id: string): Promise<void> {
    await this.redis.hdel(this.keys.schedulers, id);
  }

  private async fenced(script: Script, keys: readonly string[], args: readonly string[]): Promise<number> {
    const reply = await this.run(script, keys, args);
    if (reply < 0) {
      throw new OvertakenError();
    }
    return reply;
  }

  /** Runs a script. Its first line is left out, because a Redis before 7.0 does not know it. */
  protected async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<number> {
    const text = luaScripts[script].replace(/^#!.*\n/, '');
    return Number(await (this.redis as Redis).eval(text, keys.length, ...keys, ...args));
  }
}

/** Returns the id and the entry of each job, for a script. */
export function pairs(jobs: readonly TakenJob[]): string[] {
  return jobs.flatMap(({ id, entry }) => [id, entry]);
}
