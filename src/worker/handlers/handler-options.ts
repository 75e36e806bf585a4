import { z } from 'zod';
import { jobFieldsAt } from '../../queue/model/job-options.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { ANY_NAME, checkHandledName } from '../../queue/validation/names.js';
import { show } from '../../queue/errors/show.js';
import { timerDuration, wholeNumber } from '../../queue/validation/numbers.js';
import type { HandlerFunction, HandlerOptions } from './handler.js';
import type { WorkerQueue } from './worker-queue.js';

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
const handle = z.custom<HandlerFunction>((value) => typeof value === 'function', 'expected a function');
const optionsSchema = z.strictObject(handlerOptionFields, NO_OBJECT);
const handlerSchema = z.strictObject(
  { ...handlerOptionFields, bulk: bulkSchema.optional(), handle },
  { error: 'expected a function or { handle }' },
);
/** An instance of a class has fields besides the options. */
const instanceSchema = z.object({ ...handlerOptionFields, bulk: bulkSchema.optional(), handle });

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
export function checkBulkOptions(subject: string, options: unknown): void {
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
