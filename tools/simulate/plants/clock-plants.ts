// Faults that trust an instant which the clock of now cannot have made.
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import type { Plant } from './plant.js';

/** An instant that is later than any clock of now makes in a simulation, in ms from now. */
const AHEAD_MS = 90_000;

/** Returns a plant that puts instants back which a script has bounded. */
function trusts(
  breaks: string,
  script: string,
  instants: (queue: MemoryQueue) => [string, number][],
  put: (queue: MemoryQueue, key: string, atMs: number) => void,
): Plant {
  return {
    breaks,
    part: 'clock',
    before: (run, queues) => (run === script ? queues.map((queue) => instants(queue)) : undefined),
    after: (run, queues, before) =>
      queues.forEach((queue, i) => {
        const known = run === script ? ((before as [string, number][][])[i] ?? []) : [];
        known.filter(([, atMs]) => atMs > queue.now + AHEAD_MS).forEach(([key, atMs]) => put(queue, key, atMs));
      }),
  };
}

export const clockPlants: Record<string, Plant> = {
  'a claim of a clock that was ahead stays': trusts(
    'I7',
    'sweepReclaim',
    ({ claims }) => claims.members().map((id) => [id, claims.score(id)!]),
    ({ claims }, id, atMs) => claims.score(id) !== undefined && claims.set(id, atMs),
  ),
  'a rate of a clock that was ahead stays': trusts(
    'I7',
    'attemptClaim',
    ({ flow }) => [['', flow.arrival]],
    ({ flow }, _key, atMs) => (flow.arrival = atMs),
  ),
  'a due time of a clock that was ahead stays': {
    ...trusts(
      'tick',
      'scheduleTick',
      ({ scheduleDue }) => scheduleDue.members().map((id) => [id, scheduleDue.score(id)!]),
      ({ scheduleDue }, id, atMs) => scheduleDue.set(id, atMs),
    ),
    part: ['clock', 'schedules'],
  },
};
