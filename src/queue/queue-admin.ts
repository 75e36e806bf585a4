import { z } from 'zod';
import { inWords, onQueue } from './actions/noted-action.js';
import { DeadLetters } from './dead-letters/dead-letters.js';
import { wrongKeysReport } from './doctor/doctor-notes.js';
import { InvalidOptionError } from './errors/errors.js';
import { RedisKeyTypeError } from './errors/redis-errors.js';
import { show } from './errors/show.js';
import { JobAdmin } from './job-admin.js';
import type { BatchRecord } from './model/batch.js';
import type { DoctorFinding, DoctorOptions, DoctorReport } from './model/doctor-report.js';
import { JOB_STATUSES, type JobRecord, type JobStatus, type QueueStats } from './model/job.js';
import { type PauseOptions, pauseOptions, rateOfResume, type ResumeOptions, resumeOptions } from './model/pause.js';
import { jobNameOf, type TopicSubscription } from './model/topic.js';
import type { WorkerRecord } from './model/worker-record.js';
import { AuditTrail } from './operate/audit-trail.js';
import { type CleanOptions, type CleanableStatus, clean } from './operate/clean.js';
import { type ListOptions, findJobs } from './operate/find-jobs.js';
import { Groups } from './operate/groups.js';
import { History } from './operate/history.js';
import { Limits } from './operate/limits.js';
import { SharedLimit } from './operate/shared-limit.js';
import { Topics } from './operate/topics.js';
import { type LostMember, lostMembers } from './operate/elsewhere.js';
import { purge, type PurgeOptions } from './operate/purge.js';
import { Profiles } from './operate/profiles.js';
import { LARGEST_PAGE } from './runtime/bounds.js';
import { WORKER_FORGOTTEN_MS } from './runtime/lifetimes.js';
import { checkCount, checkFlag, checkKnown, checkOptions } from './validation/validate-options.js';
import { flag } from './validation/numbers.js';

const doctorSchema = z.strictObject(
  { repair: flag.default(false), exclusive: flag.default(false) },
  { error: 'expected an object with repair, exclusive' },
);

/**
 * The verbs of operators for a queue: read it, and change its jobs from outside. JobQueue adds the verbs of producers and
 * consumers.
 */
export abstract class QueueAdmin extends JobAdmin {
  /** The objects of its parts. They are made at their first use, because most processes use none. */
  private readonly parts: {
    limits?: Limits;
    history?: History;
    auditTrail?: AuditTrail;
    groups?: Groups;
    profiles?: Profiles;
  } = {};
  /** The permanently failed jobs. */
  readonly deadLetters: DeadLetters = new DeadLetters(this);

  /** The subscriptions of the topics of this Redis and prefix. */
  get topics(): Topics {
    return new Topics(() => this);
  }

  /** The limits of the queue for the whole fleet. */
  get limits(): Limits {
    return (this.parts.limits ??= new Limits(this));
  }

  /** The figures of each minute of the last 72 hours. */
  get history(): History {
    return (this.parts.history ??= new History(this));
  }

  /** The transitions of the queue's jobs, where the option `auditTrail` writes them down. */
  get auditTrail(): AuditTrail {
    return (this.parts.auditTrail ??= new AuditTrail(this));
  }

  /** The groups of the queue, whose jobs take turns. */
  get groups(): Groups {
    return (this.parts.groups ??= new Groups(this));
  }

  /** The profile of a job: what V8 measures while its next attempt runs. */
  get profiles(): Profiles {
    return (this.parts.profiles ??= new Profiles(this));
  }

  /**
   * Returns a limit that queues of this Redis and prefix share. It is read, set, changed and paused for the whole fleet.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   * @example await queue.sharedLimit('openai').set({ maxRunning: 5 });
   */
  sharedLimit(name: string): SharedLimit {
    return new SharedLimit(this, name);
  }

  /** Waits, and rejects with a QueueClosedError once the queue is closed. @internal */
  abstract sleep(ms: number): Promise<void>;

