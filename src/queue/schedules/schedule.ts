import { SCHEDULE_PREFIX } from '../validation/names.js';
import { createHash } from 'node:crypto';
import { serialize } from 'node:v8';
import { z } from 'zod';
import { jobFieldsAt } from '../model/job-options.js';
import { checkOptions } from '../validation/validate-options.js';
import { isJobDefinition, type JobDefinition } from '../enqueue/define-job.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import {
  withScheduleUniqueKey,
  encodeJob,
  payloadSubject,
  type EncodeTarget,
  checkPayload,
  type PayloadRules,
  typedOptions,
} from '../enqueue/encode-job.js';
import type { JobRules } from '../enqueue/enqueue-options.js';
import { duration, flag } from '../validation/numbers.js';
import type { JobCodec } from '../codec/codec.js';
import type { Recurrence } from '../model/schedule.js';
import type { StoredSchedule } from '../verbs/schedule.js';
import { checkRecurrence } from './recurrence.js';
import type { InputOf, StandardSchema } from '../validation/validate-with-schema.js';
import { withoutUndefined } from '../runtime/collections.js';

/** Options of a recurring job. */
export interface ScheduleOptions extends JobRules {
  /** The name of the handler, in a queue that several share. @default the queue's name */
  name?: string | undefined;
  /** The payload of each of its jobs. @default null */
  payload?: unknown;
  /**
   * The handling of ticks that were missed without a worker. `skip` leaves them out, `once` enqueues one job for all of
   * them.
   * @default `skip`
   */
  onMissed?: 'skip' | 'once' | undefined;
  /** The delay after which a tick counts as missed, in ms. @default 60,000 */
  missedAfterMs?: number | undefined;
  /** True if a tick enqueues a job while the last one is unfinished. @default true */
  overlap?: boolean | undefined;
  /** Fails a job that has not started within this many ms of its tick. */
  expiresInMs?: number | undefined;
  /** Only in typed schedules. */
  definition?: undefined;
}

/** Options of a recurring job of a definition, which sets its name and the defaults of unset options. */
export interface TypedScheduleOptions<Payload extends StandardSchema = StandardSchema> extends Omit<
  ScheduleOptions,
  'name' | 'payload' | 'definition'
> {
  /** The schema checks the payload when the schedule is made. */
  definition: JobDefinition<Payload>;
  /** The payload of each of its jobs. */
  payload: InputOf<Payload>;
}

const optionsSchema = z.strictObject(
  {
    ...jobFieldsAt('schedule'),
    payload: z.unknown().optional(),
    onMissed: z.enum(['skip', 'once'], { error: "expected 'skip' or 'once'" }).default('skip'),
    missedAfterMs: duration(0).default(60_000),
    overlap: flag.default(true),
    definition: z.custom<JobDefinition>(isJobDefinition, 'expected a definition of defineJob').optional(),
  },
  { error: 'expected an object of schedule options' },
);

/** Checks a schedule's id, because it becomes part of keys and of job ids. */
function checkScheduleId(id: unknown): asserts id is string {
  if (typeof id !== 'string' || !/^[\w.:@-]{1,100}$/.test(id)) {
    throw new InvalidOptionError('schedule id', '1 to 100 of A-Z a-z 0-9 _ . : @ -', show(id));
  }
}

/**
 * Checks and encodes a schedule, all but its payload's fit to the schema of its definition; see checkSchedule.
 *
 * @param subject how errors name it
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function encodeSchedule(
  queue: EncodeTarget,
  id: string,
  recurrence: Recurrence,
  options: ScheduleOptions | TypedScheduleOptions = {},
  subject = subjectOf(id),
): StoredSchedule {
  checkScheduleId(id);
  const checkedRecurrence = checkRecurrence(subject, recurrence);
  const {
    payload = null,
    onMissed,
    missedAfterMs,
    overlap,
    definition,
    ...rest
  } = checkOptions(subject, optionsSchema, options);
  const given = withoutUndefined(rest);
  const merged = definition ? typedOptions(queue.name, definition, given, subject) : given;
  const job = encodeJob(queue, payload, merged, subject, `${SCHEDULE_PREFIX}${id}`);
  const jobOptions = overlap ? job.options : withScheduleUniqueKey(job, id);
  const encoded = {
    recurrence: checkedRecurrence,
    name: job.name,
    payload: job.payload,
    options: jobOptions ?? {},
  };
  const stored = { ...encoded, onMissed, missedAfterMs };
  return { id, version: versionOf(stored, payload, queue.options.codec), ...stored };
}

/**
 * Returns the name of a definition. A secret codec encrypts the same payload differently each time, so its digest names
 * it. A plain hash would let everybody test guesses of the payload.
 */
function versionOf(stored: object, payload: unknown, codec: JobCodec | undefined): string {
  if (!codec?.secret) {
    return createHash('sha1').update(JSON.stringify(stored)).digest('hex');
  }
  const definition = JSON.stringify({ ...stored, payload: serialize(payload).toString('base64') });
  return codec.digest?.(definition) ?? createHash('sha1').update(definition).digest('hex');
}

/**
 * Holds the payload of a schedule against the schema of its definition, as its handler will find it. A promise only
 * where the schema is asynchronous.
 *
 * @throws InvalidPayloadError with the path of the fault (a rejection, where the schema is asynchronous)
 */
export function checkSchedule(
  { id, payload }: Pick<StoredSchedule, 'id' | 'payload'>,
  definition: JobDefinition | undefined,
  queue: PayloadRules,
  subject = subjectOf(id),
): Promise<unknown> | undefined {
  const read = definition && checkPayload(definition, payload, queue, id, payloadSubject(subject));
  return read instanceof Promise ? read : undefined;
}

function subjectOf(id: unknown): string {
  return `schedule ${show(id)}`;
}
