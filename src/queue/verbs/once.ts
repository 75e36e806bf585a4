// The verbs of senders that keep jobs elsewhere, such as in rows of a database: the scripts of lua/once.
import type { SealedError } from '../codec/sealed.js';
import { errorFingerprint } from '../errors/error-kind.js';
import type { GroupLimits } from '../model/limits.js';
import { listOf, oneOf, rowsOf, textOf, wholeNumberOf } from '../replies/check-reply.js';
import { encodeJobOptions } from '../scripts/encode-job-options.js';
import type { CallContext } from '../scripts/script-call.js';
import { type EncodedJob, type EnqueueReply, decodeEnqueue, EnqueueRejected } from '../store/enqueue-call.js';
import type { ScriptArgument } from '../transport/script-runner.js';
import { PLAIN_OPTIONS, by, command, each, number, text, verb } from './verb.js';

/** A job that its sender keeps elsewhere. */
export interface OnceEntry {
  /** Identifies the entry among all of its source. It is never used for another entry. */
  key: string;
  job: EncodedJob;
  /** What the job had elsewhere. Absent if it has never run. */
  ran?: { attempts: number; errors: number; crashes: number };
  /** True if the sender keeps an entry whose id is known: it gets no mark. */
  mustBeNew?: true;
}

/** A dead letter that its sender keeps elsewhere, such as a failed job of another library. */
export interface DeadEntry {
  /** As of an OnceEntry. */
  key: string;
  job: EncodedJob;
  ran: { attempts: number; errors: number; crashes: number };
  /** The last error of the job, and the time of that attempt there, in ms. */
  failure: { error: SealedError; kind?: string; startedAt: number; endedAt: number };
}

/** The outcome of a dead letter. `existing`: its id is known. `full`: the cap would delete one. Neither gets a mark. */
export type DeadReply = { outcome: 'new' | 'known' | 'existing' } | { outcome: 'full'; cap: number };

/**
 * The outcome of an entry: `known` if an earlier call added its job, or why nothing was done. `held`: an earlier entry of
 * its group was not added. `broken`: the script failed at its content, and added nothing of it.
 */
export type OnceReply =
  | EnqueueReply
  | { outcome: 'known' | 'held' }
  | { outcome: 'refused'; reason: EnqueueRejected }
  | { outcome: 'broken'; message: string };

/** The replies, or the fence of another sender, which has taken over. */
export type OnceReplies<Reply = OnceReply> = { replies: Reply[] } | { newerFence: number };

/** The senders of one source share its entries. One of them sends at a time, with a fence larger than those before. */
export interface OnceSender {
  source: string;
  fence: number;
  /** True if the bounds of this process do not apply: they are those of another queue. */
  isUnbounded?: true;
}

/** Entries of one sender. */
export interface Sent<Entry> {
  sender: OnceSender;
  entries: readonly Entry[];
}

const DEAD_OUTCOME = oneOf('new', 'known', 'existing');

export const ONCE = {
  /** Adds the job of each entry, unless an earlier call did. */
  enqueue: verb('onceEnqueue', {
    keys: (keys, { sender }) => keys.forEnqueueOnce(sender.source),
    args: by(enqueueArguments, { ...PLAIN_OPTIONS, source: true }),
    repeat: 'same',
    reply: (reply, { entries }) => decode(entries, reply),
  }),

  /** Adds each dead letter, unless an earlier call did. */
  addDeadLetters: verb('onceAddDeadLetters', {
    keys: (keys, { sender }) => keys.forDeadLettersOnce(sender.source),
    args: by(
      ({ sender: { source, fence }, entries }: Sent<DeadEntry>, { options }: CallContext) => [
        source,
        fence,
        options.deadLetterCap,
        ...entries.flatMap(deadArguments),
      ],
      { ...PLAIN_OPTIONS, source: true, kind: true },
    ),
    reply(reply): OnceReplies<DeadReply> {
      const [first, ...rest] = listOf(reply);
      return first === 'stale' ? { newerFence: wholeNumberOf(rest[0]) } : { replies: listOf(reply).map(deadReply) };
    },
  }),

  /** Forgets the marks of entries that are gone for good. Returns how many there were. */
  forget: command('onceForget', {
    keys: (keys, { source }) => [keys.once(source)],
    args: { source: text, keys: each(text) },
    send: (client, given, keys) => client.zrem(keys.once(given.source), ...given.keys),
    reply: wholeNumberOf,
  }),

  /** Returns the keys of the oldest marks. */
  marks: command('onceMarks', {
    keys: (keys, { source }) => [keys.once(source)],
    args: { source: text, limit: number },
    send: (client, { source, limit }, keys) => client.zrange(keys.once(source), 0, String(limit - 1)),
    reply: (reply) => listOf(reply).map(textOf),
  }),
};

