import { z } from 'zod';
import { encodeJson } from '../../queue/codec/encode-content.js';
import {
  type ChunkInput,
  isJobDefinition,
  type JobDefinition,
  type PayloadOf,
  type ResultInput,
  type SignalsOf,
} from '../../queue/enqueue/define-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { jobFieldsAt } from '../../queue/model/job-options.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import { ANY_NAME, checkHandledName } from '../../queue/validation/names.js';
import { timerDuration, wholeNumber } from '../../queue/validation/numbers.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { validateWithSchema } from '../../queue/validation/validate-with-schema.js';
import { withMiddleware, type AttemptMiddleware } from './attempt-middleware.js';
import type {
  Handler,
  HandlerOptions,
  BulkCall,
  BulkHandler,
  BulkOptions,
  BulkOutcomes,
  BulkHandlerFunction,
  HandlerFunction,
  WorkerQueue,
} from './handler.js';
import type { Job } from './job.js';
import { toNonRetryable } from './non-retryable.js';

/**
 * A handler of a definition. It gets the parsed payload, and returns a value for the result's schema. An async generator streams what it
 * yields.
 */
export type TypedHandlerFunction<Definition extends JobDefinition> = (
  job: Job<PayloadOf<Definition>, SignalsOf<Definition>, ChunkInput<Definition>>,
) =>
  | ResultInput<Definition>
  | Promise<ResultInput<Definition>>
  | AsyncGenerator<ChunkInput<Definition>, ResultInput<Definition>>;

/**
 * Binds a function to a definition, for a Worker without Nest. A stored payload that does not fit makes a dead letter
 * with the path of the fault. A result that does not fit fails the attempt.
 *
 * @param options defaults, which the enqueue and the definition override
 * @throws InvalidOptionError
 * @example new Worker([{ queue, handlers: { [SendEmail.name]: defineHandler(SendEmail, (job) => send(job.payload)) } }]);
 */
export function defineHandler<Definition extends JobDefinition>(
  definition: Definition,
  handle: TypedHandlerFunction<Definition>,
  options: HandlerOptions = {},
): Handler {
  const subject = subjectOf('defineHandler', definition, handle);
  checkHandlerOptions(subject, options);
  return { ...options, ...handlerDefaults(definition), handle: withSchemas(definition, handle) };
}

/**
 * Returns how errors name what binds a function to a definition.
 *
 * @param binder the function that binds them, such as `defineHandler`
 * @throws InvalidOptionError where one of the two is something else
 */
export function subjectOf(binder: string, definition: JobDefinition, handle: unknown): string {
  if (!isJobDefinition(definition)) {
    throw new InvalidOptionError(binder, 'a definition of defineJob', show(definition));
  }
  const subject = `${binder}(${show(definition.name)})`;
  if (typeof handle !== 'function') {
    throw new InvalidOptionError(subject, 'a function', show(handle));
  }
  return subject;
}

/** Returns the options that a definition sets for the handlers of its jobs. */
export function handlerDefaults({ defaults }: JobDefinition): HandlerOptions {
  const { maxAttempts, maxCrashes, backoff, timeoutMs, keepResult, resultTtlMs, slots } = defaults;
  return withoutUndefined<HandlerOptions>({
    maxAttempts,
    maxCrashes,
    backoff,
    timeoutMs,
    keepResult,
    resultTtlMs,
    slots,
  });
}

/** A bulk handler of a definition. It gets payloads parsed by their schema, and returns results that fit theirs. */
export type TypedBulkFunction<Definition extends JobDefinition> = (
  jobs: Job<PayloadOf<Definition>, SignalsOf<Definition>, ChunkInput<Definition>>[],
  call: BulkCall,
) => BulkOutcomes<ResultInput<Definition>> | Promise<BulkOutcomes<ResultInput<Definition>>>;

