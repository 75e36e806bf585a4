// Adds jobs that a sender keeps elsewhere, each once; see lua/once/enqueue.lua.
import { EnqueueRejected } from '../../../queue/store/enqueue-call.js';
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
  return {
    replies: entries.map((entry) => (marks.has(entry.key) ? { outcome: 'known' } : add(queue, marks, entry))),
  };
}

function add(queue: MemoryQueue, marks: ScoredSet, { key, job }: OnceEntry): OnceReply {
  try {
    const [reply] = enqueue(queue, [job]);
    if (!reply!.full) {
      marks.set(key, queue.now);
    }
    return reply!;
  } catch (reason) {
    if (reason instanceof EnqueueRejected) {
      return { outcome: 'refused', reason };
    }
    throw reason;
  }
}
