import type { BATCH_PARTS } from '../model/batch.js';
import { checkQueueName, PARTS_BEFORE_IDS } from '../validation/names.js';

/** Options that decide how the keys of a queue are spelled. */
interface KeyOptions {
  /** The start of every key. @default `queue`, the Redis documentation's */
  prefix?: string;
  /**
   * Wraps the name in braces, so that all keys of a queue share one slot of a Redis Cluster. @default only on a Cluster
   */
  hashTag?: boolean;
}

/**
 * The names of all keys of one queue, and the only place that spells them.
 * The lists that scripts take as KEYS are built here too, in the order of the scripts' headers.
 */
export class QueueKeys {
  /** The start of every job's key, before the job's id. */
  readonly jobPrefix: string;
  readonly pending: string;
  readonly prioritized: string;
  readonly scheduled: string;
  readonly claims: string;
  readonly processing: string;
  readonly completed: string;
  readonly failed: string;
  readonly cancelled: string;
  readonly dead: string;
  readonly unique: string;
  readonly uniqueExpiries: string;
  /** The start of the key of a replacement, before the request or the id that replaced. */
  readonly replacedPrefix: string;
  readonly stats: string;
  readonly sequence: string;
  readonly wake: string;
  readonly events: string;
  readonly settings: string;
  readonly sweep: string;
  readonly maintainers: string;
  readonly workers: string;
  readonly workerDetails: string;
  readonly foreignClaims: string;
  readonly handlerLimits: string;
  readonly scheduleDue: string;
  readonly scheduleOwners: string;
  /** The start of every schedule's key, before its id. */
  readonly schedulePrefix: string;
  readonly actions: string;
  readonly bulkRuns: string;
  readonly audit: string;
  readonly historyOpen: string;
  readonly history: string;
  readonly historyMarks: string;
  /** The start of the key of a batch of times, before the worker's id. */
  readonly historyBatchPrefix: string;
  readonly retention: string;
  readonly names: string;
  /** The start of a nudge's key, before the worker's id. */
  readonly nudgePrefix: string;
  /** The batches of this queue. */
  readonly batches: string;
  /** The start of a batch's keys, before its id. */
  readonly batchRecordPrefix: string;
  readonly batchGuests: string;
  readonly batchOutbox: string;
  readonly awaiting: string;
  /** The largest fence of each source of entries. */
  readonly onceFences: string;
  /** The start of the key with the marks of a source's entries, before the source. */
  readonly oncePrefix: string;
  /** The start of the keys of groups; `docs/internals/groups.md` lists them. */
  readonly groupsPrefix: string;

  /** The kinds of error of the dead letters; `docs/internals/error-kinds.md` says how they are counted. */
  readonly errorKinds: string;

  /** The record of the alerts that were told. */
  readonly alerts: string;

  /** The KEYS of every script outside the hot path; `lua/lib/core/keys.lua` names them. */
  readonly standard: readonly string[];
  readonly forEnqueue: readonly string[];
  readonly forPublishedEnqueue: readonly string[];
  /** The first KEYS of an enqueue: jobs without options pass no others. */
  readonly forPlainEnqueue: readonly string[];
  readonly forComplete: readonly string[];
  /** The KEYS of a queue with limits, where each end frees a slot. */
  readonly forLimitedComplete: readonly string[];
  /** The KEYS for jobs with a batch or with jobs that wait for them, none of which is plain. */
  readonly forFollowedComplete: readonly string[];
  readonly forExtend: readonly string[];
  readonly forStart: readonly string[];
  /** The start of every key of the queue. Keys of other queues may begin with it too, see `owns`. */
  readonly base: string;

