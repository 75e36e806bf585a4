// Enqueues: one at a time, 100 in parallel, 1,000 in bulk.
import { enqueue, withQueue } from '../scenario.mjs';

function measure(id, { mode, count, size = 'small', quick = false, text, costs = false }) {
  const figures = { [id]: { unit: 'jobs/s', better: 'more', text } };
  if (costs) {
    const suffix = id.replace('enqueue.', '');
    const name = suffix === 'bulk' ? 'enqueue' : `enqueue.${suffix}`;
    figures[`redis.us.${name}`] = { unit: 'µs/job', better: 'less', text: `Redis CPU, ${text}` };
    figures[`node.us.${name}`] = { unit: 'µs/job', better: 'less', text: `Node CPU, ${text}` };
    figures[`wire.${name}`] = { unit: 'bytes/job', better: 'less', text: `bytes on the wire, ${text}` };
  }
  const values = (result) => [result.perSecond, result.redisUs, result.nodeUs, result.bytes];
  return {
    id,
    figures,
    quick,
    sample: (bench, contestant) =>
      withQueue(bench, contestant, {}, async (scene) => {
        const result = await enqueue(scene, { mode, count: bench.scale(count), size });
        return Object.fromEntries(Object.keys(figures).map((figure, i) => [figure, values(result)[i]]));
      }),
  };
}

export default [
  measure('enqueue.bulk', { mode: 'bulk', count: 20_000, quick: true, costs: true, text: 'bulk of 1,000' }),
  measure('enqueue.bulk.1kb', { mode: 'bulk', count: 20_000, size: 'large', text: 'bulk of 1,000, 1 KB payload' }),
  measure('enqueue.parallel100', {
    mode: 'parallel',
    count: 20_000,
    quick: true,
    costs: true,
    text: '100 single enqueues in parallel',
  }),
  measure('enqueue.sequential', { mode: 'sequential', count: 4_000, quick: true, text: 'one enqueue after the other' }),
];
