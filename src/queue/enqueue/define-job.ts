import { z } from 'zod';
import type { Backoff } from '../model/backoff.js';
import { jobFieldsAt } from '../model/job-options.js';
import type { SlotRange } from '../model/slots.js';
import { limitUsesField, type SharedLimitUse } from '../model/shared-limit.js';
import { brand, brandCheck } from '../errors/brand.js';
import { checkOptions } from '../validation/validate-options.js';
import { checkJobName, checkQueueName, isId } from '../validation/names.js';
import type { EnqueueFields, JobRules } from './enqueue-options.js';
import type { InputOf, OutputOf, StandardSchema } from '../validation/validate-with-schema.js';

/** The defaults of a definition's jobs. The options of an enqueue win over them, and they win over the handler's. */
export interface JobDefaults extends Omit<JobRules, 'group' | 'backoff' | 'slots'> {
  /** The queue of its jobs. @default that of the handler in this process, else one named as the job */
  queue?: string | undefined;
  /**
   * The time a failed job waits before its next attempt. A function works only if the handler is bound by this
   * definition.
   */
  backoff?: Backoff | undefined;
  /** Fails the job if it has not started within this many ms. @default without a limit */
  expiresInMs?: number | undefined;
  /**
   * The names of limits that the queue of its jobs shares with others; see `JobQueueModule.forRoot({ limits })`. Only where a handler
   * is bound by this definition.
   * @default none
   */
  limits?: readonly (string | SharedLimitUse)[] | undefined;
  /**
   * How much of the `concurrency` one of its jobs takes, of its queue and of the process. Only where a handler is bound by this
   * definition. With a range, `{ default: 1, most: 8 }`, each enqueue says its number.
   * @default 1
   */
  slots?: number | SlotRange | undefined;
}

/** The options of `defineJob`. */
export interface JobDefinitionOptions<
  Payload extends StandardSchema,
  Result extends StandardSchema,
  Signals extends SignalSchemas = SignalSchemas,
  Chunk extends StandardSchema = StandardSchema,
> extends JobDefaults {
  /** The schema of the payload: a zod, valibot, arktype or any other Standard Schema. */
  payload: Payload;
  /** The schema of the result. @default anything that JSON can carry */
  result?: Result | undefined;
  /** The signals that its jobs take, each with the schema of its data. @default signals of any name, with any data */
  signals?: Signals | undefined;
  /**
   * The schema of the chunks that its handler streams. It checks each chunk as the handler writes it, and must not be asynchronous.
   * @default anything that a stream can carry
   */
  chunk?: Chunk | undefined;
}

/** The schemas of the data of signals, by the name of the signal. */
export type SignalSchemas = Readonly<Record<string, StandardSchema>>;

const standardSchema = z.custom<StandardSchema>(
  (value) => typeof (value as StandardSchema | null | undefined)?.['~standard']?.validate === 'function',
  { error: 'expected a schema that follows Standard Schema, such as one of zod' },
);

const optionsSchema = z.strictObject(
  {
    ...jobFieldsAt('definition'),
    payload: standardSchema,
    result: standardSchema.optional(),
    chunk: standardSchema.optional(),
    signals: z
      .record(z.string().refine(isId, 'expected names of 1 to 128 characters of text'), standardSchema, {
        error: 'expected a schema for each name of a signal',
      })
      .optional(),
    queue: z.string({ error: "expected a queue's name" }).optional(),
    limits: limitUsesField.optional(),
  },
  { error: 'expected an object with a payload schema' },
);

/** A kind of job with its schemas. Made by `defineJob`. */
export class JobDefinition<
  Payload extends StandardSchema = StandardSchema,
  Result extends StandardSchema = StandardSchema,
  Signals extends SignalSchemas = SignalSchemas,
  Chunk extends StandardSchema = StandardSchema,
