// Single enqueues: one after the other, and 100 in parallel. Bulk is measured where processing is.
import { enqueue, withQueue } from '../fleet/scenario.mjs';
import { costFigures, pick } from './figures.mjs';

function measure(id, { mode, count, text, size, quick = false, costs }) {
  const figures = { [id]: { unit: 'jobs/s', better: 'more', text }, ...(costs && costFigures(costs, text)) };
  return {
    id,
    figures,
    quick,
    sample: (bench, contestant) =>
      withQueue(bench, contestant, {}, async (scene) => {
        const result = await enqueue(scene, { mode, size, count: bench.scale(count) });
        return pick(figures, result, id, costs);
      }),
  };
}

export default [
  measure('enqueue.parallel100', {
    mode: 'parallel',
    count: 60_000,
    quick: true,
    text: '100 single enqueues in parallel',
    costs: 'enqueue.parallel100',
  }),
  measure('enqueue.parallel100.200b', {
    mode: 'parallel',
    count: 60_000,
    size: 'medium',
    text: '100 single enqueues in parallel, 200 byte payload',
  }),
  measure('enqueue.sequential', {
    mode: 'sequential',
    count: 4_000,
    quick: true,
    text: 'one enqueue after the other',
  }),
];
