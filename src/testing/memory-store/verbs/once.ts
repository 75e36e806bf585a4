// Adds jobs that a sender keeps elsewhere, each once; see lua/once/enqueue.lua.
import { EnqueueRejected, type EncodedJob } from '../../../queue/store/enqueue-call.js';
import type {
  OnceEntry,
  OnceReplies,
  OnceReply,
  OnceSender,
  OnceVerbs,
} from '../../../queue/store/verbs/once-verbs.js';
import { ScoredSet } from '../state/scored-set.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { enqueue } from './enqueue.js';
import { callOf } from './memory-call.js';

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
function add(queue: MemoryQueue, marks: ScoredSet, held: Set<string>, { key, job }: OnceEntry): OnceReply {
  if (marks.has(key)) {
    return { outcome: 'known' };
  }
  const group = job.options?.group;
  if (group !== undefined && held.has(group)) {
    return { outcome: 'held' };
  }
  const reply = addOne(queue, job);
  if (reply.outcome !== 'refused' && !('full' in reply)) {
    marks.set(key, queue.now);
  } else if (group !== undefined) {
    held.add(group);
  }
  return reply;
}

function addOne(queue: MemoryQueue, job: EncodedJob): OnceReply {
  try {
    return enqueue(queue, [job])[0]!;
  } catch (reason) {
    if (reason instanceof EnqueueRejected) {
      return { outcome: 'refused', reason };
    }
    throw reason;
  }
}
