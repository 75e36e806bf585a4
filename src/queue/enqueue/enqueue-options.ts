// The options of an enqueue, and the contradictions among them. model/job-options.ts has the table of them.
import { z } from 'zod';
import type { StoredBackoff } from '../model/backoff.js';
import { jobFieldsAt, type Durability } from '../model/job-options.js';
import { checkOptions } from '../validation/validate-options.js';
import { beforeStart } from '../store/enqueue-call.js';
import type { StoredIn } from '../store/outbox-writer.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { JobReference } from '../model/batch.js';
import type { JobMetadata } from '../model/metadata.js';
import { show } from '../errors/show.js';

/** The options of a job, for an enqueue or a schedule. */
export interface JobRules {
  /** 0 to 1,000; higher is more urgent. @default 0 */
  priority?: number | undefined;
  /** The number of times the job is tried in all. @default the handler's, else the queue's */
  maxAttempts?: number | undefined;
  /** The number of attempts that may end in a crash of the worker. @default the handler's, else the queue's */
  maxCrashes?: number | undefined;
  /** The time a failed job waits before its next attempt. @default the handler's, else the queue's */
  backoff?: StoredBackoff | undefined;
  /** The time one attempt may run, in ms. @default the handler's, else without a limit */
  timeoutMs?: number | undefined;
  /**
   * How much of the `concurrency` the job takes, 1 to 1,000, up to the `most` of its handler. Only where the `slots` of the handler are
   * a range.
   * @default the handler's
   */
  slots?: number | undefined;
  /**
   * The group of the job, such as a tenant, a customer or a file. Groups take turns, and can have their own limits.
   * @default none; the jobs without a group are one group
   */
  group?: string | undefined;
  /**
   * What the job costs of limits that its queue shares, by their names, such as `{ openai: 3 }`. Only of a limit whose `cost` is a
   * range in the code of the queue.
   * @default the default of the range
   */
  limitCosts?: Readonly<Record<string, number>> | undefined;
  /** True if the handler's result is stored. @default the handler's, else true */
  keepResult?: boolean | undefined;
  /** The time the completed or cancelled job can be read, in ms. @default the handler's, else the queue's */
  resultTtlMs?: number | undefined;
}

/** The start of a job: after a delay, at a time, or at once. Not both. */
export type StartTime =
  | {
      /** The delay before the start, in ms, at most a year. Not with `runAt`. */
      delayMs?: number | undefined;
      runAt?: undefined;
    }
  | {
      delayMs?: undefined;
      /** Start at this time: a Date or epoch ms, at most a year ahead by the clock of this process. Not with `delayMs`. */
      runAt?: Date | number | undefined;
    };

/** Options of one enqueue, but for the start of its job. */
export interface EnqueueFields extends JobRules {
  /** The name of the handler, in a queue that several share. @default the queue's name */
  name?: string | undefined;
  /** An id of your own: enqueueing it again while the job is known adds nothing. @default a random one */
  id?: string | undefined;
  /** Fails the job if it has not started within this many ms. Must be longer than the delay. */
  expiresInMs?: number | undefined;
  /** Allows one job at a time for a key. It holds the key while it waits, until it ends, or for a number of ms. */
  unique?: UniqueOptions | undefined;
  /**
   * Small texts that travel with the job, such as a trace context: at most 32, of 8,192 characters in all. The handler reads
   * them as `job.metadata`.
   */
  metadata?: JobMetadata | undefined;
  /** True if the job goes before the waiting jobs; its retries go to the back. Not with `priority`. @default false */
  lifo?: boolean | undefined;
  /** The share of the queue's `rateLimit` that the job takes, at most its burst. @default 1 */
  cost?: number | undefined;
  /**
   * The jobs, at most 100, that must complete before this one starts. `delayMs` counts from then. Each is the id of a job of
   * the same queue, the handle of a job, or `{ queue, id }`. If one fails, is cancelled or is deleted, this job fails
   * without being started.
   */
  after?: readonly (string | JobReference)[] | undefined;
  /** @internal The batch that the job joins; see Batch.add. */
  batch?: string | undefined;
  /** @internal The running member of the batch that adds it: its queue ('' for this one), its id and its token. */
  addedBy?: [queue: string, id: string, token: string] | undefined;
  /** @internal Whether its bad end stops its batch, which is of the same queue. */
  stopsBatch?: boolean | undefined;
  /** True if the enqueue waits until replicas have the job. @default the queue's */
  durability?: Durability | undefined;
}

