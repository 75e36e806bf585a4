// Adds jobs that a sender keeps elsewhere, each once; see lua/once/enqueue.lua.
import { EnqueueRejected, type EncodedJob } from '../../queue/store/enqueue-call.js';
import type {
  OnceEntry,
  OnceReplies,
  OnceReply,
  OnceSender,
  OnceVerbs,
} from '../../queue/store/verbs/once-verbs.js';
import { ScoredSet } from '../state/scored-set.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { enqueue } from './enqueue.js';
import { callOf } from './memory-call.js';
import { leavePlain } from './write-options.js';

export function onceVerbs(queue: MemoryQueue): OnceVerbs {
  return {
    enqueue: (sender, entries) => callOf('onceEnqueue', () => enqueueOnce(queue, sender, entries)),
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

function enqueueOnce(
  queue: MemoryQueue,
  { source, fence }: OnceSender,
  entries: readonly OnceEntry[],
): OnceReplies {
  const newerFence = queue.once.fences.get(source) ?? fence;
  if (newerFence > fence) {
    return { newerFence };
  }
  queue.once.fences.set(source, fence);
  const marks = marksOf(queue, source);
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
