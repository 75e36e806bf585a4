import type { BATCH_PARTS } from '../model/batch.js';
import type { QueueOptions } from '../model/queue-options.js';
import {
  KEYS,
  PARTS,
  PARTS_BEFORE_IDS,
  PLACES,
  type Place,
  SHARED_LIMIT_KEYS,
  STANDARD_KEYS,
} from '../validation/key-table.js';
import { checkQueueName } from '../validation/names.js';

/** Options that decide how the keys of a queue are spelled. */
type KeyOptions = Pick<QueueOptions, 'prefix' | 'hashTag'>;

/** Announces a cancel to a worker. Scripts add it to its nudge key, and publish it on its wake channel. */
export const CANCEL_MARKER = 'cancel';

/** The start of the keys of one queue. */
class KeyBase {
  /** The start of every key of the queue. Keys of other queues may begin with it too, see `owns`. */
  readonly base: string;
  /** The names of the queues of this Redis, outside the keys of each. */
  readonly register: string;
  /** The subscriptions of the topics of this Redis. */
  readonly topics: string;
  /** The name of the queue as its keys have it, with braces around a hash tag. */
  readonly spelled: string;
  private readonly prefix: string;

  constructor(
    readonly queue: string,
    { prefix = 'queue', hashTag = false }: KeyOptions = {},
  ) {
    checkQueueName(queue);
    this.prefix = prefix;
    this.spelled = hashTag ? `{${queue}}` : queue;
    this.base = `${prefix}:${this.spelled}:`;
    this.register = `${prefix}:queues`;
    this.topics = `${prefix}:topics`;
  }

  /** Returns the keys of a limit that queues share. They are in one slot, which is not that of a queue. */
  sharedLimit(name: string): string[] {
    return Object.values(SHARED_LIMIT_KEYS).map(([part]) => `${this.prefix}:limit:{${name}}${part}`);
  }
}

// A getter each, because most keys of a queue are read seldom.
for (const [field, [part]] of Object.entries(KEYS)) {
  Object.defineProperty(KeyBase.prototype, field, {
    get(this: KeyBase) {
      return this.base + part;
    },
  });
}

/** The keys of one queue, by their fields in the table. */
type Keys = KeyBase & { readonly [Field in keyof typeof KEYS]: string };

/**
 * The names of all keys of one queue, spelled by the table `KEYS`.
 * The lists that scripts take as KEYS are built here too, in the order of the scripts' headers.
 */
export class QueueKeys extends (KeyBase as new (...options: ConstructorParameters<typeof KeyBase>) => Keys) {
  /** The KEYS of every script outside the hot path; `lua/lib/core/keys.lua` names them. */
  readonly standard: readonly string[] = Object.values(STANDARD_KEYS).map(([part]) => this.base + part);
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
    this.endedIds,
    this.keptResults,
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
    this.endedIds,
    this.keptResults,
  ];
  private readonly beforeClaimer: readonly string[] = [
    this.jobPrefix,
    this.pending,
    this.prioritized,
    this.scheduled,
    this.claims,
    this.wake,
    this.settings,
    this.sequence,
  ];
  private readonly batchStart = this.batchPrefix; // kept, because each claim needs it
  private readonly afterClaimer: readonly string[] = [this.groupsPrefix, this.sweep];
  readonly forExtend: readonly string[] = [this.jobPrefix, this.claims, this.sweep];
  readonly forStart: readonly string[] = [this.jobPrefix];

  /** Returns whether a key is of this queue. The key of another queue, such as `queue:report:eu:pending`, is not. */
  owns(key: string): boolean {
    if (!key.startsWith(this.base)) {
      return false;
    }
    const rest = key.slice(this.base.length);
    return PARTS.has(rest) || PARTS_BEFORE_IDS.some((part) => rest.startsWith(`${part}:`));
  }

  /** Returns the key of one job's hash. */
  job(id: string): string {
    return this.jobPrefix + id;
  }

  /** Returns the key of one schedule's hash. */
  schedule(id: string): string {
    return this.schedulePrefix + id;
  }

  /** Returns the key of one job's stream, which is its channel too. */
  stream(id: string): string {
    return this.streamPrefix + id;
  }

  /** Returns a key of one batch with a follow-up. */
  batchRecord(id: string, part?: (typeof BATCH_PARTS)[number]): string {
    return this.batchRecordPrefix + id + (part ? `/${part}` : '');
  }

  /** Returns the key with a claimer's last batch, so that a repeated claim gets the same jobs. */
  batch(claimer: string): string {
    return this.batchStart + claimer;
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
    return this.beforeClaimer.concat(this.batch(claimer), this.afterClaimer);
  }
}

export function keyOf(keys: QueueKeys, place: Place): string {
  return keys.base + PLACES[place][0];
}
