// Adds jobs that a sender keeps elsewhere, each once; see lua/once/enqueue.lua.
import { EnqueueRejected, type EncodedJob } from '../../queue/store/enqueue-call.js';
import { errorFingerprint } from '../../queue/errors/describe-error.js';
import type {
  DeadEntry,
  DeadReply,
  OnceEntry,
  OnceReplies,
  OnceReply,
  OnceSender,
  OnceVerbs,
} from '../../queue/store/verbs/once-verbs.js';
import { retentionOf } from '../state/announcements.js';
import { ScoredSet } from '../state/scored-set.js';
import type { Hash, MemoryQueue } from '../state/memory-queue.js';
import { enqueue } from './enqueue.js';
import { callOf } from './memory-call.js';
import { leavePlain, writeOptions } from './write-options.js';

export function onceVerbs(queue: MemoryQueue): OnceVerbs {
  return {
    enqueue: (sender, entries) => callOf('onceEnqueue', () => enqueueOnce(queue, sender, entries)),
    addDeadLetters: (sender, entries) => callOf('onceAddDeadLetters', () => addDeadLetters(queue, sender, entries)),
    forget: (source, keys) =>
      callOf('onceForget', () => keys.filter((key) => marksOf(queue, source).delete(key)).length),
    marks: (source, limit) => callOf('onceMarks', () => marksOf(queue, source).members().slice(0, limit)),
  };
}

function marksOf({ once }: MemoryQueue, source: string): ScoredSet {
  const marks = once.marks.get(source) ?? new ScoredSet();
  once.marks.set(source, marks);
  return marks;
}

/** Notes the fence of a sender. Returns that of another one which has taken over. */
function overtaken({ once }: MemoryQueue, { source, fence }: OnceSender): number | undefined {
  const newest = once.fences.get(source) ?? fence;
  once.fences.set(source, Math.max(newest, fence));
  return newest > fence ? newest : undefined;
}

function enqueueOnce(queue: MemoryQueue, sender: OnceSender, entries: readonly OnceEntry[]): OnceReplies {
  const newerFence = overtaken(queue, sender);
  if (newerFence !== undefined) {
    return { newerFence };
  }
  const marks = marksOf(queue, sender.source);
  const held = new Set<string>();
  return { replies: entries.map((entry) => add(queue, marks, held, entry)) };
}

/** Adds one. If it is not added, later entries of its group wait too. @param held their groups */
function add(queue: MemoryQueue, marks: ScoredSet, held: Set<string>, entry: OnceEntry): OnceReply {
  const { key, job } = entry;
  if (marks.has(key)) {
    return { outcome: 'known' };
  }
  const group = job.options?.group;
  if (group !== undefined && held.has(group)) {
    return { outcome: 'held' };
  }
  const reply = addOne(queue, entry);
  const isKept = entry.mustBeNew && reply.outcome === 'existing';
  if (reply.outcome !== 'refused' && !('full' in reply) && !isKept) {
    marks.set(key, queue.now);
  } else if (group !== undefined) {
    held.add(group);
  }
  return reply;
}

function addOne(queue: MemoryQueue, { job, ran }: OnceEntry): OnceReply {
  try {
    const reply = enqueue(queue, [job])[0]!;
    if (ran && reply.outcome === 'new' && !reply.full) {
      writeRan(queue, job, ran);
    }
    return reply;
  } catch (reason) {
    if (reason instanceof EnqueueRejected) {
      return { outcome: 'refused', reason };
    }
    throw reason;
  }
}

/** Writes what the job had elsewhere. A repeat finds it, and leaves it. */
function writeRan(queue: MemoryQueue, { id }: EncodedJob, ran: NonNullable<OnceEntry['ran']>): void {
  const job = queue.job(id);
  if (job && job.attempts === undefined) {
    const { attempts, errors, crashes } = ran;
    Object.assign(job, { attempts: String(attempts), errors: String(errors), crashes: String(crashes) });
    leavePlain(job);
  }
}

/** See lua/once/add-dead-letters.lua. */
function addDeadLetters(
  queue: MemoryQueue,
  sender: OnceSender,
  entries: readonly DeadEntry[],
): OnceReplies<DeadReply> {
  const newerFence = overtaken(queue, sender);
  if (newerFence !== undefined) {
    return { newerFence };
  }
  const marks = marksOf(queue, sender.source);
  const cap = retentionOf(queue).deadLetterCap;
  return {
    replies: entries.map((entry): DeadReply => {
      if (marks.has(entry.key)) {
        return { outcome: 'known' };
      } else if (queue.job(entry.job.id)) {
        return { outcome: 'existing' };
      } else if (queue.dead.size >= cap) {
        return { outcome: 'full', cap };
      }
      addDeadLetter(queue, entry);
      marks.set(entry.key, queue.now);
      return { outcome: 'new' };
    }),
  };
}

function addDeadLetter(queue: MemoryQueue, { job: encoded, ran, failure }: DeadEntry): void {
  const { id, name, payload, options = {} } = encoded;
  const { error, startedAt, endedAt } = failure;
  const now = String(queue.now);
  const last = { attempt: ran.attempts, fence: 0, outcome: 'error', startedAt, endedAt, worker: null, error };
  const job: Hash = {
    name,
    payload,
    status: 'failed',
    claim_token: '',
    enqueued_at_ms: now,
    failed_at_ms: now,
    attempts: String(ran.attempts),
    errors: String(ran.errors),
    crashes: String(ran.crashes),
    last_error: error.message,
    last_error_at_ms: now,
    attempt_log: JSON.stringify(last),
  };
  writeOptions(queue, job, options);
  leavePlain(job);
  queue.jobs.set(id, job);
  queue.dead.set(id, queue.now);
  queue.kinds.add(id, job, errorFingerprint(error), queue.now);
  queue.outcomes.add(queue, id, 'failed', job);
  queue.count('enqueued');
  queue.count('failed');
}
