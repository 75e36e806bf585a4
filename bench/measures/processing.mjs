// Processing of waiting jobs to the settled end, at several concurrencies, handlers and numbers of processes.
import { enqueue, processAll, withQueue } from '../scenario.mjs';

function measure(id, { count, size = 'small', quick = false, nest = false, costs = false, events = true, text, ...run }) {
  const figures = { [id]: { unit: 'jobs/s', better: 'more', text } };
  if (costs) {
    figures['redis.us.process'] = { unit: 'µs/job', better: 'less', text: `Redis CPU, ${text}` };
    figures['node.us.process'] = { unit: 'µs/job', better: 'less', text: `Node CPU of the worker, ${text}` };
    figures['wire.process'] = { unit: 'bytes/job', better: 'less', text: `bytes on the wire, ${text}` };
    figures['redis.busy.process'] = { unit: 'share', better: 'more', text: `how busy Redis was, ${text}` };
  }
  const values = (result) => [result.perSecond, result.redisUs, result.nodeUs, result.bytes, result.redisBusy];
  return {
    id,
    figures,
    quick,
    nest,
    sample: (bench, contestant) =>
      withQueue(bench, contestant, { events }, async (scene) => {
        const total = bench.scale(count);
        await enqueue(scene, { mode: 'bulk', count: total, size });
        const result = await processAll(scene, { total, ...run });
        return Object.fromEntries(Object.keys(figures).map((figure, i) => [figure, values(result)[i]]));
      }),
  };
}

export default [
  measure('process.c100', {
    count: 20_000,
    concurrency: 100,
    quick: true,
    nest: true,
    costs: true,
    text: 'processing, concurrency 100',
  }),
  measure('process.c1', { count: 6_000, concurrency: 1, quick: true, text: 'processing, concurrency 1' }),
  measure('process.c10', { count: 20_000, concurrency: 10, text: 'processing, concurrency 10' }),
  measure('process.c1000', { count: 20_000, concurrency: 1_000, quick: true, text: 'processing, concurrency 1,000' }),
  measure('process.c100.1kb', { count: 20_000, concurrency: 100, size: 'large', text: 'concurrency 100, 1 KB payload' }),
  measure('process.c100.1ms', { count: 20_000, concurrency: 100, handlerMs: 1, text: 'concurrency 100, 1 ms handler' }),
  measure('process.c10.1ms', { count: 6_000, concurrency: 10, handlerMs: 1, text: 'concurrency 10, 1 ms handler' }),
  measure('process.c100.quiet', {
    count: 20_000,
    concurrency: 100,
    events: false,
    text: 'concurrency 100, events off where they can be',
  }),
  measure('process.workers2', { count: 20_000, concurrency: 100, workers: 2, text: 'two processes, concurrency 100 each' }),
  measure('process.workers4', { count: 20_000, concurrency: 100, workers: 4, text: 'four processes, concurrency 100 each' }),
];