  /**
   * Returns one page of the jobs in one state. Pending jobs are in the order of their claims, scheduled jobs by due
   * time, processing jobs by expiry. Ended ones come newest first.
   *
   * A filter reads all jobs of the state, in slices of 500, until the page is full. The types of payload and result are those that
   * the caller expects: nothing checks them.
   *
   * @param options.limit at most 1,000. Default 50
   * @throws InvalidOptionError
   * @example await queue.list('completed', { name: 'email', metadata: { tenant: 'acme' }, newerThanMs: 3_600_000 });
   */
  async list<Payload = unknown, Result = unknown>(
    status: JobStatus,
    options: ListOptions = {},
  ): Promise<JobRecord<Payload, Result>[]> {
    if (!JOB_STATUSES.includes(status)) {
      throw new InvalidOptionError('list status', JOB_STATUSES.join(', '), show(status));
    }
    return findJobs(this, status, options) as Promise<JobRecord<Payload, Result>[]>;
  }

  /** Returns depths, ages and counters, at a cost that does not grow with the queue. */
  async stats(): Promise<QueueStats> {
    return this.exec((calls) => calls.stats());
  }

  /** @internal Checks the types of the queue's keys. @throws RedisKeyTypeError */
  async checkKeys(): Promise<void> {
    return this.store.checkKeys(await this.calls(), this.callLimit);
  }

  /** @internal Returns members for which batches of this queue wait although they are nowhere; see lostMembers. */
  async lostMembers(): Promise<LostMember[]> {
    return lostMembers(this);
  }

  /**
   * Returns the live workers of the queue, at most 1,000: where they run, since when, and their stuck jobs.
   *
   * @param options.silent true to add the silent workers, last seen 30 s to 5 min ago. They say how many jobs they hold
   * @throws InvalidOptionError
   * @example const silent = (await queue.workers({ silent: true })).filter(({ holds }) => holds !== undefined);
   */
  async workers(options: { silent?: boolean | undefined } = {}): Promise<WorkerRecord[]> {
    checkKnown('workers', options, ['silent']);
    const { silent = false } = options;
    checkFlag('silent', silent);
    const silentMs = silent ? WORKER_FORGOTTEN_MS : undefined;
    return this.exec((calls) => calls.workers.list({ most: LARGEST_PAGE, silentMs }));
  }

  /**
   * Returns one page of the unfinished batches of this queue, the oldest first. With `ended` lists the batches that ended
   * within the last week, the last first. Redis keeps 1,000 of these.
   *
   * @param options.limit at most 1,000. Default 50
   * @throws InvalidOptionError
   * @example const [last] = await queue.listBatches({ ended: true, limit: 1 });
   */
  async listBatches(
    options: { offset?: number | undefined; limit?: number | undefined; ended?: boolean | undefined } = {},
  ): Promise<BatchRecord[]> {
    checkKnown('listBatches', options, ['offset', 'limit', 'ended']);
    const { offset = 0, limit = 50, ended = false } = options;
    checkFlag('ended', ended);
    checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
    checkCount('limit', limit, 1, LARGEST_PAGE);
    return this.exec((calls) => calls.batches.list({ offset, limit, ended }));
  }

  /**
   * Deletes old jobs of one state, in bounded slices. The age counts from the end of a completed, failed or cancelled
   * job. For a pending one it counts from when it became claimable, for a scheduled one from the enqueue. Running jobs
   * are not cleaned: cancel them.
   *
   * `clean('pending')` and `clean('scheduled')` are BullMQ's `drain`, and `purge` is its `obliterate`.
   *
   * @param options.olderThanMs the minimum age, in ms. Default 0: all
   * @param options.limit the most jobs to delete. Default: all that are old enough
   * @returns how many were deleted
   * @throws InvalidOptionError
   * @example await queue.clean('completed', { olderThanMs: 60_000 });
   */
  async clean(status: CleanableStatus, options?: CleanOptions): Promise<number> {
    return clean(this, status, options);
  }

