import { listOf, oneOf, rowsOf, textOf, wholeNumberOf } from '../../replies/check-reply.js';
import { decodeEnqueue, EnqueueRejected } from '../../store/enqueue-call.js';
import { errorFingerprint } from '../../errors/error-kind.js';
import type {
  DeadEntry,
  DeadReply,
  OnceEntry,
  OnceReplies,
  OnceReply,
  OnceVerbs,
} from '../../store/verbs/once-verbs.js';
import type { RedisClient } from '../../redis/redis-client.js';
import type { GroupLimits } from '../../model/limits.js';
import { encodeJobOptions } from '../encode-job-options.js';
import { type CallContext, call, command } from '../script-call.js';

const DEAD_OUTCOME = oneOf('new', 'known', 'existing');

/** Returns the calls of `lua/once`; see OnceVerbs. A mark is forgotten and read by a command. */
export function onceCalls({ keys, options, enqueuesPublished }: CallContext) {
  return {
    enqueue({ source, fence, isUnbounded }, entries) {
      const { maxPending = '', maxPendingBytes = '', groups = {} } = isUnbounded ? {} : options;
      const each = entries.flatMap((entry) => {
        const { id, name, payload } = entry.job;
        return [entry.key, id, name, payload, encodeOptions(entry, groups)];
      });
      const args = [source, fence, maxPending, maxPendingBytes, enqueuesPublished, ...each];
      return call('onceEnqueue', keys.forEnqueueOnce(source), args, (reply) => decode(entries, reply));
    },

    addDeadLetters({ source, fence }, entries) {
      const args = [source, fence, options.deadLetterCap, ...entries.flatMap(deadArguments)];
      return call('onceAddDeadLetters', keys.forDeadLettersOnce(source), args, (reply) => {
        const [first, ...rest] = listOf(reply);
        if (first === 'stale') {
          return { newerFence: wholeNumberOf(rest[0]) };
        }
        return { replies: listOf(reply).map(deadReply) };
      });
    },

    forget(source, entryKeys) {
      const marks = keys.once(source);
      return command('onceForget', [marks], (client) => client.zrem(marks, ...entryKeys), wholeNumberOf);
    },

    marks(source, limit) {
      const marks = keys.once(source);
      const send = (client: RedisClient) => client.zrange(marks, 0, String(limit - 1));
      return command('onceMarks', [marks], send, (reply) => listOf(reply).map(textOf));
    },
  } satisfies OnceVerbs;
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