function enqueueArguments(
  { sender: { source, fence, isUnbounded }, entries }: Sent<OnceEntry>,
  { options, enqueuesPublished }: CallContext,
): ScriptArgument[] {
  const { maxPending = '', maxPendingBytes = '', groups = {} } = isUnbounded ? {} : options;
  const rows = entries.flatMap((entry) => {
    const { id, name, payload } = entry.job;
    return [entry.key, id, name, payload, encodeOptions(entry, groups)];
  });
  return [source, fence, maxPending, maxPendingBytes, enqueuesPublished, ...rows];
}

/** Decodes the outcome of a dead letter. A number is the cap. */
function deadReply(reply: unknown): DeadReply {
  return Number.isNaN(Number(reply))
    ? { outcome: DEAD_OUTCOME(reply) }
    : { outcome: 'full', cap: wholeNumberOf(reply) };
}

function deadArguments({ key, job, ran, failure }: DeadEntry): (string | number)[] {
  const { id, name, payload, options } = job;
  const { error, kind, startedAt, endedAt } = failure;
  const last = { attempt: ran.attempts, fence: 0, outcome: 'error', startedAt, endedAt, worker: null, error };
  return [
    key,
    id,
    name,
    payload,
    encodeJobOptions(options),
    ran.attempts,
    ran.errors,
    ran.crashes,
    error.message,
    kind ?? errorFingerprint(error),
    JSON.stringify(last),
  ];
}

/** Returns the options of a job, with what only its entry has. */
function encodeOptions({ job, ran, mustBeNew }: OnceEntry, bounds: GroupLimits): string {
  const encoded = encodeJobOptions(job.options, bounds);
  if (ran === undefined && mustBeNew === undefined) {
    return encoded;
  }
  const options = encoded === '' ? {} : (JSON.parse(encoded) as object);
  return JSON.stringify({ ...options, ...(ran && { ran }), ...(mustBeNew && { must_be_new: true }) });
}

function decode(entries: readonly OnceEntry[], reply: unknown): OnceReplies {
  const fields = reply === null ? [] : listOf(reply);
  if (fields[0] === 'stale') {
    return { newerFence: wholeNumberOf(fields[1]) };
  }
  const told = new Map(rowsOf(fields, 4).map((row) => [Number(row[0]) - 1, row.slice(1)]));
  return { replies: entries.map((entry, i) => decodeOne(entry, told.get(i))) };
}

function decodeOne({ job }: OnceEntry, told: string[] | undefined): OnceReply {
  if (told?.[0] === 'known' || told?.[0] === 'held') {
    return { outcome: told[0] };
  }
  if (told?.[0] === 'broken') {
    return { outcome: 'broken', message: told[1]! };
  }
  try {
    return decodeEnqueue([job], told ? [1, ...told] : [])[0]!;
  } catch (error) {
    if (error instanceof EnqueueRejected) {
      return { outcome: 'refused', reason: error };
    }
    throw error;
  }
}
