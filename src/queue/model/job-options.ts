// The options of a job. Types, checks, encoding, decoding and the lists of options follow from this table.
import { z } from 'zod';
import { LONGEST_TIMER_MS } from '../runtime/bounds.js';
import { isId, isQueueName, SCHEDULE_PREFIX } from '../validation/names.js';
import { duration, timerDuration, wholeNumber, flag } from '../validation/numbers.js';
import { runAtSchema } from '../validation/run-at.js';
import { notSuggested } from '../validation/validate-options.js';
import { backoffSchema, storedBackoffSchema } from './backoff.js';
import type { JobReference } from './batch.js';
import { groupName } from './group.js';
import { limitCostsField } from './shared-limit.js';
import { metadataSchema, readMetadata, type JobMetadata } from './metadata.js';
import { handlerSlotsSchema, slotsSchema } from './slots.js';

/** The place where a job must be stored before its enqueue is acknowledged. */
export type Durability = 'memory' | 'replica';

/** The places where an option of a job may be set. */
type JobOptionPlace = 'enqueue' | 'definition' | 'handler' | 'queue' | 'follow-up' | 'schedule';

/** An option of a job. Without `script` and `worker` it is read before the job is encoded, or travels beside the options. */
export interface JobOption {
  /** Checks a value. Errors name its unit. */
  readonly schema: z.ZodType;
  /** Checks a value in code: in a definition, a handler or a queue. @default `schema` */
  readonly inCode?: z.ZodType;
  readonly places: readonly JobOptionPlace[];
  /** The value that means the same as none, and is not sent. */
  readonly none?: unknown;
  /** Its field in the options that scripts read, or a function that returns its fields. */
  readonly script?: string | ((value: never) => object);
  /** Its field in the options that the worker reads, and the check of a stored value. */
  readonly worker?: { readonly field: string; readonly stored: z.ZodType };
  /** Returns the sent value; undefined for none. @default the value */
  readonly encode?: (value: never) => unknown;
  /** Returns the value of a sent one. @default the sent one */
  readonly decode?: (sent: never) => unknown;
}

const text = z.string({ error: 'expected text' });
/** The number of times a job may be snoozed, or its handler may throw a RateLimitedError. */
const releases = wholeNumber(1, 1_000_000);

const UNIQUE_KEY = 'expected text of 1 to 512 characters';
const uniqueSchema = z.strictObject(
  {
    key: text
      .min(1, UNIQUE_KEY)
      .max(512, UNIQUE_KEY)
      .refine((key) => !/\p{Surrogate}/u.test(key), 'expected well-formed text')
      .refine(
        (key) => !key.startsWith(SCHEDULE_PREFIX),
        `expected text that does not begin with ${SCHEDULE_PREFIX}, which is for schedules`,
      ),
    for: z.union([z.enum(['pending', 'unfinished']), z.strictObject({ ms: duration(1) })], {
      error: "expected 'pending', 'unfinished' or { ms }",
    }),
    onConflict: z
      .enum(['keep', 'replace', 'cancel-running'], { error: "expected 'keep', 'replace' or 'cancel-running'" })
      .optional(),
    keep: z.enum(['oldest', 'newest'], { error: "expected 'oldest' or 'newest'" }).optional(),
    maxDelayMs: duration(1).optional(),
  },
  { error: 'expected { key, for, onConflict?, keep?, maxDelayMs? }' },
);
type Unique = z.output<typeof uniqueSchema>;

/** Returns whether a job of a unique key ends the one that waits with the key. */
export function keepsNewest({ onConflict, keep }: Pick<Unique, 'onConflict' | 'keep'>): boolean {
  return keep === 'newest' || (onConflict === 'cancel-running' && keep !== 'oldest');
}

const afterSchema = z
  .array(z.custom<string | JobReference>(isJob, "expected a job's id, its handle, or { queue, id }"), {
    error: 'expected a list of jobs',
  })
  .max(100, 'expected at most 100 jobs');

function isJob(value: unknown): boolean {
  const { queue, id } = (value ?? {}) as Partial<JobReference>;
  return isId(value) || (typeof value === 'object' && isQueueName(queue) && isId(id));
}

const OF_JOB = ['enqueue', 'definition', 'handler', 'follow-up', 'schedule'] as const;

