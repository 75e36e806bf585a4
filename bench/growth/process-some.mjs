// Processes a part of what waits and gives the Redis CPU per job; the median of several such parts.
import { check } from '../fleet/scenario.mjs';
import { median } from '../report/stats.mjs';

const REPEATS = 5;

/**
 * Measures the cost of processing `count` jobs. The worker is stopped while jobs still wait, so `upTo` exceeds the
 * number of jobs that may run.
 */
export async function costOfProcessing(
  { bench, contestant, options, producer },
  { count, upTo, concurrency = 100, refill },
) {
  const [, worker] = await bench.fleet.workers(contestant, 2);
  const costs = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    await refill?.(repeat);
    await worker.call('open', options);
    await worker.call('prepareWorker', { concurrency, total: upTo, target: count });
    const reached = new Promise((resolve) => {
      const stopListening = worker.onEvent(({ event }) => event === 'reached' && resolve(stopListening()));
    });
    const before = await bench.server.probe();
    await worker.call('startWorker');
    await within(60_000, reached, `${contestant} to process ${count} jobs`);
    const used = await bench.server.since(before);
    const { runs } = await worker.call('workerUsage');
    const { repeated } = await worker.call('stopWorker');
    await worker.call('close');
    check(repeated === 0, contestant, 'no job to run twice', { repeated });
    costs.push(used.cpuUs / runs);
  }
  const { failed } = await producer.call('counts');
  check(failed === 0, contestant, 'no failed job', { failed });
  return median(costs);
}

export async function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`expected ${what} within ${ms / 1_000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
