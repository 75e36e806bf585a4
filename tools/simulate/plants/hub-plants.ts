// Faults of the directed wake and of the looks. Each lets a job wait beside a free slot.
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import type { WakingFaults, WakingServer } from '../../../test/support/worker/waking-memory.js';
import type { Plant } from './plant.js';

function faulty(faults: WakingFaults): Plant {
  return {
    breaks: 'late',
    part: 'hub',
    before: (_script, queues) => {
      const [queue] = queues;
      if (queue) (queue.host as WakingServer).faults = faults;
    },
  };
}

/** Takes the waiting jobs of a queue out of sight, and returns the way back. */
function hide({ pending, scheduled }: MemoryQueue): () => void {
  const waiting = pending.splice(0);
  const later = scheduled.members().map((id) => [id, scheduled.score(id)!] as const);
  later.forEach(([id]) => scheduled.delete(id));
  return () => {
    pending.push(...waiting);
    later.forEach(([id, atMs]) => scheduled.set(id, atMs));
  };
}

export const hubPlants: Record<string, Plant> = {
  'a worker becomes a waiter in a second call': faulty({ joinsLater: true }),
  'a wake ends at a dead waiter': faulty({ trustsDead: true }),
  'a look sees no job': {
    breaks: 'late',
    part: 'hub',
    before: (script, queues) => (script === 'queueLook' ? queues.map(hide) : []),
    after: (_script, _queues, shown) => (shown as (() => void)[]).forEach((show) => show()),
  },
};
