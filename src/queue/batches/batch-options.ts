import { z } from 'zod';
import { encodeJob, type EncodeTarget } from '../enqueue/encode-job.js';
import type { JobRules } from '../enqueue/enqueue-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { BATCH_PARTS, type EncodedBatch, type EncodedFollowUp } from '../model/batch.js';
import type { JobMetadata } from '../model/metadata.js';
import { optionsOf } from '../store/enqueue-call.js';
import { followUpRef } from '../store/job-ref.js';
import { BATCH_PREFIX, checkJobId } from '../validation/names.js';
import { duration } from '../validation/numbers.js';
import { checkKnown, checkObject, checkOptions } from '../validation/validate-options.js';

/** A job that follows a batch. Its id is fixed: `@batch:{id of the batch}:then`, `:on_failure` or `:finally`. */
export interface FollowUp extends JobRules {
  /** The name that selects the handler. @default the name of the batch's queue */
  name?: string;
  /** Default: `{ batchId }`. */
  payload?: unknown;
  /** The start, in ms after the last member has ended. @default at once */
  delayMs?: number;
  /** Fails the follow-up if it has not started within this many ms after the last member has ended. @default without a limit */
  expiresInMs?: number;
  /** The share of the queue's `rateLimit` that it takes. @default 1 */
  cost?: number;
  /** Small texts that travel with the job. @default none */
  metadata?: JobMetadata;
}

/** The follow-ups of a batch, and its options. */
export interface BatchOptions {
  /** Your own id: creating it again opens the existing batch. @default a random one */
  id?: string;
  /** The job that follows where all members completed and the batch was not cancelled. @default none */
  then?: FollowUp;
  /** The job that follows where a member failed, was cancelled or was deleted, or the batch was cancelled. @default none */
  onFailure?: FollowUp;
  /** The job that follows in any case. @default none */
  finally?: FollowUp;
  /** Cancels the other members once one did not end well. @default false */
  failFast?: boolean;
  /** The time the outcomes of the members can be read after the follow-ups have ended, in ms. @default 300,000 */
  resultTtlMs?: number;
}

const followUp = z.looseObject({}, { error: 'expected an object with name, payload and options of a job' });

const batchSchema = z.strictObject(
  {
    id: z.string({ error: 'expected text' }).optional(),
    then: followUp.optional(),
    onFailure: followUp.optional(),
    finally: followUp.optional(),
    failFast: z.boolean({ error: 'expected true or false' }).default(false),
    resultTtlMs: duration(1).default(300_000),
  },
  { error: 'expected an object with then, onFailure, finally, failFast' },
);

const KINDS = { then: 'then', onFailure: 'on_failure', finally: 'finally' } as const;

/** Every option of a follow-up. */
export const FOLLOW_UP_OPTIONS: readonly (keyof FollowUp)[] = [
  'name',
  'payload',
  'delayMs',
  'expiresInMs',
  'priority',
  'maxAttempts',
  'maxCrashes',
  'backoff',
  'timeoutMs',
  'keepResult',
  'resultTtlMs',
  'cost',
  'group',
  'metadata',
];

/**
 * Checks and encodes a batch. Nothing is written yet.
 *
 * @throws InvalidOptionError, InvalidPayloadError
 */
export function encodeBatch(queue: EncodeTarget, options: BatchOptions): EncodedBatch {
  const {
    id = queue.store.clock.randomId(),
    failFast,
    resultTtlMs,
    ...rest
  } = checkOptions('batch', batchSchema, options);
  checkBatchId(id);
  const followUps = Object.keys(KINDS).flatMap((kind) => {
    const asked = rest[kind as keyof typeof KINDS] as FollowUp | undefined;
    return asked ? [encodeFollowUp(queue, id, kind as keyof typeof KINDS, asked)] : [];
  });
  return { id, failFast, resultTtlMs, followUps };
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
 * Checks that a follow-up is an object without unknown options, which names its job.
 *
 * @throws InvalidOptionError
 */
export function checkFollowUp(subject: string, asked: FollowUp): void {
  checkObject(subject, 'an object with the `name` of a job', asked);
  checkKnown(subject, asked, FOLLOW_UP_OPTIONS);
}

function encodeFollowUp(
  queue: EncodeTarget,
  batch: string,
  kind: keyof typeof KINDS,
  followUpOptions: FollowUp,
): EncodedFollowUp {
  const subject = `batch.${kind}`;
  checkFollowUp(subject, followUpOptions);
  const { payload = { batchId: batch }, ...options } = followUpOptions;
  const job = encodeJob(queue, payload, options, subject, `${BATCH_PREFIX}${batch}`);
  const asked = JSON.parse(optionsOf(job) || '{}') as { worker?: string };
  const worker = { ...(JSON.parse(asked.worker ?? '{}') as object), batch };
  return {
    kind: KINDS[kind],
    name: job.name,
    payload: job.payload,
    options: JSON.stringify({ ...asked, batch: followUpRef(batch), worker: JSON.stringify(worker) }),
  };
}
