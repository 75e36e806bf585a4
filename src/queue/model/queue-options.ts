import { z } from 'zod';
import type { Backoff } from './backoff.js';
import { isCodec, type JobCodec } from '../codec/codec.js';
import { checkOptions, secretOption } from '../validation/validate-options.js';
import { PREFIX, PREFIX_RULE } from '../validation/names.js';
import { duration, timerDuration, wholeNumber, flag } from '../validation/numbers.js';
import { BOUNDS, boundFields, limitFields, ratesOf, type GroupsOptions, type RateLimit } from './limits.js';
import { limitUsesField, type SharedLimitUse } from './shared-limit.js';
import { DEFAULT_RETRIES, OF_PATTERN, patternRetries, type PatternRetries } from './backoff.js';
import { DEFAULT_STREAM, type StreamOptions } from './job-stream.js';
import { jobFieldsAt, type Durability } from './job-options.js';
import type { Redact } from '../codec/redact.js';

/** The events of a queue beyond the ends of jobs. */
export interface EventExtras {
  /** `completed` carries the result, up to 2,000 bytes of JSON. Set it where the workers are. @default false */
  results?: boolean | undefined;
  /** Publishes each job that an enqueue of a producer added, and no tick or follow-up. Set it in the processes that enqueue. @default false */
  enqueued?: boolean | undefined;
  /** Publishes that no job waits or runs. Set it in the workers. @default false */
  drained?: boolean | undefined;
}

