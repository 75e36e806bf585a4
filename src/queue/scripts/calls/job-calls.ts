import { flagOf, oneOf, wholeNumbersOf } from '../../replies/check-reply.js';
import { decodeJob, decodeJobHash } from '../../replies/decode-job.js';
import { type EncodedJob, type EnqueueReply, decodeEnqueue } from '../../store/enqueue-call.js';
import type { StoreCalls } from '../../store/store-calls.js';
import type { ScriptArgument, ScriptCall } from '../../transport/script-runner.js';
import { encodePlainOptions } from '../../model/metadata.js';
import { encodeJobOptions, isPlain } from '../encode-job-options.js';
import { type CallContext, call, command } from '../script-call.js';
import { inGroups } from '../in-groups.js';

// The outcomes of each script, as in its header.
const REMOVED = oneOf('removed', 'posted', 'processing', 'missing', 'missing-posted', 'changed');
const RESTARTED = oneOf('pending', 'refused', 'missing');
const UPDATED = oneOf('updated', 'refused', 'missing');
const RESCHEDULED = oneOf('scheduled', 'pending', 'refused', 'missing');
const CANCELLED = oneOf('cancelled', 'posted', 'requested', 'finished', 'missing', 'changed');

/** Returns the calls of `lua/job`, one for each script; see StoreCalls and the headers there. */
export function jobCalls(context: CallContext) {
  const { keys, retention } = context;
  return {
    enqueue: (jobs: readonly EncodedJob[], mayBeBounded = false) => enqueue(context, jobs, mayBeBounded),

    checkEnqueue: (jobs) =>
      call(
        'jobCheckEnqueue',
        keys.standard,
        jobs.flatMap(({ id, options }) => [id, encodeJobOptions(options)]),
        (reply) => void decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
      ),

    remove: (id, ifStatus?) => call('jobRemove', keys.standard, [id, ifStatus ?? ''], REMOVED),

    holdResult: (id, forMs) => call('jobHoldResult', keys.standard, [id, forMs], flagOf),

    promote: (id) => call('jobPromote', keys.standard, [id], RESTARTED),

    update: (id, payload, name = '') => call('jobUpdate', keys.standard, [id, payload, name], UPDATED),

    setPriority: (id, priority) => call('jobSetPriority', keys.standard, [id, priority], UPDATED),

    runAgain: (id, request) => call('jobRunAgain', keys.standard, [id, request], RESTARTED),

    reschedule(id, start) {
      const args = 'delayMs' in start ? [id, start.delayMs, ''] : [id, '', start.runAtMs];
      return call('jobReschedule', keys.standard, args, (reply) => {
        if (Array.isArray(reply)) {
          const [startsInMs, expiresInMs] = wholeNumbersOf(reply, 2);
          return { startsInMs: startsInMs!, expiresInMs: expiresInMs! };
        }
        return RESCHEDULED(reply);
      });
    },

    cancel: (id, ifStatus?) => call('jobCancel', keys.standard, [...retention, id, '', ifStatus ?? ''], CANCELLED),

    cancelAndReturn: (id, request, ifStatus?) =>
      call('jobCancel', keys.standard, [...retention, id, request, ifStatus ?? ''], (reply) =>
        Array.isArray(reply)
          ? { outcome: CANCELLED(reply[0]), cancelled: decodeJob(keys.queue, id, reply[1] as string[]) }
          : { outcome: CANCELLED(reply) },
      ),

    get: (id) =>
      command(
        'get',
        [keys.jobPrefix, keys.job(id)],
        (client) => client.hgetall(keys.job(id)),
        (reply) => {
          const hash = reply as Record<string, string>;
          return Object.keys(hash).length > 0 ? decodeJobHash(keys.queue, id, hash) : null;
        },
      ),
  } satisfies Partial<StoreCalls>;
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
  const { maxPending, maxPendingBytes, groups } = options;
  const publishes = enqueuesPublished !== 'off';
  const isBounded = mayBeBounded || maxPending !== undefined || maxPendingBytes !== undefined;
  if (jobs.some(endsOlder)) {
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
  return options?.unique?.maxDelayMs !== undefined;
}

/** Returns the call that adds jobs, some of which may change or end older ones. */
function enqueueNewest(context: CallContext, jobs: readonly EncodedJob[]): ScriptCall<EnqueueReply[]> {
  const { keys, options, enqueuesPublished, retention } = context;
  const { maxPending, maxPendingBytes, groups } = options;
  return call(
    'jobEnqueueNewest',
    keys.standard,
    [
      ...retention,
      maxPending ?? '',
      maxPendingBytes ?? '',
      enqueuesPublished,
      ...jobs.flatMap((job) => [job.id, job.name, job.payload, encodeJobOptions(job.options, groups)]),
    ],
    (reply) => decodeEnqueue(jobs, (reply as (string | number)[] | null) ?? []),
  );
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