/** Options of one enqueue. */
export type EnqueueOptions = EnqueueFields & StartTime;

/** Options of which code without types, or a stored row, may have two that exclude each other. */
type UncheckedOptions = EnqueueFields & Pick<EnqueueOptions, 'delayMs' | 'runAt'>;

/** Keeps a second job with the same key away. */
export interface UniqueOptions {
  /** At most one job of the queue holds it at a time. */
  key: string;
  /** The time the job holds the key: until its claim, until its end, or for a time from the enqueue. */
  for: 'pending' | 'unfinished' | { ms: number };
  /**
   * `keep`: the existing job stays. `replace`: while it waits, it gets the new payload, name and options, and starts
   * again with all its attempts. `cancel-running`: a running one is asked to stop, and the new job starts after its
   * end; only for `unfinished`.
   * @default `keep`
   */
  onConflict?: 'keep' | 'replace' | 'cancel-running' | undefined;
  /**
   * The one of two waiting jobs that stays. `oldest`: the new job is not added. `newest`: the waiting job is cancelled,
   * and the new one is added. Not with `replace`.
   * @default `oldest`; `newest` with `cancel-running`
   */
  keep?: 'oldest' | 'newest' | undefined;
  /**
   * The longest wait of a job that is replaced again and again, from its first enqueue, in ms. Needs `replace` and a
   * `delayMs` that is not longer.
   * @default none: each replacement starts the delay again
   */
  maxDelayMs?: number | undefined;
}

const enqueueOptionsSchema = z.strictObject(jobFieldsAt('enqueue'), {
  error: 'expected an object of enqueue options',
});

/**
 * Checks each option separately.
 *
 * @param subject how errors name it
 * @throws InvalidOptionError
 */
export function checkEnqueueOptions(subject: string, options: EnqueueOptions): EnqueueOptions {
  return checkOptions(subject, enqueueOptionsSchema, options) as EnqueueOptions;
}

/**
 * Refuses options that contradict each other.
 *
 * @param subject how errors name it
 * @throws InvalidOptionError
 */
export function refuseContradictions(subject: string, options: UncheckedOptions): void {
  const { delayMs, runAt } = options;
  if (delayMs !== undefined && runAt !== undefined) {
    throw new InvalidOptionError(subject, 'delayMs or runAt', `both (${delayMs}, ${show(String(runAt))})`);
  }
  refuseBesideLifo(subject, options);
  refuseExpiryBeforeStart(subject, options);
  refuseBesideAfter(subject, options);
  refuseUnboundedDelay(subject, options);
  refuseKeepAndConflict(subject, options);
  refuseStopOfFreeKey(subject, options);
}

/** Refuses `lifo` beside an option that has its own order. */
function refuseBesideLifo(subject: string, options: UncheckedOptions): void {
  const other = options.lifo && (['priority', 'group', 'after'] as const).find((option) => options[option]);
  if (other) {
    throw new InvalidOptionError(`${subject}.lifo`, `lifo or ${other}`, 'both');
  }
}

/** Refuses an expiry before the end of `delayMs`, which depends on no clock. The server checks `runAt`. */
function refuseExpiryBeforeStart(subject: string, { expiresInMs, delayMs }: UncheckedOptions): void {
  if (expiresInMs !== undefined && delayMs !== undefined && expiresInMs <= delayMs) {
    throw new InvalidOptionError(`${subject}.expiresInMs`, beforeStart(delayMs, 'of delayMs'), show(expiresInMs));
  }
}