  constructor(
    readonly queue: string,
    { prefix = 'queue', hashTag = false }: KeyOptions = {},
  ) {
    checkQueueName(queue);
    this.base = `${prefix}:${hashTag ? `{${queue}}` : queue}:`;
    this.jobPrefix = `${this.base}job:`;
    this.pending = `${this.base}pending`;
    this.prioritized = `${this.base}prioritized`;
    this.scheduled = `${this.base}scheduled`;
    this.claims = `${this.base}claims`;
    this.processing = `${this.base}processing`;
    this.completed = `${this.base}completed`;
    this.failed = `${this.base}failed`;
    this.cancelled = `${this.base}cancelled`;
    this.dead = `${this.base}dead`;
    this.unique = `${this.base}unique`;
    this.uniqueExpiries = `${this.base}unique_expiries`;
    this.replacedPrefix = `${this.base}replaced:`;
    this.stats = `${this.base}stats`;
    this.sequence = `${this.base}sequence`;
    this.wake = `${this.base}wake`;
    this.events = `${this.base}events`;
    this.settings = `${this.base}settings`;
    this.sweep = `${this.base}sweep`;
    this.maintainers = `${this.base}maintainers`;
    this.workers = `${this.base}workers`;
    this.workerDetails = `${this.base}worker_details`;
    this.foreignClaims = `${this.base}foreign_claims`;
    this.handlerLimits = `${this.base}handler_limits`;
    this.scheduleDue = `${this.base}schedule_due`;
    this.scheduleOwners = `${this.base}schedule_owners`;
    this.schedulePrefix = `${this.base}schedule:`;
    this.actions = `${this.base}actions`;
    this.bulkRuns = `${this.base}bulk_runs`;
    this.audit = `${this.base}audit`;
    this.historyOpen = `${this.base}history_open`;
    this.history = `${this.base}history`;
    this.historyMarks = `${this.base}history_marks`;
    this.historyBatchPrefix = `${this.base}history_batch:`;
    this.retention = `${this.base}retention`;
    this.names = `${this.base}names`;
    this.nudgePrefix = `${this.base}nudge:`;
    this.batches = `${this.base}batches`;
    this.batchRecordPrefix = `${this.base}batch_record:`;
    this.batchGuests = `${this.base}batch_guests`;
    this.batchOutbox = `${this.base}batch_outbox`;
    this.awaiting = `${this.base}awaiting`;
    this.onceFences = `${this.base}once_fences`;
    this.oncePrefix = `${this.base}once:`;
    this.groupsPrefix = `${this.base}groups:`;
    this.errorKinds = `${this.base}error_kinds`;
    this.alerts = `${this.base}alerts`;
    this.standard = [
      this.jobPrefix,
      this.pending,
      this.prioritized,
      this.scheduled,
      this.claims,
      this.processing,
      this.completed,
      this.failed,
      this.cancelled,
      this.dead,
      this.unique,
      this.uniqueExpiries,
      this.stats,
      this.sequence,
      this.wake,
      this.events,
      this.settings,
      this.sweep,
      this.workers,
      this.foreignClaims,
      this.handlerLimits,
      this.scheduleDue,
      this.scheduleOwners,
      this.schedulePrefix,
      this.retention,
      this.names,
      this.nudgePrefix,
      this.batches,
      this.batchRecordPrefix,
      this.batchGuests,
      this.batchOutbox,
      this.awaiting,
      this.groupsPrefix,
      this.errorKinds,
    ];
    this.forPlainEnqueue = [this.jobPrefix, this.pending, this.wake, this.stats, this.settings];
    this.forEnqueue = [
      ...this.forPlainEnqueue,
      this.prioritized,
      this.scheduled,
      this.sequence,
      this.unique,
      this.uniqueExpiries,
      this.replacedPrefix,
      this.batchRecordPrefix,
      this.batchGuests,
      this.awaiting,
      this.groupsPrefix,
      this.sweep,
    ];
    this.forPublishedEnqueue = [...this.forEnqueue, this.events];
    this.forComplete = [this.jobPrefix, this.claims, this.completed, this.stats, this.unique, this.events];
    this.forLimitedComplete = [...this.forComplete, this.wake];
    this.forFollowedComplete = [
      ...this.forLimitedComplete,
      this.scheduled,
      this.settings,
      this.sequence,
      this.batches,
      this.batchRecordPrefix,
      this.batchGuests,
      this.batchOutbox,
      this.awaiting,
      this.groupsPrefix,
    ];
    this.forExtend = [this.jobPrefix, this.claims, this.sweep];
    this.forStart = [this.jobPrefix];
  }

  /** Returns whether a key is of this queue. The key of another queue, such as `queue:report:eu:pending`, is not. */
  owns(key: string): boolean {
    const rest = key.startsWith(this.base) ? key.slice(this.base.length) : '';
    return PARTS_BEFORE_IDS.some((part) => rest.startsWith(`${part}:`)) || Object.values(this).includes(key);
  }

  /** Returns the key of one job's hash. */
  job(id: string): string {
    return this.jobPrefix + id;
  }

  /** Returns the key of one schedule's hash. */
  schedule(id: string): string {
    return this.schedulePrefix + id;
  }

  /** Returns a key of one batch with a follow-up. */
  batchRecord(id: string, part?: (typeof BATCH_PARTS)[number]): string {
    return this.batchRecordPrefix + id + (part ? `/${part}` : '');
  }

  /** Returns the key with a claimer's last batch, so that a repeated claim gets the same jobs. */
  batch(claimer: string): string {
    return `${this.base}batch:${claimer}`;
  }

  /** Returns the key with the marks of a source's entries. */
  once(source: string): string {
    return this.oncePrefix + source;
  }

  forEnqueueOnce(source: string): string[] {
    return [...this.forPublishedEnqueue, this.onceFences, this.once(source)];
  }

  /** Returns the key that ends a worker's blocking wait, for the worker itself and for a cancel. */
  nudge(worker: string): string {
    return this.nudgePrefix + worker;
  }

  /** Returns the KEYS of a claim of the jobs whose names the claimer handles. */
  forNamedClaim(claimer: string): string[] {
    return [...this.forClaim(claimer), this.sweep, this.names, this.workers];
  }

  forExtendBatch(claimer: string): string[] {
    return [this.jobPrefix, this.claims, this.batch(claimer)];
  }

  forClaim(claimer: string): string[] {
    return [
      this.jobPrefix,
      this.pending,
      this.prioritized,
      this.scheduled,
      this.claims,
      this.wake,
      this.settings,
      this.sequence,
      this.batch(claimer),
      this.groupsPrefix,
    ];
  }
}
