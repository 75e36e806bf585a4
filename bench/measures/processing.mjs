// Processing of waiting jobs to the settled end, at several concurrencies, handlers and numbers of processes. The
// jobs are enqueued in bulk before, which is measured too where the figures ask for it.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { costFigures, pick } from './figures.mjs';

function measure(id, { count, text, size = 'small', events = true, bulk, costs, flags = {}, workers = 1, ...run }) {
  const figures = {
    ...(bulk && { [bulk]: { unit: 'jobs/s', better: 'more', text: `bulk of 1,000${text.replace(/^[^,]*/, '')}` } }),
    ...(costs && costFigures('enqueue', 'bulk of 1,000')),
    [id]: { unit: 'jobs/s', better: 'more', text },
    ...(costs && costFigures('process', text)),
  };
  const concurrency = run.concurrency * workers;
  return {
    id,
    figures,
    ...flags,
    sample: (bench, contestant) =>
      withQueue(bench, contestant, { events, concurrency }, async (scene) => {
        const total = bench.scale(count);
        const fed = await enqueue(scene, { mode: 'bulk', count: total, size });
        const result = await processAll(scene, { total, workers, ...run });
        return { ...pick(figures, fed, bulk, 'enqueue'), ...pick(figures, result, id, 'process') };
      }),
  };
}

const quick = { quick: true };
const PREFETCH = 10;

/** Measures of handlers that wait, as those of users do. */
const waiting = [10, 50].flatMap((concurrency) =>
  [5, 20].map((handlerMs) =>
    measure(`process.c${concurrency}.${handlerMs}ms`, {
      count: (concurrency * 2_000) / handlerMs,
      concurrency,
      handlerMs,
      text: `processing at concurrency ${concurrency}, ${handlerMs} ms handler`,
    }),
  ),
);

export default [
  ...waiting,
  measure('process.c100', {
    count: 40_000,
    concurrency: 100,
    bulk: 'enqueue.bulk',
    costs: true,
    flags: { quick: true, nest: true, times: 3 },
    text: 'processing at concurrency 100',
  }),
  measure('process.c1', {
    count: 12_000,
    concurrency: 1,
    flags: quick,
    text: 'processing at concurrency 1, ours claims quick jobs ahead',
  }),
  measure('process.c1.strict', {
    count: 6_000,
    concurrency: 1,
    prefetch: 0,
    flags: quick,
    text: 'processing at concurrency 1, ours claims nothing ahead (prefetch: 0)',
  }),
  measure('process.c10', {
    count: 20_000,
    concurrency: 10,
    flags: quick,
    text: 'processing at concurrency 10',
  }),
  measure('process.c1000', {
    count: 20_000,
    concurrency: 1_000,
    flags: quick,
    text: 'processing at concurrency 1,000',
  }),
  measure('process.c100.200b', {
    count: 20_000,
    concurrency: 100,
    size: 'medium',
    bulk: 'enqueue.bulk.200b',
    text: 'processing at concurrency 100, 200 byte payload',
  }),
  measure('process.c100.1kb', {
    count: 20_000,
    concurrency: 100,
    size: 'large',
    bulk: 'enqueue.bulk.1kb',
    text: 'processing at concurrency 100, 1 KB payload',
  }),
  measure('process.c100.1ms', {
    count: 20_000,
    concurrency: 100,
    handlerMs: 1,
    text: 'processing at concurrency 100, 1 ms handler',
  }),
  measure('process.c100.10ms', {
    count: 20_000,
    concurrency: 100,
    handlerMs: 10,
    flags: { observed: true },
    text: 'processing at concurrency 100, 10 ms handler',
  }),
  measure('process.c10.1ms', {
    count: 6_000,
    concurrency: 10,
    handlerMs: 1,
    text: 'processing at concurrency 10, 1 ms handler',
  }),
  measure('process.c10.1ms.prefetch', {
    count: 6_000,
    concurrency: 10,
    handlerMs: 1,
    prefetch: PREFETCH,
    text: `processing at concurrency 10, 1 ms handler, ours with prefetch: ${PREFETCH}`,
  }),
  measure('process.c100.quiet', {
    count: 20_000,
    concurrency: 100,
    events: false,
    text: 'processing at concurrency 100, events off where they can be',
  }),
  measure('process.workers2', {
    count: 30_000,
    concurrency: 100,
    workers: 2,
    text: 'processing in two processes, concurrency 100 each',
  }),
  measure('process.workers4', {
    count: 30_000,
    concurrency: 100,
    workers: 4,
    text: 'processing in four processes, concurrency 100 each',
  }),
];
