import { z } from 'zod';
import { Canceller } from './operate/cancel.js';
import { checkCount, checkKnown, checkOptions } from './model/validate-options.js';
import { checkStart, lateStart, type Start } from './operate/reschedule-options.js';
import { clean, type CleanableStatus, type CleanOptions } from './operate/clean.js';
import { Connection } from './redis/connection.js';
import { DeadLetters } from './dead-letters/dead-letters.js';
import { decodeJobHash } from './store/decode-job.js';
import type { DoctorOptions, DoctorReport } from './doctor/doctor-report.js';
import { Doctor } from './doctor/doctor.js';
import { InvalidOptionError, QueueClosedError } from './model/errors.js';
import { EventSubscriber } from './redis/event-subscriber.js';
import { JOB_STATUSES, type JobRecord, type JobStatus, type QueueStats } from './model/job.js';
import { checkResultOptions, type ResultOptions } from './results/job-handle.js';
import { waitForResult } from './results/wait-for-result.js';
import { QueueKeys } from './store/queue-keys.js';
import { LARGEST_PAGE } from './model/bounds.js';
import { checkQueueName, checkText, show } from './model/names.js';
import { resolveQueueOptions, type QueueOptions, type ResolvedQueueOptions } from './model/queue-options.js';
import { purge } from './operate/purge.js';
import { QueueCalls, type CancelAnswer } from './store/queue-calls.js';
import { isRedisClient, type RedisClient } from './redis/redis-client.js';
import { Limits } from './operate/limits.js';
import { Schedules } from './schedules/schedules.js';
import { SHORTEST_TRIP_MS } from './redis/response-timeout.js';
import { ScriptRunner, type ScriptCall } from './redis/script-runner.js';

/** The most entries that one call of a bounded script looks at. */
export const SLICE = 500;

const flag = z.boolean({ error: 'expected true or false' }).default(false);

const doctorSchema = z.strictObject(
  { mend: flag, exclusive: flag },
  { error: 'expected an object with mend, exclusive' },
);

/**
 * What operators do with a queue: look into it, and act on its jobs from outside. A JobQueue is one, and adds what
 * producers and consumers do.
 */
export abstract class QueueAdmin {
  readonly options: ResolvedQueueOptions;
  readonly connection: Connection;
  readonly runner: ScriptRunner;
  /** The recurring jobs of the queue. */
  readonly schedules: Schedules = new Schedules(this);
  /** The limits of the queue for the whole fleet. */
  readonly limits: Limits = new Limits(this);
  /** The jobs that have failed for good. */
  readonly deadLetters: DeadLetters = new DeadLetters(this);
  private opened: QueueCalls | undefined;
  private readonly canceller = new Canceller(this);
  private readonly pendingResults = new Set<(error: Error) => void>();
  protected closed = false;

  constructor(
    client: RedisClient,
    readonly name: string,
    options: QueueOptions,
  ) {
    checkQueueName(name);
    this.options = resolveQueueOptions(`queue ${JSON.stringify(name)}`, options);
    if (!isRedisClient(client)) {
      throw new InvalidOptionError('client', 'a Redis or Cluster of ioredis', show(client));
    }
    this.connection = Connection.of(client);
    this.runner = new ScriptRunner(client);
  }

  /**
   * The calls of this queue's scripts, once it is known how the server wants its keys spelled.
   *
   * @throws RedisUnsuitableError when the server is older than Redis 7.0
   */
  async scripts(): Promise<QueueCalls> {
    if (!this.opened) {
      const { cluster } = await this.ask(() => this.connection.inspect());
      const { prefix, hashTag = cluster } = this.options;
      this.opened ??= new QueueCalls(new QueueKeys(this.name, { prefix, hashTag }), this.options);
    }
    return this.opened;
  }

  /** All that is known of a job; null when nothing is. */
  async get(id: string): Promise<JobRecord | null> {
    checkText('job id', id);
    const { keys } = await this.scripts();
    const hash = await this.ask(() => this.connection.client.hgetall(keys.job(id)));
    return Object.keys(hash).length > 0 ? decodeJobHash(this.name, id, hash) : null;
  }

  /**
   * One page of the jobs in one state: pending in the order of their claims, scheduled by due time, processing by
   * expiry, ended ones newest first.
   *
   * @param options.limit at most 1,000. Default 50
   */
  async list(status: JobStatus, options: { offset?: number; limit?: number } = {}): Promise<JobRecord[]> {
    if (!JOB_STATUSES.includes(status)) {
      throw new InvalidOptionError('list status', JOB_STATUSES.join(', '), show(status));
    }
    checkKnown('list', options, ['offset', 'limit']);
    const { offset = 0, limit = 50 } = options;
    checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
    checkCount('limit', limit, 1, LARGEST_PAGE);
    return this.call((scripts) => scripts.list(status, offset, limit));
  }

  /** Depths, ages and counters, at a cost that does not grow with the queue. */
  async stats(): Promise<QueueStats> {
    return this.call((scripts) => scripts.stats());
  }

  /**
   * Waits for a job's result; see JobHandle.result.
   *
   * @param name what the job must be called, where the reader expects one kind of job only
   */
  async result(id: string, options: ResultOptions = {}, name?: string): Promise<unknown> {
    checkText('job id', id);
    const { timeoutMs, signal } = checkResultOptions(options);
    const { keys } = await this.scripts();
    if (this.closed) {
      throw new QueueClosedError(this.name);
    }
    const subscriber = EventSubscriber.of(this.connection);
    const events = this.options.events !== 'off';
    const source = {
      queue: this.name,
      name,
      channel: keys.events,
      events,
      subscriber,
      pending: this.pendingResults,
      get: (each: string) => this.get(each),
    };
    return waitForResult(source, id, timeoutMs, signal);
  }

