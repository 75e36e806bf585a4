import { z } from 'zod';
import { decodeContent, type ContentRules } from '../codec/codec.js';
import { encodeContent } from '../codec/encode-content.js';
import { hidingOf } from '../codec/redact.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { JobReference } from '../model/batch.js';
import { type GroupLimits, type GroupOverrides, type GroupsOptions, groupLimitFields } from '../model/limits.js';
import { type JobMetadata, isMetadata } from '../model/metadata.js';
import { checkLimitCosts, type SharedLimitUse } from '../model/shared-limit.js';
import type { JobSource } from '../results/job-handle.js';
import type { Clock } from '../runtime/clock.js';
import { withoutUndefined } from '../runtime/collections.js';
import { type AskedOptions, askedOptions } from '../store/asked-options.js';
import { isGiant } from '../store/claim-refusal.js';
import type { EncodedJob } from '../store/enqueue-call.js';
import { refTo } from '../store/job-ref.js';
import type { QueueAccess } from '../store/queue-store.js';
import { SCHEDULE_PREFIX, checkJobId, checkJobName } from '../validation/names.js';
import type { UsedDefinitions } from '../validation/used-definitions.js';
import { checkOptions } from '../validation/validate-options.js';
import { validateWithSchema } from '../validation/validate-with-schema.js';
import type { JobDefinition } from './define-job.js';
import {
  type EnqueueOptions,
  checkEnqueueOptions,
  refuseContradictions,
  type EnqueueFields,
  type StartTime,
} from './enqueue-options.js';

/** The queue of a payload, and how it stores and shows content. */
export interface PayloadRules {
  readonly name: string;
  readonly options: Pick<ContentRules, 'codec' | 'redact'>;
  /** The definitions that the queue uses. Absent where nobody compares them. */
  readonly definitions?: UsedDefinitions;
}

/**
 * Checks an encoded payload against the schema of its definition, in the form that the handler will receive. Returns a
 * promise only if the schema needs one.
 *
 * @param json the payload as it is stored
 * @param id the id of the job, or of its schedule
 * @throws InvalidPayloadError with the path of the fault (a rejection, if the schema is asynchronous)
 */
export function checkPayload(
  definition: JobDefinition,
  json: string,
  { name: queue, options: { codec, redact }, definitions }: PayloadRules,
  id: string,
  subject = 'payload',
): unknown {
  const { name, payload: schema } = definition;
  definitions?.use(definition, 'a call that gives a payload');
  const hiding = redact && hidingOf(redact, { part: 'payload', job: { id, name, queue } });
  return validateWithSchema(
    subject,
    schema,
    decodeContent(codec, JSON.parse(json), 'payload', { queue, id }),
    hiding,
  );
}

/**
 * Announces the limit of this process before it sends a giant payload. Then workers with a lower limit run the job too. A
 * purge forgets the limit, so each giant payload announces it again. Other payloads need no call.
 */
export async function announceGiant(queue: QueueAccess, ...payloads: readonly string[]): Promise<void> {
  if (payloads.some((payload) => isGiant(payload))) {
    await queue.exec((calls) => calls.notePayload());
  }
}

/** The queue of a job to encode: its name, its rules for content, and its store's clock, which makes ids. */
export interface EncodeTarget {
  readonly name: string;
  readonly options: EnqueueRules;
  readonly store: { readonly clock: Pick<Clock, 'randomId'> };
  /** The end of generated ids. Absent where nothing tells queues apart by it. */
  readonly idMark?: string;
  /** The definitions that the queue uses. Absent where nobody compares them. */
  readonly definitions?: UsedDefinitions;
}

