import type { BATCH_PARTS } from '../model/batch.js';
import type { QueueOptions } from '../model/queue-options.js';
import { checkQueueName, PARTS_BEFORE_IDS } from '../validation/names.js';

/** Options that decide how the keys of a queue are spelled. */
type KeyOptions = Pick<QueueOptions, 'prefix' | 'hashTag'>;

/** The start of the keys of one queue. */
class KeyBase {
  /** The start of every key of the queue. Keys of other queues may begin with it too, see `owns`. */
  readonly base: string;
  /** The names of the queues of this Redis, outside the keys of each. */
  readonly register: string;

  constructor(
    readonly queue: string,
    { prefix = 'queue', hashTag = false }: KeyOptions = {},
  ) {
    checkQueueName(queue);
    this.base = `${prefix}:${hashTag ? `{${queue}}` : queue}:`;
    this.register = `${prefix}:queues`;
  }
}

/**
 * The names of all keys of one queue, and the only place that spells them.
 * The lists that scripts take as KEYS are built here too, in the order of the scripts' headers.
 */
export class QueueKeys extends KeyBase {
  /** The start of every job's key, before the job's id. */
  readonly jobPrefix = `${this.base}job:`;
  readonly pending = `${this.base}pending`;
  readonly prioritized = `${this.base}prioritized`;
  readonly scheduled = `${this.base}scheduled`;
  readonly claims = `${this.base}claims`;
  readonly processing = `${this.base}processing`;
  readonly completed = `${this.base}completed`;
  readonly failed = `${this.base}failed`;
  readonly cancelled = `${this.base}cancelled`;
  readonly dead = `${this.base}dead`;
  readonly unique = `${this.base}unique`;
  readonly uniqueExpiries = `${this.base}unique_expiries`;
  /** The start of the key of a replacement, before the request or the id that replaced. */
  readonly replacedPrefix = `${this.base}replaced:`;
  readonly stats = `${this.base}stats`;
  readonly sequence = `${this.base}sequence`;
  readonly wake = `${this.base}wake`;
  /** The idle workers that a script wakes over their channels, in a Cluster. */
  readonly waiters = `${this.base}waiters`;
  readonly events = `${this.base}events`;
  readonly settings = `${this.base}settings`;
  readonly sweep = `${this.base}sweep`;
  readonly maintainers = `${this.base}maintainers`;
  readonly workers = `${this.base}workers`;
  readonly workerDetails = `${this.base}worker_details`;
  readonly foreignClaims = `${this.base}foreign_claims`;
  readonly handlerLimits = `${this.base}handler_limits`;
  readonly scheduleDue = `${this.base}schedule_due`;
  readonly scheduleOwners = `${this.base}schedule_owners`;
  /** The start of every schedule's key, before its id. */
  readonly schedulePrefix = `${this.base}schedule:`;
  readonly actions = `${this.base}actions`;
  readonly bulkRuns = `${this.base}bulk_runs`;
  readonly audit = `${this.base}audit`;
  /** The lines of ended jobs: one of both gets the new ones, see `lua/lib/audit/outcomes.lua`. */
  readonly outcomesA = `${this.base}outcomes_a`;
  readonly outcomesB = `${this.base}outcomes_b`;
  readonly historyOpen = `${this.base}history_open`;
  readonly history = `${this.base}history`;
  readonly historyMarks = `${this.base}history_marks`;
  /** The start of the key of a batch of times, before the worker's id. */
  readonly historyBatchPrefix = `${this.base}history_batch:`;
  readonly retention = `${this.base}retention`;
  readonly names = `${this.base}names`;
  /** The start of a nudge's key, before the worker's id. */
  readonly nudgePrefix = `${this.base}nudge:`;
  /** The batches of this queue. */
  readonly batches = `${this.base}batches`;
  /** The batches that have not ended, by the time of their creation; `lua/lib/batch/by_age.lua` spells it too. */
  readonly batchesByAge = `${this.base}batches_by_age`;
  /** The batches that have ended, as long as their records are there; `lua/lib/batch/end_batch.lua` spells it too. */
  readonly batchesEnded = `${this.base}batches_ended`;
  /** The start of a batch's keys, before its id. */
  readonly batchRecordPrefix = `${this.base}batch_record:`;
  readonly remoteMembers = `${this.base}remote_members`;
  readonly batchOutbox = `${this.base}batch_outbox`;
  readonly awaiting = `${this.base}awaiting`;
  /** The largest fence of each source of entries. */
  readonly onceFences = `${this.base}once_fences`;
  /** The start of the key with the marks of a source's entries, before the source. */
  readonly oncePrefix = `${this.base}once:`;
  /** The start of the keys of groups; `docs/internals/groups.md` lists them. */
  readonly groupsPrefix = `${this.base}groups:`;