/** The options of a job, in the order in which they are checked and sent. */
export const JOB_OPTIONS = {
  name: { schema: text, places: ['enqueue', 'follow-up', 'schedule'] },
  id: { schema: text, places: ['enqueue'] },
  delayMs: {
    schema: duration(0),
    places: ['enqueue', 'follow-up'],
    none: 0,
    script: 'delay_ms',
    worker: { field: 'delayMs', stored: z.number() },
  },
  runAt: {
    schema: runAtSchema,
    places: ['enqueue'],
    script: 'run_at_ms',
    worker: { field: 'runAtMs', stored: z.number() },
    encode: (at: Date | number) => Math.round(Number(at)),
    decode: (ms: number) => new Date(ms),
  },
  priority: {
    schema: wholeNumber(0, 1_000),
    places: ['enqueue', 'definition', 'follow-up', 'schedule'],
    none: 0,
    script: 'priority',
  },
  cost: { schema: wholeNumber(1, 1_000_000), places: ['enqueue', 'follow-up'], none: 1, script: 'cost' },
  limitCosts: {
    schema: limitCostsField,
    places: ['enqueue', 'definition', 'follow-up', 'schedule'],
    worker: { field: 'limitCosts', stored: limitCostsField },
    encode: (costs: Record<string, number>) => (Object.keys(costs).length > 0 ? costs : undefined),
  },
  group: {
    schema: groupName,
    places: ['enqueue', 'follow-up', 'schedule'],
    script: 'group',
    worker: { field: 'group', stored: z.string() },
  },
  maxAttempts: {
    schema: wholeNumber(1, 1_000),
    places: [...OF_JOB, 'queue'],
    script: 'max_attempts',
    worker: { field: 'maxAttempts', stored: z.number() },
  },
  maxCrashes: { schema: wholeNumber(1, 1_000), places: [...OF_JOB, 'queue'], script: 'max_crashes' },
  backoff: {
    schema: storedBackoffSchema,
    inCode: backoffSchema,
    places: [...OF_JOB, 'queue'],
    worker: { field: 'backoff', stored: storedBackoffSchema },
  },
  timeoutMs: {
    schema: timerDuration(1),
    places: OF_JOB,
    worker: { field: 'timeoutMs', stored: z.number().min(1).max(LONGEST_TIMER_MS) },
  },
  timeoutGraceMs: { schema: timerDuration(0), places: ['handler'] },
  slots: {
    schema: slotsSchema,
    inCode: handlerSlotsSchema,
    places: OF_JOB,
    worker: { field: 'slots', stored: slotsSchema },
  },
  maxRateLimitRetries: { schema: releases, places: ['handler', 'queue'] },
  maxSnoozes: { schema: releases, places: ['handler', 'queue'] },
  keepResult: { schema: flag, places: OF_JOB, worker: { field: 'keepResult', stored: z.boolean() } },
  resultTtlMs: {
    schema: duration(1),
    places: [...OF_JOB, 'queue'],
    worker: { field: 'resultTtlMs', stored: z.int().min(1) },
  },
  expiresInMs: {
    schema: duration(1),
    places: ['enqueue', 'definition', 'follow-up', 'schedule'],
    script: 'expires_in_ms',
  },
  unique: {
    schema: uniqueSchema,
    places: ['enqueue'],
    // A number stands for a time in ms.
    script: ({ key, for: lasts, maxDelayMs, ...choice }: Unique) => ({
      unique: key,
      unique_for: typeof lasts === 'object' ? lasts.ms : lasts,
      ...(choice.onConflict === 'replace' && { unique_replace: true }),
      ...(choice.onConflict === 'cancel-running' && { unique_stop: true }),
      ...(keepsNewest(choice) && { unique_newest: true }),
      ...(maxDelayMs !== undefined && { unique_max_delay: maxDelayMs }),
    }),
  },
  durability: {
    schema: z.enum(['memory', 'replica'], { error: "expected 'memory' or 'replica'" }),
    places: ['enqueue', 'queue'],
  },
  after: {
    schema: afterSchema,
    places: ['enqueue'],
    script: 'after',
    encode: (refs: string[]) => (refs.length > 0 ? [...new Set(refs)] : undefined), // see job-ref.ts
  },
  batch: { schema: notSuggested(z.string().optional()), places: ['enqueue'], script: 'batch' },
  addedBy: {
    schema: notSuggested(z.tuple([z.string(), z.string(), z.string()]).optional()),
    places: ['enqueue'],
    script: 'added_by',
  },
  stopsBatch: {
    schema: notSuggested(z.boolean().optional()),
    places: ['enqueue'],
    worker: { field: 'stopsBatch', stored: z.boolean() },
  },
  lifo: { schema: flag, places: ['enqueue'], none: false, script: 'lifo' },
  metadata: {
    schema: metadataSchema,
    places: ['enqueue', 'follow-up'],
    worker: { field: 'metadata', stored: z.unknown().transform(readMetadata) },
    encode: (metadata: JobMetadata) => (Object.keys(metadata).length > 0 ? { ...metadata } : undefined),
  },
} as const satisfies Record<string, JobOption>;

export type Table = typeof JOB_OPTIONS;
export type JobOptionName = keyof Table;
/** The names of the options that may be set at a place. */
export type JobOptionAt<Place extends JobOptionPlace> = {
  [Name in JobOptionName]: Place extends Table[Name]['places'][number] ? Name : never;
}[JobOptionName];

type CodePlace = 'definition' | 'handler' | 'queue';
type SchemaOf<Option> = Option extends { schema: infer Schema extends z.ZodType } ? Schema : never;
type SchemaInCode<Option> = Option extends { inCode: infer Schema extends z.ZodType } ? Schema : SchemaOf<Option>;
type FieldsAt<Place extends JobOptionPlace> = {
  [Name in JobOptionAt<Place>]: z.ZodOptional<
    Place extends CodePlace ? SchemaInCode<Table[Name]> : SchemaOf<Table[Name]>
  >;
};

/** Returns the names of the options that may be set at a place. */
export function jobOptionsAt<Place extends JobOptionPlace>(place: Place): JobOptionAt<Place>[] {
  const names = Object.keys(JOB_OPTIONS) as JobOptionName[];
  return names.filter((name) => (JOB_OPTIONS[name] as JobOption).places.includes(place)) as JobOptionAt<Place>[];
}

const IN_CODE: readonly JobOptionPlace[] = ['definition', 'handler', 'queue'] satisfies CodePlace[];

/** Returns the schema of each option that may be set at a place. */
export function jobFieldsAt<Place extends JobOptionPlace>(place: Place): FieldsAt<Place> {
  const fields = jobOptionsAt(place).map((name) => {
    const { schema, inCode = schema }: JobOption = JOB_OPTIONS[name];
    const used = IN_CODE.includes(place) ? inCode : schema;
    return [name, used instanceof z.ZodOptional ? used : used.optional()];
  });
  return Object.fromEntries(fields) as FieldsAt<Place>;
}
