// Faults of the right to maintain.
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import type { Plant } from './plant.js';

const HOUR_MS = 3_600_000;

/** Takes the claims of a queue out of sight, and returns the way back. */
function hideClaims({ claims }: MemoryQueue): () => void {
  const hidden = claims.members().map((id) => [id, claims.score(id)!] as const);
  hidden.forEach(([id]) => claims.delete(id));
  return () => hidden.forEach(([id, atMs]) => claims.set(id, atMs));
}

export const rightPlants: Record<string, Plant> = {
  'two processes have the right to maintain': {
    breaks: 'right',
    before: (script, queues) => {
      if (script === 'sweepHold') {
        queues.forEach(({ maintainers }) => maintainers.clear());
      }
    },
  },
  'nobody takes the right of a dead process over': {
    breaks: 'right',
    after: (script, queues) => {
      if (script === 'sweepHold') {
        queues.forEach(({ maintainers, now }) =>
          maintainers.forEach((right) => Object.assign(right, { until: now + HOUR_MS, lengthMs: HOUR_MS })),
        );
      }
    },
  },
  'a sweep sees no claim': {
    breaks: 'late',
    part: 'hub',
    before: (script, queues) => (script === 'sweepReclaim' ? queues.map(hideClaims) : []),
    after: (_script, _queues, shown) => (shown as (() => void)[]).forEach((show) => show()),
  },
};
