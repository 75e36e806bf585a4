// A step of enqueues: the arguments of one script call, and its reply.
import {
  BatchNotFoundError,
  BatchSealedError,
  ClaimLostError,
  InvalidOptionError,
  JobQueueError,
} from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { Sealed } from '../codec/sealed.js';
import type { JobReference } from '../model/batch.js';
import type { Durability } from '../model/job-options.js';
import type { AskedOptions } from './asked-options.js';
import { splitRef } from './job-ref.js';

/** The bound that refused a job. */
export interface Full {
  /** Undefined where the queue is full. */
  group: string | undefined;
  limit: number;
  unit: 'jobs' | 'bytes';
}

/** A job to enqueue, encoded. */
export interface EncodedJob {
  id: string;
  name: string;
  /** JSON. */
  payload: Sealed;
  /** Absent for none. */
  options?: AskedOptions;
  durability?: Durability; // if it differs from the queue's
  /** The start and the expiry of a job with both. Only the server's clock can compare them. */
  span?: { runAtMs: number; expiresInMs: number };
  /** The jobs of other queues in its `after`, which are asked before it is sent. */
  afterElsewhere?: readonly JobReference[];
  /** True if only the server knows whether the job can join its batch or wait for other jobs. It is sent alone. */
  travelsAlone?: true;
}

/**
 * Takes the time that a job has waited elsewhere off its delay and its expiry, and returns it. A job that has expired
 * meanwhile expires at once, and becomes a dead letter.
 */
export function aged(job: EncodedJob, ageMs: number): EncodedJob {
  const { options } = job;
  if (options?.delayMs !== undefined) {
    options.delayMs = Math.max(0, Math.round(options.delayMs - ageMs));
  }
  if (options?.expiresInMs !== undefined) {
    options.expiresInMs = Math.max(1, Math.round(options.expiresInMs - ageMs));
  }
  return job;
}

export interface EnqueueReply {
  /** The id of the new or existing job. */
  id: string;
  /** `existing`: the id was known. `kept`, `replaced`: another job owns the unique key. */
  outcome: 'new' | 'existing' | 'kept' | 'replaced';
  /** How the existing job has ended. Absent if it has not, or if the job is new. */
  ended?: 'completed' | 'failed' | 'cancelled';
  /** The name of the existing job, if it differs from the requested one. */
  name?: string;
  /** Set where the job was not added, since too much waits in its group, or without one in the queue. */
  full?: Full;
  /** The number of replicas that had it in time, and the error if that is unknown. Present only if requested. */
  replication?: { acknowledged: number; failure: Error | undefined };
}

/** The reason why a job cannot join its batch or wait for others, and the batch or job concerned. */
interface FollowRefusal {
  reason: keyof typeof FOLLOW_REFUSALS;
  about: string;
}

/** A step wrote nothing, because this job would expire before its start or was refused. */
export class EnqueueRejected extends JobQueueError {
  constructor(
    readonly job: EncodedJob,
    readonly startsInMs: number,
    readonly refusal?: FollowRefusal,
  ) {
    super(
      refusal
        ? `Job ${job.id}: ${refusal.reason} (${refusal.about}); nothing of its step was written.`
        : `Job ${job.id} would expire before it may start; nothing of its step was written.`,
    );
  }
}

const FOLLOW_REFUSALS = {
  'no-batch': (_subject: string, { id }: JobReference) => new BatchNotFoundError(id),
  sealed: (_subject: string, { id }: JobReference) => new BatchSealedError(id),
  lost: (_subject: string, { id }: JobReference) => new ClaimLostError(id),
  unknown: (subject: string, { queue, id }: JobReference) =>
    afterError(
      subject,
      'a job that is still known',
      `${show(id)}, which the queue ${show(queue)} does not know`,
      'It was never enqueued there, or is forgotten. For a job of another queue give its handle or { queue, id }.',
    ),
  failed: (subject: string, job: JobReference) =>
    afterError(subject, 'a job that has not failed', `${told(job)}, which is a dead letter`, 'Redrive it first.'),
  cancelled: (subject: string, job: JobReference) =>
    afterError(subject, 'a job that was not cancelled', `${told(job)}, which was cancelled`),
  crowded: (subject: string, job: JobReference) =>
    afterError(
      subject,
      'a job that fewer than 1,000 others wait for',
      `${told(job)}, which has as many`,
      'Use a batch with a follow-up that enqueues them.',
    ),
};

function told({ queue, id }: JobReference): string {
  return `${show(id)} of the queue ${show(queue)}`;
}

function afterError(subject: string, expected: string, found: string, hint = ''): InvalidOptionError {
  return new InvalidOptionError(`${subject}.after`, expected, found, hint);
}

const OUTCOMES = {
  exists: { outcome: 'existing' },
  exists_completed: { outcome: 'existing', ended: 'completed' },
  exists_failed: { outcome: 'existing', ended: 'failed' },
  exists_cancelled: { outcome: 'existing', ended: 'cancelled' },
  kept: { outcome: 'kept' },
  replace: { outcome: 'replaced' },
} as const;
const FULL_IN = { full: 'jobs', full_bytes: 'bytes', group_full: 'jobs', group_full_bytes: 'bytes' } as const;
type Verdict = keyof typeof OUTCOMES | keyof typeof FOLLOW_REFUSALS | keyof typeof FULL_IN | 'refused';

/**
 * Decodes the reply of `lua/job/enqueue.lua` to a step.
 *
 * @throws EnqueueRejected
 */
export function decodeEnqueue(jobs: readonly EncodedJob[], reply: readonly (string | number)[]): EnqueueReply[] {
  const replies = jobs.map((job): EnqueueReply => ({ id: job.id, outcome: 'new' }));
  for (let at = 0; at < reply.length; at += 4) {
    const i = Number(reply[at]) - 1; // some clients give numbers as text
    const [verdict, detail, name] = reply.slice(at + 1, at + 4) as [Verdict, string, string];
    const job = jobs[i]!;
    if (verdict === 'refused') {
      throw new EnqueueRejected(job, Number(detail));
    }
    if (verdict in FOLLOW_REFUSALS) {
      throw new EnqueueRejected(job, 0, { reason: verdict as FollowRefusal['reason'], about: detail });
    }
    if (verdict in FULL_IN) {
      const unit = FULL_IN[verdict as keyof typeof FULL_IN];
      replies[i] = {
        id: job.id,
        outcome: 'new',
        full: { group: name || undefined, limit: Number(detail), unit },
      };
      continue;
    }
    const renamed = name !== '' && name !== job.name;
    replies[i] = { id: detail, ...OUTCOMES[verdict as keyof typeof OUTCOMES], ...(renamed && { name }) };
  }
  return replies;
}

/**
 * Returns the error of a refused step for its caller.
 *
 * @param queue the queue of the step
 * @param subject how errors name the job
 */
export function faultOf(
  { job, startsInMs, refusal }: EnqueueRejected,
  queue: string,
  subject: string,
): JobQueueError {
  if (refusal) {
    return FOLLOW_REFUSALS[refusal.reason](subject, splitRef(queue, refusal.about));
  }
  return new InvalidOptionError(
    `${subject}.expiresInMs`,
    beforeStart(startsInMs, 'until runAt by the clock of Redis'),
    show(job.span?.expiresInMs),
  );
}

/** Returns the expected value of `expiresInMs`. */
export function beforeStart(startsInMs: number, of: string): string {
  return `more than the ${startsInMs} ms ${of}, before which it cannot start`;
}
