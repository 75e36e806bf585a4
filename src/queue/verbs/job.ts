// The verbs of one job, and of producers: the scripts of lua/job.
import type { JobStatus } from '../model/job.js';
import { keepsNewest } from '../model/job-options.js';
import { encodePlainOptions } from '../model/metadata.js';
import { MOST_BYTES_OF_SIGNALS, MOST_SIGNALS, SIGNAL_REPLIES } from '../model/signal.js';
import { flagOf, oneOf, wholeNumbersOf } from '../replies/check-reply.js';
import { decodeJob, decodeJobHash } from '../replies/decode-job.js';
import { encodeJobOptions, isPlain } from '../scripts/encode-job-options.js';
import { inGroups } from '../scripts/in-groups.js';
import type { CallContext } from '../scripts/script-call.js';
import type { RescheduleOutcome } from '../store/call-outcomes.js';
import { type EncodedJob, type EnqueueReply, decodeEnqueue } from '../store/enqueue-call.js';
import type { ScriptArgument, ScriptCall } from '../transport/script-runner.js';
import { PLAIN_OPTIONS, by, byHand, command, number, optional, own, sealed, text, verb, word } from './verb.js';

const RESTARTED = oneOf('pending', 'refused', 'missing');
const UPDATED = oneOf('updated', 'refused', 'missing');
const RESCHEDULED = oneOf('scheduled', 'pending', 'refused', 'missing');
const CANCELLED = oneOf('cancelled', 'posted', 'requested', 'finished', 'missing', 'changed');

const retention = own((context) => context.retention);
const ifStatus = optional(word<JobStatus>());

export const JOB = {
  /** Enqueues jobs. Its `decode` throws an EnqueueRejected if nothing was written. */
  enqueue: byHand(
    'jobEnqueue',
    (context) => (jobs: readonly EncodedJob[], mayBeBounded?: boolean) => enqueue(context, jobs, mayBeBounded),
    PLAIN_OPTIONS,
    'same',
  ),

  /** Checks jobs of an enqueue of several steps. Its `decode` throws an EnqueueRejected if one would be refused. */
  checkEnqueue: verb('jobCheckEnqueue', {
    args: {
      jobs: by(
        (jobs: readonly EncodedJob[]) => jobs.flatMap(({ id, options }) => [id, encodeJobOptions(options)]),
        PLAIN_OPTIONS,
      ),
    },
    reply: (reply, { jobs }) => void decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
  }),

  /** Returns the record of a job, or null for an unknown one. */
  get: command('get', {
    args: { id: text },
    keys: (keys, { id }) => [keys.jobPrefix, keys.job(id)],
    send: (client, { id }, keys) => client.hgetall(keys.job(id)),
    reply: (reply, { id }, { keys }) => {
      const hash = reply as Record<string, string>;
      return Object.keys(hash).length > 0 ? decodeJobHash(keys.queue, id, hash) : null;
    },
  }),

  /** Cancels a job, unless it is in another status than `ifStatus`. */
  cancel: verb('jobCancel', {
    args: { retention, id: text, request: own(() => ''), ifStatus },
    repeat: 'same',
    reply: CANCELLED,
  }),

  /** Returns the job too, where this request cancelled it. */
  cancelAndReturn: verb('jobCancel', {
    args: { retention, id: text, request: text, ifStatus },
    repeat: 'same',
    reply: (reply, { id }, { keys }) =>
      Array.isArray(reply)
        ? { outcome: CANCELLED(reply[0]), cancelled: decodeJob(keys.queue, id, reply[1] as string[]) }
        : { outcome: CANCELLED(reply) },
  }),

  /** Deletes a job, unless it is in another status than `ifStatus`. */
  remove: verb('jobRemove', {
    args: { id: text, ifStatus },
    repeat: 'same',
    reply: oneOf('removed', 'posted', 'processing', 'missing', 'missing-posted', 'changed'),
  }),

  /** Keeps the record of an unfinished job after its end, for a caller that waits for its result. Returns false for another. */
  holdResult: verb('jobHoldResult', { args: { id: text, forMs: number }, reply: flagOf }),

  /** Starts a scheduled job now. */
  promote: verb('jobPromote', { args: { id: text }, repeat: 'same', reply: RESTARTED }),

  /** Replaces the payload. A job of another name than the required one is refused. */
  update: verb('jobUpdate', {
    args: { id: text, payload: sealed, name: optional(text) },
    repeat: 'same',
    reply: UPDATED,
  }),

  /** Gives a job a signal. @param given.request identifies this request, so that its repeat is recognised */
  signal: verb('jobSignal', {
    args: {
      id: text,
      signal: text,
      data: sealed,
      request: text,
      name: optional(text),
      most: own(() => [MOST_SIGNALS, MOST_BYTES_OF_SIGNALS]),
    },
    repeat: 'same',
    reply: oneOf(...SIGNAL_REPLIES),
  }),

  setPriority: verb('jobSetPriority', { args: { id: text, priority: number }, repeat: 'same', reply: UPDATED }),

  /** @param given.request identifies this request, so that its repeat is recognised */
  runAgain: verb('jobRunAgain', { args: { id: text, request: text }, repeat: 'same', reply: RESTARTED }),

  /**
   * Gives a job a new start, by `delayMs` or `runAtMs`. Returns in how many ms the start would be, and the expiry, where the
   * job would have expired by then.
   */
  reschedule: verb('jobReschedule', {
    args: { id: text, delayMs: optional(number), runAtMs: optional(number) },
    reply(reply): RescheduleOutcome | { startsInMs: number; expiresInMs: number } {
      if (Array.isArray(reply)) {
        const [startsInMs, expiresInMs] = wholeNumbersOf(reply, 2);
        return { startsInMs: startsInMs!, expiresInMs: expiresInMs! };
      }
      return RESCHEDULED(reply);
    },
  }),
};

