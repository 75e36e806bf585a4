// Faults of the list by which the workers of a fleet look in turn.
import type { MemoryQueue } from '#memory/state/memory-queue.js';
import type { Plant } from './plant.js';

/** Shows each worker as another one with a later id, so that all find themselves first. Returns the way back. */
function disguise({ workers, workerDetails }: MemoryQueue): () => void {
  const members = [...workerDetails].filter(([, { details }]) => details.fleet !== undefined);
  for (const [id, { startedAt, details }] of members) {
    const { fleet: _fleet, ...rest } = details;
    workers.set(`~${id}`, workers.get(id) ?? 0);
    workerDetails.set(`~${id}`, { startedAt, details });
    workerDetails.set(id, { startedAt, details: rest });
  }
  return () => {
    for (const [id, each] of members) {
      workers.delete(`~${id}`);
      workerDetails.delete(`~${id}`);
      workerDetails.set(id, each);
    }
  };
}

export const turnPlants: Record<string, Plant> = {
  'nobody takes the turns of a dead worker': {
    breaks: 'turns',
    part: 'turns',
    before: (script, queues) => {
      if (script === 'workerRenew') {
        queues.forEach(({ workers, now }) => [...workers.keys()].forEach((id) => workers.set(id, now)));
      }
    },
  },
  'all workers have the same turn': {
    breaks: 'turns',
    part: 'turns',
    before: (script, queues) => (script === 'workerRenew' ? queues.map(disguise) : []),
    after: (_script, _queues, undo) => (undo as (() => void)[]).forEach((each) => each()),
  },
};