/** Options of one queue. WorkerQueue has the options of a worker's use of the queue. */
export interface QueueOptions {
  /** The time a claim lasts unless the worker extends it, in ms. @default 30,000 */
  visibilityMs?: number | undefined;
  /**
   * The number of times a job is tried in all, the first attempt included.
   * @default 10; 3 for a job of a client of the Redis pattern, or claimed by hand
   */
  maxAttempts?: number | undefined;
  /** The number of attempts that may end in a crash before the job becomes a dead letter. @default 3 */
  maxCrashes?: number | undefined;
  /** The number of times the handler of a job may throw a RateLimitedError before the job is a dead letter. @default 1,000 */
  maxRateLimitRetries?: number | undefined;
  /** The number of times a job may be snoozed before it is a dead letter. @default 1,000 */
  maxSnoozes?: number | undefined;
  /**
   * The time a failed job waits before its next attempt.
   * @default `{ type: 'exponential', delayMs: 1_000, jitter: 0.2 }`. At once for a job of a
   * client of the pattern, or claimed by hand
   */
  backoff?: Backoff | undefined;
  /** The number of completed jobs that are kept. @default 1,000 */
  completedHistory?: number | undefined;
  /** The number of failed jobs in the pattern's `failed` list. The dead letters themselves are kept apart. @default 1,000 */
  failedHistory?: number | undefined;
  /** The number of cancelled jobs that are kept. @default 1,000 */
  cancelledHistory?: number | undefined;
  /**
   * The number of ids of ended jobs that are known until `resultTtlMs` is over, also after their records are gone. Only ids that
   * callers gave count. Each takes up to 150 bytes. Beyond the bound those that expire first are free. @default 500,000
   */
  rememberedIds?: number | undefined;
  /** The number of dead letters that are kept. Beyond that the oldest are deleted. @default 10,000 */
  deadLetterCap?: number | undefined;
  /** The time a dead letter is kept, in ms. 0: until it is removed or redriven. @default 0 */
  deadLetterAgeMs?: number | undefined;
  /**
   * The time a completed job and its result can be read, in ms. It must be in the `completedHistory`, or others wait to read it.
   * Within `rememberedIds`, an id that the caller gave is known for this time in any case. @default 86,400,000
   */
  resultTtlMs?: number | undefined;
  /** The same for a cancelled job and the `cancelledHistory`, in ms. @default `resultTtlMs` */
  cancelledTtlMs?: number | undefined;
  /**
   * Turns payloads, results and progress into what JSON can carry, and back, such as `encrypted()`. The same in all processes of the
   * queue.
   * @default JSON
   */
  codec?: JobCodec | undefined;
  /**
   * Hides parts of payloads, results, progress and checkpoints from the dashboard, the command line and the log. It has the
   * names of fields at any depth, or is a function that returns the visible value. Default: nothing is hidden.
   *
   * @example redact: ['password', 'iban']
   */
  redact?: Redact | undefined;
  /**
   * Returns the kind of an error in the app's own words: the dead letters of one text are one kind. An empty text leaves it to the
   * default. Nobody sees the text. Set it where the workers are.
   *
   * @default name, code and message of the error and its root cause, without ids, numbers, addresses and quoted values
   * @example errorKind: (error) => (error instanceof PaymentError ? error.provider : '')
   */
  errorKind?: ((error: unknown) => string) | undefined;
  /** The largest payload or result, in bytes of JSON. @default 1,048,576 */
  maxPayloadBytes?: number | undefined;
  /** The condition for events: only with a subscriber (`listened`), `always`, or `off`. @default `listened` */
  events?: 'listened' | 'always' | 'off' | undefined;
  /** Events other than the ends of jobs. Each costs the jobs of the queue a little. @default nothing */
  eventExtras?: EventExtras | undefined;
  /**
   * The time a claim of a client of the Redis pattern lasts, in ms. It counts from the first sweep that sees it.
   * @default `visibilityMs`
   */
  foreignVisibilityMs?: number | undefined;
  /**
   * The time a job waits for a worker that handles its name before it becomes a dead letter, in ms. It counts from the
   * last announcement of such a worker. At most a day. 0: without a limit.
   * @default 86,400,000
   */
  unhandledAgeMs?: number | undefined;
  /**
   * The time an enqueue or a read may take before it fails, in ms. It may take longer while its bytes move over a slow
   * link.
   * @default 5,000
   */
  enqueueTimeoutMs?: number | undefined;
  /**
   * The acknowledgement of an enqueue. `memory`: once the master has the job in memory. `replica`: once `replicas`
   * replicas have it too. A single enqueue can also set it.
   * @default `memory`
   */
  durability?: Durability | undefined;
  /** The number of replicas that must have a job, for `durability: 'replica'`. @default 1 */
  replicas?: number | undefined;
  /** The time to wait for them before the enqueue fails with a DurabilityTimeoutError, in ms. @default 1,000 */
  durabilityTimeoutMs?: number | undefined;
  /**
   * The wait of a claimable job from which the queue is late, in ms. Health, dashboard, command line and notices warn of it.
   * They warn earlier if a job waits for over a minute and ten times as long as usual. Jobs that a pause, a group or a limit
   * holds back do not count. Set it where the workers are.
   * @default 300,000, or three usual run times if these are longer
   */
  lateAfterMs?: number | undefined;
  /** True if figures of each minute are kept for 72 hours, see `JobQueue.history`. @default true */
  history?: boolean | undefined;
  /** How the chunks that handlers write by `job.stream` are kept. Set it where the workers are. */
  stream?: StreamOptions | undefined;
  /**
   * Records each transition of a job in a Redis Stream of about `maxEntries` entries (1,000 to 100,000,000; default
   * 100,000). See `JobQueue.auditTrail`. It must be the same in all processes of the queue.
   * @default nothing is recorded
   */
  auditTrail?: { maxEntries?: number | undefined } | undefined;
  /**
   * Keeps one line for each ended job, beyond its record: `JobQueue.outcome`. About the last `cap` (1,000 to 10,000,000;
   * default 100,000), each for `ageMs` (at least 60,000; default two days). It must be the same in all processes of the queue.
   * @default nothing is kept
   */
  outcomes?: { cap?: number | undefined; ageMs?: number | undefined } | undefined;
  /** The number of jobs of the queue that run at once over all workers of the fleet. @default without a limit */
  maxRunning?: number | undefined;
  /**
   * The number of jobs of the queue that start in a period, over all workers of the fleet. A list has up to eight rates, which all
   * hold. It makes a limit of the queue's own, named `@queue:` and the queue's name. So each claim takes one more round trip, and an
   * enqueue has no `cost`.
   * @default without a limit
   * @example rateLimit: [{ limit: 60, periodMs: 60_000 }, { limit: 1_000, periodMs: 3_600_000, burst: 10 }]
   */
  rateLimit?: RateLimit | readonly RateLimit[] | undefined;
  /**
   * The limits that this queue shares with others, at most eight, by their names. With `{ limit, cost }` each job counts as
   * several starts, or as many as its enqueue says by `limitCosts`. A job starts once each has a permit for it. Their values are in `forRoot({ limits })`, or in the options of the Worker.
   *
   * @default none
   * @example limits: ['openai', { limit: 'crm', cost: 3 }]
   */
  limits?: readonly (string | SharedLimitUse)[] | undefined;
  /** The limits of each group of jobs that take turns. @default weight 1, without limits */
  groups?: GroupsOptions | undefined;
  /**
   * The most jobs that may wait in the queue. This process's enqueues beyond it throw a QueueFullError. Scheduled jobs count too.
   * @default no limit
   */
  maxPending?: number | undefined;
  /**
   * The most bytes of payload that may wait in the queue, as stored; estimated where more than 50 jobs wait. This process's enqueues
   * beyond it throw a QueueFullError.
   * @default no limit
   */
  maxPendingBytes?: number | undefined;
  /**
   * The effect of an enqueue on a full queue or group. `refuse`: it throws a QueueFullError. `drop-oldest`: it cancels the oldest
   * waiting jobs within that bound, at most 100, until the new job fits. A job with a start time, or that waits for others, is
   * never dropped. Jobs of the outbox wait for room in any case.
   * @default `refuse`
   */
  onFull?: 'refuse' | 'drop-oldest' | undefined;
  /** The start of every key. @default `queue` */
  prefix?: string | undefined;
  /** Wraps the name in braces, so that all keys of a queue are in one slot. @default only on a Redis Cluster */
  hashTag?: boolean | undefined;
}