/** Refuses `runAt` and `unique` beside `after`: a start time and a replaced job would not wait for other jobs. */
function refuseBesideAfter(subject: string, { after, runAt, unique }: UncheckedOptions): void {
  const other = runAt !== undefined ? 'runAt' : unique !== undefined ? 'unique' : undefined;
  if (after !== undefined && other !== undefined) {
    throw new InvalidOptionError(subject, `after or ${other}`, 'both', 'With `after`, use delayMs.');
  }
}

/** Refuses `keep` beside an `onConflict` that says something else of the waiting job. */
function refuseKeepAndConflict(subject: string, { unique }: UncheckedOptions): void {
  const { keep, onConflict } = unique ?? {};
  if (keep !== undefined && (onConflict === 'replace' || (onConflict === 'keep' && keep === 'newest'))) {
    throw new InvalidOptionError(
      `${subject}.unique.keep`,
      'keep or onConflict',
      `both (${show(keep)}, ${show(onConflict)})`,
      "`keep: 'newest'` cancels the waiting job and adds the new one; `onConflict: 'replace'` changes the waiting one.",
    );
  }
}

/** Refuses `cancel-running` for a key that a running job does not hold, and beside `runAt`. */
function refuseStopOfFreeKey(subject: string, { unique, runAt }: UncheckedOptions): void {
  if (unique?.onConflict !== 'cancel-running') {
    return;
  }
  if (unique.for !== 'unfinished') {
    throw new InvalidOptionError(
      `${subject}.unique.for`,
      "'unfinished' beside onConflict: 'cancel-running'",
      show(unique.for),
      "With 'pending' a running job has given its key up. With { ms } an ended one may hold it.",
    );
  }
  if (runAt !== undefined) {
    throw new InvalidOptionError(
      subject,
      "runAt or unique.onConflict: 'cancel-running'",
      'both',
      'The job starts after the end of the stopped one. Use delayMs for a time behind that.',
    );
  }
}

/** Refuses a longest wait of a job that waits for nothing, or that no later enqueue delays. */
function refuseUnboundedDelay(subject: string, { unique, delayMs }: UncheckedOptions): void {
  const { maxDelayMs, onConflict } = unique ?? {};
  if (maxDelayMs === undefined) {
    return;
  }
  if (onConflict !== 'replace') {
    throw new InvalidOptionError(
      `${subject}.unique.maxDelayMs`,
      "onConflict: 'replace' beside it",
      show(onConflict ?? 'keep'),
      'Only a replacement delays a waiting job again. Leave `maxDelayMs` out.',
    );
  }
  if (delayMs === undefined || delayMs > maxDelayMs) {
    throw new InvalidOptionError(
      `${subject}.unique.maxDelayMs`,
      'at least the delayMs beside it',
      delayMs === undefined ? 'no delayMs' : `${maxDelayMs}, below delayMs ${delayMs}`,
      'The job starts `delayMs` after its last enqueue, and at most `maxDelayMs` after its first one.',
    );
  }
}

/**
 * Returns in which transaction the jobs of a call are stored; undefined without one.
 *
 * @throws InvalidOptionError for an order without a transaction
 */
export function storedIn(
  subject: string,
  { transaction, ordered }: { transaction?: object | undefined; ordered?: boolean | undefined },
): StoredIn | undefined {
  if (ordered !== undefined && (typeof ordered !== 'boolean' || transaction === undefined)) {
    const hint = 'Jobs that go to Redis at once are in the order of their enqueues.';
    throw new InvalidOptionError(`${subject}.ordered`, 'true or false, beside `transaction`', show(ordered), hint);
  }
  return transaction === undefined ? undefined : { transaction, ...(ordered && { ordered }) };
}
