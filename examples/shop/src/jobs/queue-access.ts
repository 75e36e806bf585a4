import { Injectable, ServiceUnavailableException } from '@nestjs/common';
import {
  JobQueueService,
  redisAccess,
  redisClientOf,
  type RedisClient,
  type EnqueueOptions,
  type JobOutcome,
  type JobQueue,
  type JobRecord,
  type JobStatus,
  type QueueStats,
} from 'nest-job-queue';
import { settings } from '../settings.js';
import { notesIn, type Notes } from './notes.js';

const PATIENCE_MS = 3_000;
const PURGE_PATIENCE_MS = 60_000;
const AWAY = 'Redis does not answer. Nothing is lost: the shop continues when it does.';
const CUT_OFF = 'Redis does not answer any more. What was asked for may have been done all the same.';

/** The queue of the control page; where Redis is away every question is answered with 503, soon. */
@Injectable()
export class QueueAccess {
  readonly name = settings.queue;
  /** The client of Redis, if there is one. */
  readonly client: RedisClient | undefined;
  readonly notes: Notes;
  private readonly queue: JobQueue;

  constructor(private readonly jobs: JobQueueService) {
    this.queue = jobs.queue(this.name);
    this.client = settings.inMemory ? undefined : redisClientOf(this.queue);
    this.notes = notesIn(this.client);
  }

  get ready(): boolean {
    return this.client === undefined || this.client.status === 'ready';
  }

  stats(): Promise<QueueStats> {
    return this.ask(() => this.queue.stats());
  }

  list(status: JobStatus, offset: number, limit: number): Promise<JobRecord[]> {
    return this.ask(() => this.queue.list(status, { offset, limit }));
  }

  /** Returns the jobs of the pattern's pending list: the claimable jobs, then the jobs between two attempts. */
  async waiting(offset: number, limit: number, { pending }: QueueStats): Promise<JobRecord[]> {
    const jobs = offset < pending ? await this.list('pending', offset, limit) : [];
    if (jobs.length === limit) return jobs;
    return [...jobs, ...(await this.list('scheduled', Math.max(0, offset - pending), limit - jobs.length))];
  }

  find(id: string, queue = this.name): Promise<JobRecord | null> {
    return this.ask(() => this.jobs.queue(queue).get(id));
  }

  outcome(id: string, queue = this.name): Promise<JobOutcome | null> {
    return this.ask(() => this.jobs.queue(queue).outcome(id));
  }

  async enqueue(name: string, payloads: unknown[], options: EnqueueOptions = {}): Promise<string[]> {
    const jobs = payloads.map((payload) => ({ payload, ...options }));
    const handles = await this.ask(() => this.jobs.enqueueMany(name, jobs, { queue: this.name }), CUT_OFF);
    return handles.map(({ id }) => id);
  }

  /** Reclaims all expired claims. */
  async reclaim(): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const { reclaimed, more } = await this.ask(() => this.queue.reclaim(), CUT_OFF);
      ids.push(...reclaimed.map(({ id }) => id));
      if (!more) return ids;
    }
  }

  purge(): Promise<number> {
    return this.ask(() => this.queue.purge({ confirm: this.name }), CUT_OFF, PURGE_PATIENCE_MS);
  }

  /** Returns in how many ms the claims of these jobs expire; undefined for claims of a foreign client. */
  async claimsEndIn(ids: string[]): Promise<(number | undefined)[]> {
    if (ids.length === 0) return [];
    // In memory nothing but the end of this process ends a claim.
    if (!this.client) return ids.map(() => settings.visibilityMs);
    const [[seconds, micros], ends] = await this.ask(async () => {
      const { client, keys } = await redisAccess(this.queue);
      return Promise.all([client.time(), client.zmscore(keys.claims, ...ids)]);
    });
    const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    return ends.map((end) => (end === null ? undefined : Number(end) - now));
  }

  /**
   * @param cutOff the message if Redis goes away in between
   * @throws ServiceUnavailableException
   */
  async ask<Reply>(question: () => Promise<Reply>, cutOff = AWAY, patienceMs = PATIENCE_MS): Promise<Reply> {
    if (!this.ready) throw new ServiceUnavailableException(AWAY);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new ServiceUnavailableException(cutOff)), patienceMs);
    });
    try {
      return await Promise.race([question(), late]);
    } catch (error) {
      throw this.ready ? error : new ServiceUnavailableException(cutOff);
    } finally {
      clearTimeout(timer);
    }
  }
}