/** The options whose defaults follow from other options. */
type DerivedOption = 'maxAttempts' | 'backoff' | 'cancelledTtlMs' | 'foreignVisibilityMs';

/** The options of a queue with its defaults. */
export type ResolvedQueueOptions = Omit<z.output<typeof queueOptionsSchema>, DerivedOption | 'rateLimit'> &
  Required<Pick<QueueOptions, DerivedOption>> & {
    /** The retries that are not set, for jobs of clients of the Redis pattern and for claims by hand. @internal */
    [OF_PATTERN]: PatternRetries;
    /** The rate that the scripts of the queue keep. */
    rateLimit: RateLimit | undefined;
    /** The rates of a queue with several, which a limit of its own keeps. */
    rates: readonly RateLimit[] | undefined;
  };

/** The wait from which a queue is late by default, in ms. */
export const LATE_AFTER_MS = 300_000;
/** The shortest time that the line of an ended job may be kept, in ms. */
export const SHORTEST_OUTCOME_MS = 60_000;

const switchField = flag.optional();

/** The options of its jobs that a queue sets too. */
const ofJob = jobFieldsAt('queue');

/** The fields of QueueOptions, each with its bounds and default, to be used in the schemas of forRoot and others. */
export const queueOptionFields = {
  visibilityMs: duration(100).default(30_000),
  maxAttempts: ofJob.maxAttempts,
  maxCrashes: ofJob.maxCrashes.unwrap().default(3),
  maxRateLimitRetries: ofJob.maxRateLimitRetries.unwrap().default(1_000),
  maxSnoozes: ofJob.maxSnoozes.unwrap().default(1_000),
  backoff: ofJob.backoff,
  completedHistory: wholeNumber(0, 1_000_000).default(1_000),
  failedHistory: wholeNumber(0, 1_000_000).default(1_000),
  cancelledHistory: wholeNumber(0, 1_000_000).default(1_000),
  rememberedIds: wholeNumber(0, 10_000_000).default(500_000),
  deadLetterCap: wholeNumber(1, 10_000_000).default(10_000),
  deadLetterAgeMs: duration(0).default(0),
  resultTtlMs: ofJob.resultTtlMs.unwrap().default(86_400_000),
  cancelledTtlMs: duration(1).optional(),
  codec: secretOption(
    z
      .custom<JobCodec>((value) => isCodec(value), {
        error: 'expected { name, encode, decode }, with a name of 1 to 32 of a-z 0-9 -',
      })
      .optional(),
  ),
  redact: z
    .custom<Redact>((value) => isRedact(value), { error: 'expected names of fields, or a function' })
    .optional(),
  errorKind: z
    .custom<(error: unknown) => string>((value) => typeof value === 'function', {
      error: 'expected a function of an error that returns text',
    })
    .optional(),
  maxPayloadBytes: wholeNumber(1, 512 * 1024 * 1024, ' bytes').default(1_048_576),
  events: z
    .enum(['listened', 'always', 'off'], { error: "expected 'listened', 'always' or 'off'" })
    .default('listened'),
  eventExtras: z
    .strictObject(
      { results: switchField, enqueued: switchField, drained: switchField },
      { error: 'expected { results?, enqueued?, drained? }' },
    )
    .optional(),
  foreignVisibilityMs: duration(100).optional(),
  unhandledAgeMs: wholeNumber(0, 86_400_000, ' ms').default(86_400_000),
  enqueueTimeoutMs: timerDuration(1).default(5_000),
  durability: ofJob.durability.unwrap().default('memory'),
  replicas: wholeNumber(1, 100).default(1),
  durabilityTimeoutMs: wholeNumber(1, 3_600_000, ' ms').default(1_000),
  lateAfterMs: duration(1_000).default(LATE_AFTER_MS),
  history: flag.default(true),
  stream: z
    .strictObject(
      {
        maxBytes: wholeNumber(1_024, 67_108_864, ' bytes').default(DEFAULT_STREAM.maxBytes),
        maxAgeMs: duration(1_000).default(DEFAULT_STREAM.maxAgeMs),
        onRetry: z
          .enum(['continue', 'restart'], { error: "expected 'continue' or 'restart'" })
          .default(DEFAULT_STREAM.onRetry),
      },
      { error: 'expected { maxBytes?, maxAgeMs?, onRetry? }' },
    )
    .default(DEFAULT_STREAM),
  auditTrail: z
    .strictObject(
      { maxEntries: wholeNumber(1_000, 100_000_000).default(100_000) },
      { error: 'expected { maxEntries? }' },
    )
    .optional(),
  outcomes: z
    .strictObject(
      {
        cap: wholeNumber(1_000, 10_000_000).default(100_000),
        ageMs: duration(SHORTEST_OUTCOME_MS).default(172_800_000),
      },
      { error: 'expected { cap?, ageMs? }' },
    )
    .optional(),
  ...limitFields,
  limits: limitUsesField.optional(),
  ...boundFields,
  onFull: z.enum(['refuse', 'drop-oldest'], { error: "expected 'refuse' or 'drop-oldest'" }).default('refuse'),
  prefix: z.string({ error: 'expected text' }).regex(PREFIX, `expected ${PREFIX_RULE}`).default('queue'),
  hashTag: flag.optional(),
};