/**
 * Binds a bulk function to a definition, for a Worker without Nest. Each job is checked against the schemas separately:
 * an invalid one fails, and the others of its call do not.
 *
 * @throws InvalidOptionError
 * @example
 * const index = defineBulkHandler(Index, (jobs) => search.add(jobs.map(({ payload }) => payload)), { bulk: { size: 100 } });
 * new Worker([{ queue, handlers: { [Index.name]: index } }]);
 */
export function defineBulkHandler<Definition extends JobDefinition>(
  definition: Definition,
  handle: TypedBulkFunction<Definition>,
  options: HandlerOptions & { bulk: BulkOptions },
): BulkHandler {
  const subject = subjectOf('defineBulkHandler', definition, handle);
  checkBulkOptions(subject, options);
  return {
    ...options,
    ...handlerDefaults(definition),
    handle: withBulkSchemas(definition, handle),
  };
}

/** The definitions of bound functions. */
const definitions = new WeakMap<HandlerFunction | BulkHandlerFunction, JobDefinition>();

/** Returns the definition of a bound handler, or undefined. */
export function definitionOf(
  handler: HandlerFunction | Handler | BulkHandler | undefined,
): JobDefinition | undefined {
  const handle = typeof handler === 'function' ? handler : handler?.handle;
  return handle && definitions.get(handle);
}

/** Returns the function, with payload and result checked by the schemas. */
export function withSchemas(definition: JobDefinition, handle: HandlerFunction): HandlerFunction {
  const bound = withMiddleware([schemaMiddleware(definition)], handle);
  definitions.set(bound, definition);
  return bound;
}

/** Returns the function with its definition, by which each job is checked before and after the call. */
export function withBulkSchemas(definition: JobDefinition, handle: BulkHandlerFunction): BulkHandlerFunction {
  const bound: BulkHandlerFunction = (jobs, call) => handle(jobs, call);
  definitions.set(bound, definition);
  return bound;
}

/** Checks the payload of an attempt, its chunks and its result by the schemas of a definition. */
export function schemaMiddleware(definition: JobDefinition): AttemptMiddleware {
  const { payload: payloadSchema, result: resultSchema, signals, chunk } = definition;
  const attempt = async (job: Job, next: () => Promise<unknown>) => {
    try {
      job.setPayload(await validateWithSchema('payload', payloadSchema, job.payload, job.hiding('payload')));
    } catch (error) {
      throw toNonRetryable(error as Error);
    }
    if (signals) {
      job.defineSignals(definition);
    }
    if (chunk) {
      job.stream.define({ name: definition.name, chunk }, job.hiding('chunk'));
    }
    const result = await next();
    if (resultSchema) {
      // The form in which callers will read it.
      const stored =
        result === undefined ? undefined : (JSON.parse(encodeJson('result', result, Infinity)) as unknown);
      await validateWithSchema('result', resultSchema, stored, job.hiding('result'));
    }
    return result;
  };
  return { attempt };
}

/** The fields of HandlerOptions, each with its bounds. */
export const handlerOptionFields = jobFieldsAt('handler');

/** The number of jobs of a queue that a process claims, in every place of the option. */
export const slotFields = {
  concurrency: wholeNumber(1, 100_000).optional(),
  prefetch: wholeNumber(0, 1_000).optional(),
};

/** The size of a bulk handler's calls. */
export const bulkSchema = z.strictObject(
  {
    size: wholeNumber(2, 1_000),
    waitMs: timerDuration(0).optional(),
    by: z.literal('group', { error: "expected 'group'" }).optional(),
  },
  { error: 'expected { size, waitMs?, by? }' },
);

const NO_OBJECT = { error: 'expected an object of handler options' };
const handleSchema = z.custom<HandlerFunction>((value) => typeof value === 'function', 'expected a function');
const optionsSchema = z.strictObject(handlerOptionFields, NO_OBJECT);
const handlerSchema = z.strictObject(
  { ...handlerOptionFields, bulk: bulkSchema.optional(), handle: handleSchema },
  { error: 'expected a function or { handle }' },
);
/** An instance of a class has fields besides the options. */
const instanceSchema = z.object({ ...handlerOptionFields, bulk: bulkSchema.optional(), handle: handleSchema });