/**
 * Checks and encodes one job. Nothing is written yet, so an error leaves no trace.
 *
 * @param subject how errors name it, if its call has several
 * @param maker the start of the ids of the jobs that a schedule or a batch makes of it
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function encodeJob(
  target: EncodeTarget,
  payload: unknown,
  options: EnqueueOptions | undefined,
  subject?: string,
  maker?: string,
): EncodedJob {
  const { name: queue, store, idMark = '' } = target;
  const newId = () => store.clock.randomId() + idMark;
  const encode = (id: string, payloadId = maker) =>
    encodeContent('payload', payload, target.options, { queue, id, payloadId }, payloadSubject(subject));
  if (options === undefined) {
    const id = newId();
    return { id, name: queue, payload: encode(id) };
  }
  const metadata = onlyMetadata(options);
  if (metadata) {
    const { name = queue } = options;
    checkJobName(name, subject && `${subject}.name`);
    const id = newId();
    return { id, name, payload: encode(id), options: { metadata: { ...metadata } } };
  }
  const place = subject ?? 'enqueue';
  const checked = checkEnqueueOptions(place, options);
  const { name = queue, id = newId(), unique } = checked;
  checkJobName(name, subject && `${subject}.name`);
  if (checked.id !== undefined) {
    checkJobId(id, subject && `${subject}.id`);
  }
  refuseContradictions(place, checked);
  // Another job may get this payload.
  const payloadId = unique?.onConflict === 'replace' && target.options.codec ? id : undefined;
  const asked = optionsOf(checked, target, newId, payloadId, subject);
  const job: EncodedJob = { id, name, payload: encode(id, maker ?? payloadId), ...(asked && { options: asked }) };
  const { durability, runAt, expiresInMs, batch, after } = checked;
  if (batch !== undefined || after?.length) {
    job.travelsAlone = true;
  }
  const elsewhere = after?.flatMap((each) => (typeof each === 'string' || each.queue === queue ? [] : each));
  if (elsewhere?.length) {
    job.afterElsewhere = elsewhere;
  }
  if (durability) {
    job.durability = durability;
  }
  if (runAt !== undefined && expiresInMs !== undefined) {
    job.span = { runAtMs: Math.round(Number(runAt)), expiresInMs };
  }
  return job;
}

/** The subject of a publication in errors. It has one payload, however many jobs. */
export const PUBLISH = 'publish';

/** Returns the name of a job's payload in errors; see encodeJob. */
export function payloadSubject(subject: string | undefined): string {
  return subject === undefined || subject === PUBLISH ? 'payload' : `${subject}.payload`;
}

/** Returns the options of a job that holds the key of its schedule until it ends. */
export function withScheduleUniqueKey({ options }: EncodedJob, schedule: string): AskedOptions {
  return { ...options, unique: { key: `${SCHEDULE_PREFIX}${schedule}`, for: 'unfinished' } };
}

/** Returns the metadata of an enqueue that has no other option than its name. Leaves faults to the check of all options. */
function onlyMetadata(options: EnqueueOptions): JobMetadata | undefined {
  if (typeof options !== 'object' || options === null || Object.getPrototypeOf(options) !== Object.prototype) {
    return undefined;
  }
  const { metadata, name } = options;
  const isAlone = Object.keys(options).every((key) => key === 'metadata' || key === 'name');
  const isNamed = name === undefined || typeof name === 'string';
  return isAlone && isNamed && isMetadata(metadata) && Object.keys(metadata).length > 0 ? metadata : undefined;
}

/** Returns the options for the store; undefined for a plain job, so that it costs nothing more. */
function optionsOf(
  options: EnqueueOptions,
  { name: queue, options: { groups, rates, limits: uses } }: EncodeTarget,
  newId: () => string,
  payloadId: string | undefined,
  subject: string | undefined,
): AskedOptions | undefined {
  const { group, id, after, cost, limitCosts } = options;
  if (rates && cost !== undefined) {
    const hint =
      'Use a limit with a name, whose cost is a range: `limits: [{ limit, cost: { most } }]`, and `limitCosts` at the enqueue.';
    throw new InvalidOptionError(
      subject === undefined ? 'cost' : `${subject}.cost`,
      `none in queue ${JSON.stringify(queue)}, which has several rates`,
      String(cost),
      hint,
    );
  }
  if (limitCosts) {
    checkLimitCosts(queue, limitCosts, uses, subject);
  }
  const refs = after && { after: after.map((each) => refIn(queue, each)) };
  const asked = askedOptions(refs ? { ...options, ...refs } : options);
  const limits = group === undefined ? undefined : overrideOf(group, groups?.overrides);
  if (limits !== undefined) {
    asked.groupLimits = limits;
  }
  if (id !== undefined) {
    asked.request = newId();
  }
  if (payloadId !== undefined) {
    asked.payloadId = payloadId;
  }
  return Object.keys(asked).length > 0 ? asked : undefined;
}

/** Returns how the hash of a job names another one. @param home its own queue */
function refIn(home: string, job: string | JobReference): string {
  return typeof job === 'string' ? job : job.queue === home ? job.id : refTo(job.queue, job.id);
}

const EXPECTED_LIMITS = 'expected the limits of a group, or undefined';
const groupLimitsSchema = z
  .custom<object>((limits) => !(limits instanceof Promise), EXPECTED_LIMITS) // it has no field of its own
  .pipe(z.strictObject(groupLimitFields, { error: EXPECTED_LIMITS }));

/** The options of a queue for a new job. */
interface EnqueueRules extends ContentRules {
  readonly groups?: Pick<GroupsOptions, 'overrides'> | undefined;
  readonly rates?: readonly unknown[] | undefined;
  readonly limits?: readonly (string | SharedLimitUse)[] | undefined;
}