  /**
   * Pauses the queue for the whole fleet: it accepts jobs and hands none out. Returns false if it was already paused,
   * and keeps the first pause's author, reason and end. With `forMs` it lengthens a pause that has an end, and then
   * returns true.
   *
   * @throws InvalidOptionError
   * @example await queue.pause({ by: 'ada', reason: 'the mail provider is down', forMs: 2 * 3_600_000 });
   */
  async pause(options: PauseOptions = {}): Promise<boolean> {
    const checked = checkOptions('pause', pauseOptions, options);
    const action = onQueue('pause', inWords(checked));
    const hasChanged = await this.actionLog.record(
      action,
      async () => {
        const isNew = await this.exec((calls) => calls.pause(checked));
        return isNew || (checked.forMs !== undefined && (await this.extendPause(checked.forMs)));
      },
      { count: Number },
    );
    await this.afterChange?.('pause');
    return hasChanged;
  }

  /** Gives a pause that has an end a later one. */
  private async extendPause(forMs: number): Promise<boolean> {
    const { pausedUntil } = await this.stats();
    return (
      pausedUntil !== undefined &&
      this.exec((calls) => calls.extendPause({ knownEndMs: pausedUntil.getTime(), forMs }))
    );
  }

  /**
   * Ends a pause. Returns false if the queue was not paused. Then the options change nothing.
   *
   * @param options.first the number of jobs that start at once. Then one job starts a day, by a rate limit at run time;
   *   `limits.clear()` ends it, and starts the rest
   * @param options.perSecond the most jobs that start in a second. It sets a rate limit at run time
   * @throws InvalidOptionError
   */
  async resume(options: ResumeOptions = {}): Promise<boolean> {
    const checked = checkOptions('resume', resumeOptions, options);
    const rateLimit = rateOfResume(checked);
    return this.actionLog.record(
      onQueue('resume', inWords(checked)),
      () => this.exec((calls) => calls.resume({ limits: rateLimit && { rateLimit } })),
      { count: Number },
    );
  }

  /**
   * Deletes all jobs of the queue, in every state, in bounded slices. Its counters, schedules, limits, history and logs
   * stay; with `everything` nothing stays.
   *
   * @param options.confirm the queue's name, against accidents
   * @param options.everything true to delete every key of a queue without live workers. Default false
   * @returns how many jobs were deleted
   * @throws InvalidOptionError
   * @example await queue.purge({ confirm: 'email', everything: true });
   */
  async purge(options: PurgeOptions): Promise<number> {
    return purge(this, options);
  }

  /**
   * Audits the queue beside live traffic. It finds jobs in no place or in two, ids without a job, stuck unique keys and
   * wrong counters. It works in small steps, and its cost grows with the number of keys in the database.
   *
   * With `repair` it repairs what it finds. No job is deleted: doubtful ones become dead letters.
   *
   * @param options see DoctorOptions
   * @throws InvalidOptionError
   * @example
   * const { counts } = await queue.doctor(); // { orphan: 2 }
   * await queue.doctor({ repair: true });
   */
  async doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
    const checked = checkOptions('doctor', doctorSchema, options);
    try {
      return await (checked.repair
        ? this.actionLog.record(onQueue('repair'), () => this.audit(checked), { count: repairsOf })
        : this.audit(checked));
    } catch (error) {
      if (error instanceof RedisKeyTypeError) {
        return wrongKeysReport(this.name, error.wrong); // the layout cannot be read, or a key changed meanwhile
      }
      throw error;
    }
  }

  private async audit(options: Required<DoctorOptions>): Promise<DoctorReport> {
    const report = await this.store.audit(await this.calls(), options, this.callLimit);
    const idle = report.counts.type === undefined ? await this.topics.unhandledIn(this) : [];
    if (idle.length > 0) {
      report.counts.subscription = idle.length;
      report.findings.push(...idle.map(subscriptionFinding));
    }
    return report;
  }
}

/** Returns the finding of a subscription without a worker. */
function subscriptionFinding({ topic, name }: TopicSubscription): DoctorFinding {
  return {
    kind: 'subscription',
    subject: jobNameOf({ topic, name }),
    found: 'no live worker has its handler',
    expected: `a worker, or its end: topics ${topic} remove ${name}`,
    repaired: false,
  };
}

/** Returns how many faults of the report were repaired. */
function repairsOf({ findings }: DoctorReport): number {
  return findings.filter(({ repaired }) => repaired).length;
}