> {
  static {
    brand(this, 'JobDefinition');
  }

  /** The schema of the payload. */
  readonly payload: Payload;
  /** The schema of the result. Without it every result is accepted. */
  readonly result: Result | undefined;
  /** The schemas of its signals. Without them every signal is accepted. */
  readonly signals: Signals | undefined;
  /** The schema of its chunks. Without it every chunk is accepted. */
  readonly chunk: Chunk | undefined;
  /** The options of its jobs. */
  readonly defaults: Readonly<JobDefaults>;
  /** The defaults that an enqueue sends, or undefined without any, so that such a job stays plain. */
  readonly enqueueDefaults: Readonly<EnqueueFields> | undefined;

  /** @throws InvalidOptionError */
  constructor(
    /** The name of the jobs, and of their queue if no other is given. */
    readonly name: string,
    options: JobDefinitionOptions<Payload, Result, Signals, Chunk>,
  ) {
    checkJobName(name);
    const subject = `defineJob(${JSON.stringify(name)})`;
    const checked = checkOptions(subject, optionsSchema, options);
    const { payload: _payload, result: _result, signals: _signals, chunk: _chunk, ...defaults } = checked;
    if (defaults.queue !== undefined) {
      checkQueueName(defaults.queue);
    }
    this.payload = options.payload;
    this.result = options.result;
    this.signals = options.signals;
    this.chunk = options.chunk;
    this.defaults = defaults;
    const { queue: _queue, limits: _limits, slots: _slots, backoff, ...stored } = defaults;
    const sent = Object.entries({ ...stored, backoff: typeof backoff === 'function' ? undefined : backoff });
    const given = sent.filter(([, value]) => value !== undefined);
    this.enqueueDefaults = given.length > 0 ? Object.fromEntries(given) : undefined;
  }
}

/** Returns whether it is a definition, also one of another copy of this package. */
export const isJobDefinition: (value: unknown) => value is JobDefinition = brandCheck('JobDefinition');

/** The payload that an enqueue of the definition takes. */
export type PayloadInput<Definition extends JobDefinition> = InputOf<Definition['payload']>;
/** The payload that its handler gets, as its schema parsed it. */
export type PayloadOf<Definition extends JobDefinition> = OutputOf<Definition['payload']>;
/** The result that its handler returns. */
export type ResultInput<Definition extends JobDefinition> = InputOf<NonNullable<Definition['result']>>;
/** The payload that an enqueue takes: that of the definition, or anything for a name. */
export type PayloadFor<Job> = [Job] extends [JobDefinition] ? PayloadInput<Job> : unknown;
/** The result of a handle: that of the definition, else the caller's type. */
export type ResultFor<Job, Result> = [Job] extends [JobDefinition] ? ResultOf<Job> : Result;
/** The value that a handle's `result()` resolves with. */
export type ResultOf<Definition extends JobDefinition> = OutputOf<NonNullable<Definition['result']>>;
/** A chunk that its handler writes. */
export type ChunkInput<Definition extends JobDefinition> = InputOf<NonNullable<Definition['chunk']>>;
/** The chunks of a stream: those of the definition, else anything. A reader gets them as they are stored. */
export type ChunkFor<Job> = [Job] extends [JobDefinition] ? ChunkInput<Job> : unknown;
/** The names of the signals that a job takes: those of its definition, or any without them. */
export type SignalName<Job> = [Job] extends [JobDefinition] ? keyof NonNullable<Job['signals']> & string : string;
/** The data that a signal takes. */
export type SignalInput<Job, Name> = [Job] extends [JobDefinition]
  ? Name extends keyof NonNullable<Job['signals']>
    ? InputOf<NonNullable<Job['signals']>[Name]>
    : never
  : unknown;
/** The data behind the name of a signal. It may be left out if its schema accepts none. */
export type SignalData<Job, Name> =
  undefined extends SignalInput<Job, Name> ? [data?: SignalInput<Job, Name>] : [data: SignalInput<Job, Name>];
/** The data of its signals as its handler gets it, by name: the second type argument of `Job`. */
export type SignalsOf<Definition extends JobDefinition> = {
  readonly [Name in keyof NonNullable<Definition['signals']>]: OutputOf<NonNullable<Definition['signals']>[Name]>;
};

/**
 * Defines a kind of job for producers and handlers: its name, its defaults, and the schemas of payload and result. The
 * compiler knows both types, and an invalid value is refused with the path of the error.
 *
 * Redis stores the JSON of the payload, and each side parses it with the schema. So a schema must accept the JSON of a
 * value (`z.coerce.date()`, not `z.date()`).
 *
 * If an option is set in several places, the first of these wins: enqueue, definition, handler, queue.
 *
 * @throws InvalidOptionError
 * @example
 * export const SendEmail = defineJob('email', {
 *   payload: z.object({ to: z.email() }),
 *   result: z.object({ messageId: z.string() }),
 *   maxAttempts: 5,
 * });
 * const job = await jobs.enqueue(SendEmail, { to: 'ada@example.com' });
 * const { messageId } = await job.result();
 */
export function defineJob<
  Payload extends StandardSchema,
  Result extends StandardSchema = StandardSchema,
  const Signals extends SignalSchemas = SignalSchemas,
  Chunk extends StandardSchema = StandardSchema,
>(
  name: string,
  options: JobDefinitionOptions<Payload, Result, Signals, Chunk>,
): JobDefinition<Payload, Result, Signals, Chunk> {
  return new JobDefinition(name, options);
}