/** The options of a queue that the handler of a queue of its own may set. */
export const OWN_QUEUE_OPTIONS = [
  'visibilityMs',
  'limits',
  ...(Object.keys(limitFields) as (keyof typeof limitFields)[]),
  ...BOUNDS,
  'onFull',
  'stream',
] as const;
/** These options. */
export type OwnQueueOptions = Pick<QueueOptions, (typeof OWN_QUEUE_OPTIONS)[number]>;

function isRedact(value: unknown): boolean {
  const isNames = Array.isArray(value) && value.every((name) => typeof name === 'string' && name !== '');
  return isNames || typeof value === 'function';
}

const queueOptionsSchema = z.strictObject(queueOptionFields, { error: 'expected an object of queue options' });

/**
 * Fills in the defaults of a queue's options and checks them.
 *
 * @throws InvalidOptionError that names the option
 */
export function resolveQueueOptions(subject: string, options: QueueOptions = {}): ResolvedQueueOptions {
  const checked = checkOptions(subject, queueOptionsSchema, options);
  const rates = ratesOf(checked);
  return {
    ...checked,
    rateLimit: rates.length === 1 ? rates[0] : undefined,
    rates: rates.length > 1 ? rates : undefined,
    maxAttempts: checked.maxAttempts ?? DEFAULT_RETRIES.maxAttempts,
    backoff: checked.backoff ?? DEFAULT_RETRIES.backoff,
    [OF_PATTERN]: patternRetries(checked),
    cancelledTtlMs: checked.cancelledTtlMs ?? checked.resultTtlMs,
    foreignVisibilityMs: checked.foreignVisibilityMs ?? checked.visibilityMs,
  };
}

/** Returns the attempts of a job that is claimed by hand, or whose name no worker has announced. @internal */
export function attemptsByHand(options: ResolvedQueueOptions): number {
  return options[OF_PATTERN].maxAttempts ?? options.maxAttempts;
}