const queueSchema = z.strictObject(
  {
    queue: z.custom<JobQueue>((value) => typeof (value as JobQueue)?.exec === 'function', 'expected a JobQueue'),
    ...slotFields,
    handlers: z.custom<WorkerQueue['handlers']>(
      (value) => typeof value === 'object' && value !== null,
      'expected at least one handler by the name of its jobs',
    ),
    onFailed: z
      .custom<NonNullable<WorkerQueue['onFailed']>>(
        (value) => typeof value === 'object' && value !== null,
        'expected an object of handlers by the name of the jobs that fail',
      )
      .optional(),
    schedules: z
      .custom<NonNullable<WorkerQueue['schedules']>>(
        (value) => typeof value === 'object' && value !== null,
        'expected an object of schedules',
      )
      .optional(),
  },
  { error: 'expected { queue, handlers }' },
);

/** @throws InvalidOptionError */
export function checkHandlerOptions(subject: string, options: unknown): HandlerOptions {
  return checkOptions(subject, optionsSchema, options);
}

/** @throws InvalidOptionError */
function checkBulkOptions(subject: string, options: unknown): void {
  checkOptions(subject, optionsSchema.extend({ bulk: bulkSchema }), options);
}

/**
 * Checks the queues of a worker, which must share one connection.
 *
 * @throws InvalidOptionError
 */
export function checkWorkerQueues(queues: readonly WorkerQueue[]): QueueStore {
  const [first] = Array.isArray(queues) ? (queues as readonly WorkerQueue[]) : [];
  if (!first) {
    throw new InvalidOptionError(
      'worker queues',
      'at least one queue',
      Array.isArray(queues) ? 'none' : show(queues),
    );
  }
  const served = new Set<string>();
  for (const each of queues) {
    const name = (each as Partial<WorkerQueue> | null)?.queue?.name;
    const subject = name === undefined ? 'worker queue' : `worker queue "${name}"`;
    const { queue, handlers, onFailed = {} } = checkOptions(subject, queueSchema, each);
    refuseNoHandler(subject, { ...handlers, ...onFailed });
    if (queue.store !== first.queue.store) {
      throw new InvalidOptionError(subject, 'the Redis client of the other queues', 'another one');
    }
    refuseSecondEntry(subject, queue, served);
    for (const [place, list] of Object.entries({ handlers, onFailed })) {
      for (const [job, handler] of Object.entries(list)) {
        checkHandler(`${subject}.${place}`, job, handler);
      }
    }
  }
  return first.queue.store;
}

function refuseNoHandler(subject: string, handlers: object): void {
  if (Object.keys(handlers).length === 0) {
    throw new InvalidOptionError(`${subject}.handlers`, 'at least one handler by the name of its jobs', 'none');
  }
}

/** Refuses a second entry of a queue. Two would have separate slots and release the jobs of the other's handlers. */
function refuseSecondEntry(subject: string, { name, options }: JobQueue, served: Set<string>): void {
  const keys = JSON.stringify([options.prefix, name]);
  if (served.has(keys)) {
    throw new InvalidOptionError(
      subject,
      'one entry for each queue',
      'a second one',
      'Put the handlers of both into one entry.',
    );
  }
  served.add(keys);
}

function checkHandler(subject: string, job: string, handler: unknown): void {
  if (job !== ANY_NAME || !subject.endsWith('.handlers')) {
    checkHandledName(job);
  }
  if (typeof handler !== 'function') {
    checkOptions(`${subject}.${job}`, isInstance(handler) ? instanceSchema : handlerSchema, handler);
  }
}

function isInstance(value: unknown): boolean {
  const prototype: unknown = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : null;
  return prototype !== null && prototype !== Object.prototype;
}