  /**
   * Cancels a job: one that waits at once; a running one has its signal aborted (`requested`), at once in this process and
   * within a second in another.
   * Taking one job out of a long queue is O(its length).
   */
  async cancel(id: string): Promise<CancelAnswer> {
    checkText('job id', id);
    return this.canceller.cancel(id);
  }

  /**
   * Calls the listener with each waiting job that `cancel` of this object ends, once, also where the answer to the first
   * call was lost and a repeat found the job cancelled; that of a running one is told by its worker. Answers the way to end
   * that.
   */
  onCancelled(listener: (job: JobRecord) => void): () => void {
    return this.canceller.listen(listener);
  }

  /** Deletes a job with all its traces. A claimed one is refused (`processing`): cancel it first. */
  async remove(id: string): Promise<'removed' | 'processing' | 'missing'> {
    checkText('job id', id);
    return this.call((scripts) => scripts.remove(id));
  }

  /**
   * Deletes old jobs of one state, in bounded slices. The age counts from the end of a completed, failed or cancelled
   * job, from when a pending one became claimable, from the enqueue of a scheduled one. Running jobs are not cleaned:
   * cancel them.
   *
   * `clean('pending')` and `clean('scheduled')` are what BullMQ calls `drain`; `purge` is its `obliterate`.
   *
   * @param options.olderThanMs the least age, in ms. Default 0: all
   * @param options.limit the most jobs to delete. Default: all that are old enough
   * @returns how many were deleted
   * @throws InvalidOptionError
   * @example await queue.clean('completed', { olderThanMs: 60_000 });
   */
  async clean(status: CleanableStatus, options?: CleanOptions): Promise<number> {
    return clean(this, status, options);
  }

  /** Sends dead letters back to work, their attempts reset, at most 1,000 in one call; answers how many. */
  async redrive(ids: readonly string[]): Promise<number> {
    if (!Array.isArray(ids)) {
      throw new InvalidOptionError('ids', 'an array of job ids', show(ids));
    }
    checkCount('ids.length', ids.length, 0, LARGEST_PAGE);
    ids.forEach((id, i) => checkText(`ids[${i}]`, id));
    return this.call((scripts) => scripts.redrive(ids));
  }

  /**
   * Gives a waiting job a new start. `{ delayMs: 0 }` promotes it now.
   *
   * @throws InvalidOptionError, also for a start by which the job would have expired; nothing is changed
   */
  async reschedule(id: string, start: Start): Promise<'scheduled' | 'pending' | 'refused' | 'missing'> {
    checkText('job id', id);
    const due = checkStart(start);
    const answer = await this.call((scripts) => scripts.reschedule(id, due));
    if (typeof answer === 'object') {
      throw lateStart(start, answer);
    }
    return answer;
  }

  /** Pauses the queue for the whole fleet: it takes jobs in and hands none out. False when it was paused already. */
  async pause(): Promise<boolean> {
    return this.call((scripts) => scripts.pause());
  }

  /** Ends a pause. False when it was not paused. */
  async resume(): Promise<boolean> {
    return this.call((scripts) => scripts.resume());
  }

  /**
   * Deletes all jobs of the queue, in every state, in bounded slices; only its counters stay.
   *
   * @param options.confirm the queue's name, so that nobody does it by accident
   * @returns how many were deleted
   */
  async purge(options: { confirm: string }): Promise<number> {
    return purge(this, options);
  }

  /**
   * Audits the queue, beside live traffic: jobs that are in no place or in two, ids without a job, stuck unique keys,
   * wrong counters and the like. It works in small steps, and its cost grows with the number of keys in the database.
   *
   * With `mend` it brings to rights what it finds. No job is deleted: what is in doubt goes to the dead letters.
   *
   * @param options see DoctorOptions
   * @throws InvalidOptionError
   * @example
   * const { counts } = await queue.doctor(); // { orphan: 2 }
   * await queue.doctor({ mend: true });
   */
  async doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
    const checked = checkOptions('doctor', doctorSchema, options);
    return new Doctor(this, await this.scripts(), checked).run();
  }

  /** Runs one script as a question to Redis that must not hang; see `ask`. */
  run<Answer>(call: ScriptCall<Answer>): Promise<Answer> {
    return this.ask(() => this.runner.run(call));
  }

  /** Rejects the results that are awaited now, and those that are asked for later. */
  protected closeResults(): void {
    this.closed = true;
    this.pendingResults.forEach((end) => end(new QueueClosedError(this.name)));
  }

  /** How long Redis may take for an answer, in ms. */
  get answerLimitMs(): number {
    return Math.max(SHORTEST_TRIP_MS, this.options.enqueueTimeoutMs);
  }

  /**
   * Asks Redis. Where no answer comes within `enqueueTimeoutMs` (at least a second) it rejects, and the connection is
   * replaced: a half-open one would keep silent.
   *
   * @throws RedisUnsuitableError without an answer in time; what was asked for may have been done
   */
  ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    return this.connection.answer(this.answerLimitMs, question);
  }

  /** Runs one script as such a question, once the scripts are known. */
  call<Answer>(build: (scripts: QueueCalls) => ScriptCall<Answer>): Promise<Answer> {
    return this.opened ? this.run(build(this.opened)) : this.scripts().then((scripts) => this.run(build(scripts)));
  }
}
