import { z } from 'zod';
import { isJobDefinition, type JobDefinition } from '../enqueue/define-job.js';
import { checkPayload, encodeJob, payloadSubject, type EncodeTarget, typedOptions } from '../enqueue/encode-job.js';
import type { JobRules } from '../enqueue/enqueue-options.js';
import { InvalidOptionError, InvalidPayloadError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { BATCH_PARTS } from '../model/batch.js';
import { jobOptionsAt } from '../model/job-options.js';
import type { JobMetadata } from '../model/metadata.js';
import { isGiant, USUAL_PAYLOAD_BYTES } from '../store/claim-refusal.js';
import { followUpMaker, followUpRef, refTo } from '../store/job-ref.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkJobId, checkQueueName } from '../validation/names.js';
import { duration, flag } from '../validation/numbers.js';
import { checkKnown, checkObject, checkOptions } from '../validation/validate-options.js';
import type { InputOf, StandardSchema } from '../validation/validate-with-schema.js';
import type { EncodedBatch, EncodedFollowUp } from '../verbs/batch.js';

/**
 * A job that follows a batch. Its id is fixed: `@batch:{id of the batch}:then`, `:on_failure` or `:finally`. In another
 * queue than the batch's it is `@batch-of:{queue of the batch} {id of the batch}:then`, and so on.
 */
export interface FollowUp extends JobRules {
  /** The name that selects the handler. @default the name of its queue */
  name?: string | undefined;
  /** The queue of the job, on the same Redis. @default that of the batch */
  queue?: string | undefined;
  /** Default: `{ batchId }`. */
  payload?: unknown;
  /** The start, in ms after the last member has ended. @default at once */
  delayMs?: number | undefined;
  /** Fails the follow-up if it has not started within this many ms after the last member has ended. @default without a limit */
  expiresInMs?: number | undefined;
  /** The share of the queue's `rateLimit` that it takes. @default 1 */
  cost?: number | undefined;
  /** Small texts that travel with the job. @default none */
  metadata?: JobMetadata | undefined;
  /** Only in typed follow-ups. */
  definition?: undefined;
}

/**
 * A follow-up of a definition, which sets its name and the defaults of unset options. The schema checks the payload. The
 * payload may be left out if the schema takes `{ batchId }`.
 */
export type TypedFollowUp<Payload extends StandardSchema = StandardSchema> = Omit<
  FollowUp,
  'name' | 'payload' | 'definition'
> & { definition: JobDefinition<Payload> } & ({ batchId: string } extends InputOf<Payload>
    ? { payload?: InputOf<Payload> }
    : { payload: InputOf<Payload> });

/** The follow-ups of a batch, and its options. */
export interface BatchOptions<
  Then extends StandardSchema = StandardSchema,
  OnFailure extends StandardSchema = StandardSchema,
  Finally extends StandardSchema = StandardSchema,
> {
  /** Your own id: creating it again opens the existing batch. @default a random one */
  id?: string | undefined;
  /** The job that follows where all members completed and the batch was not cancelled. @default none */
  then?: FollowUp | TypedFollowUp<Then> | undefined;
  /** The job that follows where a member failed, was cancelled or was deleted, or the batch was cancelled. @default none */
  onFailure?: FollowUp | TypedFollowUp<OnFailure> | undefined;
  /** The job that follows in any case. @default none */
  finally?: FollowUp | TypedFollowUp<Finally> | undefined;
  /** Cancels the other members once one did not end well. @default false */
  failFast?: boolean | undefined;
  /** The time the outcomes of the members can be read after the follow-ups have ended, in ms. @default 300,000 */
  resultTtlMs?: number | undefined;
  /**
   * The time the record can be read after the follow-ups have ended, in ms: by `status`, and in lists. So long an `id` of
   * your own is known. Never shorter than `resultTtlMs`. Without an `id`, only the last 1,000 batches of the queue keep
   * theirs longer than that.
   *
   * @default 604,800,000, a week
   */
  recordTtlMs?: number | undefined;
}

const followUp = z.looseObject(
  {},
  { error: 'expected an object with name or definition, payload and options of a job' },
);

const batchSchema = z.strictObject(
  {
    id: z.string({ error: 'expected text' }).optional(),
    then: followUp.optional(),
    onFailure: followUp.optional(),
    finally: followUp.optional(),
    failFast: flag.default(false),
    resultTtlMs: duration(1).default(300_000),
    recordTtlMs: duration(1).default(604_800_000),
  },
  { error: 'expected an object with then, onFailure, finally, failFast' },
);

const KINDS = { then: 'then', onFailure: 'on_failure', finally: 'finally' } as const;

/** The options of a batch that are follow-ups, in their order. */
export const FOLLOW_UPS: readonly (keyof typeof KINDS)[] = ['then', 'onFailure', 'finally'];

/** Every option of a follow-up. */
export const FOLLOW_UP_OPTIONS: readonly (keyof FollowUp)[] = [
  'definition',
  'payload',
  'queue',
  ...jobOptionsAt('follow-up'),
];

/** A batch as it is sent, and the checks of its payloads that take time. */
export interface CheckedBatch extends EncodedBatch {
  /** Rejects with an InvalidPayloadError. Absent unless a schema is asynchronous. */
  checked?: Promise<unknown>;
}

/** Finds the queue of a follow-up, by its name. Of a queue with shards it is the shard of the follow-up. */
export type FindFollowUpQueue = (queue: string, followUp: FollowUp) => EncodeTarget | undefined;

/**
 * Checks and encodes a batch. Nothing is written yet.
 *
 * @param find finds the queue of a follow-up that names another one. Otherwise it has the options of this queue, but for its groups
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function encodeBatch(queue: EncodeTarget, options: BatchOptions, find: FindFollowUpQueue): CheckedBatch {
  const { id: ownId, failFast, resultTtlMs, recordTtlMs, ...rest } = checkOptions('batch', batchSchema, options);
  const id = ownId ?? queue.store.clock.randomId() + (queue.idMark ?? '');
  checkBatchId(id);
  const made = FOLLOW_UPS.flatMap((kind) => {
    const asked = rest[kind] as FollowUp | TypedFollowUp | undefined;
    return asked ? [encodeFollowUp({ queue, batch: id, find }, kind, asked)] : [];
  });
  const followUps = made.map((each) => each.followUp);
  const checks = made.flatMap(({ check }) => (check ? [check] : []));
  const hasOwnId = ownId !== undefined;
  const checked = checks.length > 0 && { checked: whenHandled(checks) };
  return { id, hasOwnId, failFast, resultTtlMs, recordTtlMs, followUps, ...checked };
}

/** Checks a batch's id. The keys of its parts begin with the key of its record; see QueueKeys. */
function checkBatchId(id: string): void {
  checkJobId(id, 'batch.id');
  const part = BATCH_PARTS.find((each) => id.endsWith(`/${each}`));
  if (part !== undefined) {
    throw new InvalidOptionError('batch.id', `an id that does not end in /${part}`, show(id));
  }
}

/**
 * Checks that a follow-up is an object without unknown options. Returns its name or its definition, or undefined without
 * both.
 *
 * @throws InvalidOptionError
 */
export function jobOfFollowUp(
  subject: string,
  asked: FollowUp | TypedFollowUp,
): string | JobDefinition | undefined {
  checkObject(subject, 'an object with the `name` or the `definition` of a job', asked);
  checkKnown(subject, asked, FOLLOW_UP_OPTIONS);
  const { name, definition, queue } = asked as FollowUp & { definition?: unknown };
  if (queue !== undefined) {
    checkQueueName(queue, `${subject}.queue`);
  }
  if (definition === undefined) {
    return name;
  }
  if (!isJobDefinition(definition)) {
    throw new InvalidOptionError(`${subject}.definition`, 'a definition of defineJob', show(definition));
  }
  return definition;
}

/** Waits for all checks. A batch that is never opened waits for none, and a rejection would end its process. */
function whenHandled(checks: readonly Promise<unknown>[]): Promise<unknown> {
  const all = Promise.all(checks);
  all.catch(() => undefined);
  return all;
}

/** Returns another queue as this process would open it. The overrides of groups, and several rates, are those of this queue. */
function anotherTarget(queue: EncodeTarget, name: string): EncodeTarget {
  const { groups: _groups, rates: _rates, ...options } = queue.options;
  return { name, options, store: queue.store };
}

function encodeFollowUp(
  { queue: home, batch, find }: { queue: EncodeTarget; batch: string; find: FindFollowUpQueue },
  kind: keyof typeof KINDS,
  asked: FollowUp | TypedFollowUp,
): { followUp: EncodedFollowUp; check: Promise<unknown> | undefined } {
  const subject = `batch.${kind}`;
  const job = jobOfFollowUp(subject, asked);
  const {
    payload = { batchId: batch },
    queue: name = home.name,
    definition: _definition,
    ...given
  } = asked as FollowUp;
  const found = asked.queue === undefined ? home : find(name, asked as FollowUp);
  const target = found ?? (name === home.name ? home : anotherTarget(home, name));
  const maker = followUpMaker(home.name, batch, target.name);
  const options = isJobDefinition(job)
    ? typedOptions(name, job, given, subject)
    : { ...given, name: given.name ?? name };
  const encoded = encodeJob(target, payload, options, subject, maker);
  const check = isJobDefinition(job)
    ? checkPayload(job, encoded.payload, target, batch, payloadSubject(subject))
    : undefined;
  const isHere = target.name === home.name;
  refuseFarPayload(subject, encoded.payload, isHere);
  return {
    followUp: {
      kind: KINDS[kind],
      name: encoded.name,
      payload: encoded.payload,
      options: { ...encoded.options, batch: isHere ? followUpRef(batch) : refTo(home.name, batch) },
      ...(!isHere && { elsewhere: { queue: target.name, id: `${maker}:${KINDS[kind]}` } }),
    },
    check: check instanceof Promise ? check : undefined,
  };
}

/**
 * Refuses a payload for another queue that its workers may not load. The process that sends it may have a lower limit, so
 * nobody announces a larger one there.
 *
 * @throws InvalidPayloadError
 */
function refuseFarPayload(subject: string, json: string, isHere: boolean): void {
  if (!isHere && isGiant(json, USUAL_PAYLOAD_BYTES)) {
    throw new InvalidPayloadError(
      payloadSubject(subject),
      `at most ${USUAL_PAYLOAD_BYTES} bytes of JSON for another queue than that of the batch`,
      `${Buffer.byteLength(json)} bytes`,
    );
  }
}

/** @throws InvalidOptionError for a queue that a batch cannot reach, because its keys are elsewhere */
export function refuseUnreachable(subject: string, home: QueueAccess, target: QueueAccess): void {
  const { prefix, hashTag } = target.options;
  if (target.store !== home.store || prefix !== home.options.prefix || hashTag !== home.options.hashTag) {
    const place = `a queue on the same Redis as ${show(home.name)}, with the same prefix and hashTag`;
    throw new InvalidOptionError(subject, place, show(target.name));
  }
}
