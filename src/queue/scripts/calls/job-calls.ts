import type { JobRecord, JobStatus } from '../../model/job.js';
import { oneOf } from '../../replies/check-reply.js';
import { decodeJob, decodeJobHash } from '../../replies/decode-job.js';
import type {
  CancelReply,
  RemoveReply,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from '../../store/call-outcomes.js';
import { type EncodedJob, type EnqueueReply, decodeEnqueue } from '../../store/enqueue-call.js';
import type { CommandCall, ScriptArgument, ScriptCall } from '../../transport/script-runner.js';
import { encodePlainOptions } from '../../model/metadata.js';
import { encodeJobOptions, isPlain } from '../encode-job-options.js';
import { type CallContext, call } from '../script-call.js';
import { inGroups } from '../in-groups.js';

// The outcomes of each script, as in its header.
const REMOVED: (reply: unknown) => RemoveReply = oneOf(
  'removed',
  'posted',
  'processing',
  'missing',
  'missing-posted',
  'changed',
);
const RESTARTED: (reply: unknown) => RestartOutcome = oneOf('pending', 'refused', 'missing');
const UPDATED: (reply: unknown) => UpdateOutcome = oneOf('updated', 'refused', 'missing');
const RESCHEDULED: (reply: unknown) => RescheduleOutcome = oneOf('scheduled', 'pending', 'refused', 'missing');
const CANCELLED: (reply: unknown) => CancelReply = oneOf(
  'cancelled',
  'posted',
  'requested',
  'finished',
  'missing',
  'changed',
);

/** Returns the calls of `lua/job`, one for each script; see the headers there. */
export function jobCalls(context: CallContext) {
  const { keys, retention } = context;
  return {
    enqueue: (jobs: readonly EncodedJob[], mayBeBounded = false) => enqueue(context, jobs, mayBeBounded),

    remove(id: string, ifStatus: JobStatus | '' = ''): ScriptCall<RemoveReply> {
      return call('jobRemove', keys.standard, [id, ifStatus], REMOVED);
    },

    promote(id: string): ScriptCall<RestartOutcome> {
      return call('jobPromote', keys.standard, [id], RESTARTED);
    },

    update(id: string, payload: string, name = ''): ScriptCall<UpdateOutcome> {
      return call('jobUpdate', keys.standard, [id, payload, name], UPDATED);
    },

    setPriority(id: string, priority: number): ScriptCall<UpdateOutcome> {
      return call('jobSetPriority', keys.standard, [id, priority], UPDATED);
    },

    runAgain(id: string, request: string): ScriptCall<RestartOutcome> {
      return call('jobRunAgain', keys.standard, [id, request], RESTARTED);
    },

    /** Returns in how many ms the start would be, and the expiry, where the job would have expired by then. */
    reschedule(id: string, start: { delayMs: number } | { runAtMs: number }) {
      const args = 'delayMs' in start ? [id, start.delayMs, ''] : [id, '', start.runAtMs];
      return call('jobReschedule', keys.standard, args, (reply) => {
        if (Array.isArray(reply)) {
          const [startsInMs, expiresInMs] = (reply as number[]).map(Number);
          return { startsInMs: startsInMs!, expiresInMs: expiresInMs! };
        }
        return RESCHEDULED(reply);
      });
    },

    cancel(id: string, ifStatus: JobStatus | '' = ''): ScriptCall<CancelReply> {
      const args = [...retention, id, '', ifStatus];
      return call('jobCancel', keys.standard, args, CANCELLED);
    },

    /** Returns the job too, where this request cancelled it. */
    cancelAndReturn(
      id: string,
      request: string,
      ifStatus: JobStatus | '' = '',
    ): ScriptCall<{ outcome: CancelReply; cancelled?: JobRecord }> {
      return call('jobCancel', keys.standard, [...retention, id, request, ifStatus], (reply) =>
        Array.isArray(reply)
          ? { outcome: CANCELLED(reply[0]), cancelled: decodeJob(keys.queue, id, reply[1] as string[]) }
          : { outcome: CANCELLED(reply) },
      );
    },

    get(id: string): CommandCall<JobRecord | null> {
      return {
        script: 'get',
        keys: [keys.jobPrefix, keys.job(id)],
        args: [id],
        send: (client) => client.hgetall(keys.job(id)),
        decode: (reply) => {
          const hash = reply as Record<string, string>;
          return Object.keys(hash).length > 0 ? decodeJobHash(keys.queue, id, hash) : null;
        },
      };
    },
  };
}

/**
 * Returns the call that adds jobs. Its `decode` throws an EnqueueRejected if the script wrote nothing.
 *
 * @param mayBeBounded whether plain jobs pass all keys too, because a bound may be set at run time
 */
function enqueue(
  context: CallContext,
  jobs: readonly EncodedJob[],
  mayBeBounded: boolean,
): ScriptCall<EnqueueReply[]> {
  const { keys, options, enqueuesPublished } = context;
  const { maxPending, maxPendingBytes } = options;
  const publishes = enqueuesPublished !== 'off';
  const isBounded = mayBeBounded || maxPending !== undefined || maxPendingBytes !== undefined;
  const plain = !isBounded && !publishes && jobs.every((job) => !job.options || isPlain(job.options));
  return {
    script: 'jobEnqueue',
    keys: plain ? keys.forPlainEnqueue : publishes ? keys.forPublishedEnqueue : keys.forEnqueue,
    args: plain
      ? plainArguments(jobs)
      : [
          ...jobs.flatMap((job) => [job.id, job.name, job.payload, encodeJobOptions(job.options)]),
          ...(isBounded || publishes ? [maxPending ?? '', maxPendingBytes ?? '', enqueuesPublished] : []),
        ],
    ...(plain && { resend: (reply) => (isBoundedReply(reply) ? enqueue(context, jobs, true) : undefined) }),
    decode: (reply) => decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
  };
}

/** Returns true if plain jobs met a bound that was set at run time, so that nothing was written. */
function isBoundedReply(reply: unknown): boolean {
  return Array.isArray(reply) && String(reply[0]) === 'bounded';
}

/** A plain job. Its text is that of its metadata. */
type PlainJob = Pick<EncodedJob, 'id' | 'name' | 'payload'> & { text?: string };

/** Returns the arguments of plain jobs. Consecutive jobs with the same name and metadata share both. */
function plainArguments(jobs: readonly EncodedJob[]): ScriptArgument[] {
  return inGroups<PlainJob>(jobs.some(({ options }) => options) ? jobs.map(withText) : jobs, {
    areTogether: (a, b) => a.name === b.name && a.text === b.text,
    addHead: (args, { name, text }, count) => args.push(name, text === undefined ? count : -count),
    addOwn: (args, { id, payload }) => args.push(id, payload),
    addTail: (args, { text }) => text !== undefined && args.push(text),
  });
}

function withText({ id, name, payload, options }: EncodedJob): PlainJob {
  const metadata = options?.metadata;
  return { id, name, payload, ...(metadata && { text: encodePlainOptions(metadata) }) };
}
