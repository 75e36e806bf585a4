// Follow-ups that wait for another queue; see lua/batch/follow-ups and acknowledge.
import type { MemberEnd } from '../../../queue/model/batch.js';
import { aged } from '../../../queue/store/enqueue-call.js';
import type { PendingFollowUp } from '../../../queue/store/verbs/batch-verbs.js';
import { placeOf } from '../../state/follow-up-batch.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { enqueue } from '../enqueue.js';

/** Draws a fence, and returns the follow-ups of these that are still in the outbox. */
export function pendingFollowUps(queue: MemoryQueue, entries: readonly MemberEnd[], leastFence: number) {
  queue.sequence = Math.max(queue.sequence, leastFence) + 1;
  queue.outbox.fence = queue.sequence;
  return { fence: queue.outbox.fence, pending: entries.flatMap((entry) => pendingOf(queue, entry) ?? []) };
}

function pendingOf(queue: MemoryQueue, entry: MemberEnd): PendingFollowUp | undefined {
  const place = placeOf(entry);
  const found = queue.outbox.entries.get(place);
  const batch = queue.followUps.get(entry.batch);
  if (found?.number !== entry.number) {
    return undefined;
  }
  const asked = batch?.definition.followUps.find(({ kind }) => kind === found.state);
  if (batch?.firedAt === undefined || !asked) {
    queue.outbox.entries.delete(place);
    return undefined;
  }
  const { name, payload, options } = asked;
  return { entry, job: aged({ id: entry.id, name, payload, options: { ...options } }, queue.now - batch.firedAt) };
}

/** Removes entries, unless another sender has drawn a fence. */
export function acknowledge({ outbox }: MemoryQueue, entries: readonly MemberEnd[], fence?: number): number {
  if (fence !== undefined && outbox.fence !== fence) {
    return -1;
  }
  const there = entries.map(placeOf).filter((place, i) => outbox.entries.get(place)?.number === entries[i]!.number);
  there.forEach((place) => outbox.entries.delete(place));
  return there.length;
}

/** Puts the follow-ups of a queue's batches into their queues, as a sender does. */
export function sendAll(queue: MemoryQueue): void {
  const { pending } = pendingFollowUps(queue, [...queue.outbox.entries.values()], 0);
  for (const { entry, job } of pending) {
    const target = queue.host.find(queue, entry.queue);
    if (target && job) {
      enqueue(target, [job]);
      queue.outbox.entries.delete(placeOf(entry));
    }
  }
}