/**
 * Returns the call that adds jobs. Its `decode` throws an EnqueueRejected if the script wrote nothing.
 *
 * @param mayBeBounded whether plain jobs pass all keys too, because a bound may be set at run time
 */
function enqueue(
  context: CallContext,
  jobs: readonly EncodedJob[],
  mayBeBounded = false,
): ScriptCall<EnqueueReply[]> {
  const { keys, options, enqueuesPublished } = context;
  const { maxPending, maxPendingBytes, groups } = options;
  const publishes = enqueuesPublished !== 'off';
  const isBounded = mayBeBounded || maxPending !== undefined || maxPendingBytes !== undefined;
  if (options.onFull === 'drop-oldest' || jobs.some(endsOlder)) {
    return enqueueNewest(context, jobs);
  }
  const plain = !isBounded && !publishes && jobs.every((job) => !job.options || isPlain(job.options));
  return {
    script: 'jobEnqueue',
    keys: plain ? keys.forPlainEnqueue : publishes ? keys.forPublishedEnqueue : keys.forEnqueue,
    args: plain
      ? plainArguments(jobs)
      : [
          ...jobs.flatMap((job) => [job.id, job.name, job.payload, encodeJobOptions(job.options, groups)]),
          ...(isBounded || publishes ? [maxPending ?? '', maxPendingBytes ?? '', enqueuesPublished] : []),
        ],
    ...(plain && { resend: (reply) => (isBoundedReply(reply) ? enqueue(context, jobs, true) : undefined) }),
    decode: (reply) => decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
  };
}

/** Returns whether a job may change an older one by more than a replacement; see lua/job/enqueue-newest. */
function endsOlder({ options }: EncodedJob): boolean {
  const unique = options?.unique;
  if (unique === undefined) {
    return false;
  }
  return unique.onConflict === 'replace' || unique.onConflict === 'cancel-running' || keepsNewest(unique);
}

/** Returns the call that adds jobs, some of which may change or end older ones. */
function enqueueNewest(context: CallContext, jobs: readonly EncodedJob[]): ScriptCall<EnqueueReply[]> {
  const { keys, options, enqueuesPublished } = context;
  const { maxPending, maxPendingBytes, groups, onFull } = options;
  return {
    script: 'jobEnqueueNewest',
    keys: keys.standard,
    args: [
      ...context.retention,
      maxPending ?? '',
      maxPendingBytes ?? '',
      enqueuesPublished,
      keys.queue,
      onFull === 'drop-oldest' ? '1' : '',
      ...jobs.flatMap((job) => [job.id, job.name, job.payload, encodeJobOptions(job.options, groups)]),
    ],
    decode: (reply) => decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
  };
}

/** Returns true if plain jobs met a bound that was set at run time, so that nothing was written. */
function isBoundedReply(reply: unknown): boolean {
  return Array.isArray(reply) && String(reply[0]) === 'bounded';
}

/** A plain job, with the text of its metadata. */
type PlainJob = Pick<EncodedJob, 'id' | 'name' | 'payload'> & { shared?: string };

/** Returns the arguments of plain jobs. Consecutive jobs with the same name and metadata share both. */
function plainArguments(jobs: readonly EncodedJob[]): ScriptArgument[] {
  return inGroups<PlainJob>(jobs.some(({ options }) => options) ? jobs.map(withText) : jobs, {
    areTogether: (a, b) => a.name === b.name && a.shared === b.shared,
    addHead: (args, { name, shared }, count) => args.push(name, shared === undefined ? count : -count),
    addOwn: (args, { id, payload }) => args.push(id, payload),
    addTail: (args, { shared }) => shared !== undefined && args.push(shared),
  });
}

function withText({ id, name, payload, options }: EncodedJob): PlainJob {
  const metadata = options?.metadata;
  return { id, name, payload, ...(metadata && { shared: encodePlainOptions(metadata) }) };
}