  /** The kinds of error of the dead letters; `docs/internals/error-kinds.md` says how they are counted. */
  readonly errorKinds = `${this.base}error_kinds`;

  /** The record of the alerts that were told. */
  readonly alerts = `${this.base}alerts`;

  /** The KEYS of every script outside the hot path; `lua/lib/core/keys.lua` names them. */
  readonly standard: readonly string[] = [
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
    this.remoteMembers,
    this.batchOutbox,
    this.awaiting,
    this.groupsPrefix,
    this.errorKinds,
  ];
  /** The first KEYS of an enqueue: jobs without options pass no others. */
  readonly forPlainEnqueue: readonly string[] = [
    this.jobPrefix,
    this.pending,
    this.wake,
    this.stats,
    this.settings,
  ];
  readonly forEnqueue: readonly string[] = [
    ...this.forPlainEnqueue,
    this.prioritized,
    this.scheduled,
    this.sequence,
    this.unique,
    this.uniqueExpiries,
    this.replacedPrefix,
    this.batchRecordPrefix,
    this.remoteMembers,
    this.awaiting,
    this.groupsPrefix,
    this.sweep,
  ];
  readonly forPublishedEnqueue: readonly string[] = [...this.forEnqueue, this.events];
  readonly forComplete: readonly string[] = [
    this.jobPrefix,
    this.claims,
    this.completed,
    this.stats,
    this.unique,
    this.events,
  ];
  /** The KEYS of a queue with limits, where each end frees a slot. */
  readonly forLimitedComplete: readonly string[] = [...this.forComplete, this.wake];
  /** The KEYS for jobs with a batch or with jobs that wait for them, none of which is plain. */
  readonly forFollowedComplete: readonly string[] = [
    ...this.forLimitedComplete,
    this.scheduled,
    this.settings,
    this.sequence,
    this.batches,
    this.batchRecordPrefix,
    this.remoteMembers,
    this.batchOutbox,
    this.awaiting,
    this.groupsPrefix,
  ];
  readonly forExtend: readonly string[] = [this.jobPrefix, this.claims, this.sweep];
  readonly forStart: readonly string[] = [this.jobPrefix];

  /** Returns whether a key is of this queue. The key of another queue, such as `queue:report:eu:pending`, is not. */
  owns(key: string): boolean {
    if (!key.startsWith(this.base)) {
      return false;
    }
    const rest = key.slice(this.base.length);
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

  forDeadLettersOnce(source: string): string[] {
    const { jobPrefix, dead, stats, errorKinds, retention, onceFences } = this;
    return [jobPrefix, dead, stats, errorKinds, retention, onceFences, this.once(source)];
  }

  /** Returns the key that ends a worker's blocking wait, for the worker itself and for a cancel. */
  nudge(worker: string): string {
    return this.nudgePrefix + worker;
  }

  /** Returns the KEYS of a claim of the jobs whose names the claimer handles. */
  forNamedClaim(claimer: string): string[] {
    return [...this.forClaim(claimer), this.names, this.workers];
  }

  /** Returns the sharded channel of a worker in this queue; `lua/lib/waiters/wake.lua` spells it too. */
  wakeChannel(worker: string): string {
    return `${this.wake}:${worker}`;
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
      this.sweep,
    ];
  }
}