/**
 * Returns the code's limits for a group; null if this group has none, undefined if the queue has no overrides.
 *
 * @throws InvalidOptionError if a function returns invalid limits
 */
function overrideOf(group: string, overrides: GroupOverrides | undefined): GroupLimits | null | undefined {
  if (overrides === undefined) {
    return undefined;
  }
  if (typeof overrides !== 'function') {
    return Object.hasOwn(overrides, group) ? overrides[group]! : null;
  }
  const limits = overrides(group);
  const subject = `groups.overrides(${JSON.stringify(group)})`;
  return limits === undefined ? null : checkOptions(subject, groupLimitsSchema, limits);
}

/** Options of an enqueue of a definition, which has its own name. */
export type TypedEnqueueOptions = Omit<EnqueueFields, 'name'> & StartTime;

/**
 * Checks and encodes one job of a definition. The payload is checked in the form that its handler will receive.
 *
 * @param subject how errors name it, if its call has several
 * @throws InvalidOptionError, InvalidPayloadError (a rejection, if the schema is asynchronous)
 */
export function encodeTypedJob(
  target: EncodeTarget,
  definition: JobDefinition,
  payload: unknown,
  options: TypedEnqueueOptions | undefined,
  subject?: string,
): EncodedJob | Promise<EncodedJob> {
  const merged = typedOptions(target.name, definition, options, subject);
  const job = encodeJob(target, payload, merged, subject);
  const read = checkPayload(definition, job.payload, target, job.id, payloadSubject(subject));
  if (!(read instanceof Promise)) {
    return job;
  }
  const made = read.then(() => job);
  // If a later job of a bulk is refused at once, no caller awaits this one. Its rejection would end the process.
  made.catch(() => undefined);
  return made;
}

/** A job of a bulk enqueue: its payload, beside its options. */
export type JobToEnqueue = { payload: unknown } & EnqueueOptions;

/** Checks and encodes many jobs, with or without a definition. Returns a promise only for an asynchronous schema. */
export function encodeJobs(
  target: EncodeTarget,
  definition: JobDefinition | undefined,
  requested: readonly JobToEnqueue[],
): EncodedJob[] | Promise<EncodedJob[]> {
  const made = requested.map(({ payload, ...rest }, i) => {
    const options = Object.keys(rest).length > 0 ? rest : undefined;
    const subject = `enqueueMany[${i}]`;
    return definition
      ? encodeTypedJob(target, definition, payload, options, subject)
      : encodeJob(target, payload, options, subject);
  });
  // Waits only where it must, so that enqueues of one tick stay together.
  return made.some((each) => each instanceof Promise)
    ? Promise.all(made.map(async (each) => each))
    : (made as EncodedJob[]);
}

/**
 * Returns the options of an enqueue, with the definition's defaults. @throws InvalidOptionError for another name than its
 * own
 */
export function typedOptions(
  queue: string,
  { name, enqueueDefaults }: JobDefinition,
  options: TypedEnqueueOptions | undefined,
  subject = 'enqueue',
): EnqueueOptions | undefined {
  const own: { name?: string } = name === queue ? {} : { name };
  if (options === undefined) {
    return enqueueDefaults || own.name ? { ...enqueueDefaults, ...own } : undefined;
  }
  if (typeof options !== 'object' || options === null) {
    return options; // refused by the check of options
  }
  const other = (options as EnqueueOptions).name;
  if (other !== undefined && other !== name) {
    throw new InvalidOptionError(`${subject}.name`, `that of the definition, ${show(name)}`, show(other));
  }
  return { ...enqueueDefaults, ...(withoutUndefined<object>(options) as TypedEnqueueOptions), ...own };
}

/** Reads results by the schema of a definition, of jobs of its name only. */
export function typedSource(source: JobSource, { name, result: schema }: JobDefinition): JobSource {
  const hidingIn = (id: string) =>
    hidingOf(source.options?.redact, { part: 'result', job: { id, name, queue: source.name ?? name } });
  if (!schema) {
    return source;
  }
  const typed: JobSource = {
    get: (id) => source.get(id),
    cancel: (id, options) => source.cancel(id, options),
    readStream: (id, options) => source.readStream(id, options, typed),
    awaitResult: async (id, options) => {
      const value = await source.awaitResult(id, options, name);
      // No result is stored, or the handler returned none, which its worker has checked.
      return value === undefined ? undefined : validateWithSchema('result', schema, value, hidingIn(id));
    },
  };
  return typed;
}
