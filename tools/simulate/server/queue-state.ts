// The state of a queue as text, to compare it before and after a repeated call.
import type { MemoryQueue } from '#memory/state/memory-queue.js';

/** Returns the state of the queues. It leaves out the tokens of claims, because no seed repeats them. */
export function stateOf(queues: readonly MemoryQueue[]): string {
  return JSON.stringify(queues.map((queue) => [placesOf(queue), batchesOf(queue), ratesOf(queue)]));
}

function placesOf(queue: MemoryQueue) {
  const { jobs, forgottenAt, now, pending, completed, failed, cancelled, unique, totals, sequence } = queue;
  return [
    // Redis deletes an expired hash by itself, and the store in memory at the next look at it.
    [...jobs].filter(([id]) => (forgottenAt.get(id) ?? Infinity) > now),
    pending,
    [queue.prioritized, queue.scheduled, queue.claims, queue.dead, queue.scheduleDue].map((set) =>
      set.members().map((member) => [member, set.score(member)]),
    ),
    [completed, failed, cancelled],
    [...unique],
    totals,
    sequence,
  ];
}

function batchesOf({ batches, followUps, outbox }: MemoryQueue) {
  return [
    [...batches].map(([claimer, { claims }]) => [claimer, claims.map(({ id }) => id)]),
    [...followUps].map(([id, { members, open, outcomes, sealedAt, stoppedAt, firedAt, endedAt }]) => [
      id,
      members,
      [...open],
      [...outcomes],
      [sealedAt, stoppedAt, firedAt, endedAt],
    ]),
    [...outbox.entries],
    outbox.fence,
  ];
}

function ratesOf({ flow, restsUntil }: MemoryQueue) {
  return [
    flow.arrival,
    [...flow.groups].map(([name, group]) => [name, group.arrival, group.restsUntil]),
    restsUntil,
  ];
}
