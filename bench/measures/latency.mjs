// Latency from the call of enqueue in one process to the start of the handler in another.
import { enqueue, processAll, withQueue } from '../scenario.mjs';
import { quantile } from '../stats.mjs';

const CONCURRENCY = 10;

// Between the start of a worker and the first job. Our sweep comes first after five seconds and loads four scripts, the
// others have loaded theirs by then: so it is in an application, and how much is loaded changes what Redis's collection of
// Lua's garbage costs a job (docs/performance.md).
const STANDING_MS = 5_500;

function measure(id, { quick = false, idle = false, text, load, setUp }) {
  return {
    id,
    quick,
    setUp,
    figures: {
      [`${id}.p50`]: { unit: 'µs', better: 'less', text: `${text}, median` },
      [`${id}.p99`]: { unit: 'µs', better: 'less', text: `${text}, 99th percentile` },
    },
    sample: async (bench, contestant) => {
      await bench.server.forgetScripts();
      return withQueue(bench, contestant, { concurrency: CONCURRENCY }, async (scene) => {
        const { warmup, ...feed } = load(bench);
        const total = warmup.count + feed.count;
        const during = async () => {
          // The worker has to have found its queue empty and to wait before the first job comes.
          await new Promise((resolve) => setTimeout(resolve, bench.quick ? 100 : STANDING_MS));
          await enqueue(scene, { ...warmup, expectWaiting: null });
          // Where enqueues are faster than the worker, the first jobs would else be measured behind the rest of these.
          if (idle) await scene.producer.call('waitSettled', { completed: 0 });
          await enqueue(scene, { ...feed, from: warmup.count, expectWaiting: null });
        };
        const { latencies } = await processAll(scene, { total, concurrency: CONCURRENCY, during });
        const samples = latencies.slice(warmup.count);
        return { [`${id}.p50`]: quantile(samples, 0.5), [`${id}.p99`]: quantile(samples, 0.99) };
      });
    },
  };
}

/**
 * Jobs per second for all contestants alike: half of what the slowest of them can enqueue and process one after
 * the other, since on a small machine both share the same cores.
 */
async function findHalfLoad(bench) {
  const capacities = [];
  for (const contestant of bench.contestants.keys()) {
    if (contestant === 'nest') continue;
    const costs = [await secondsPerJob(bench, contestant), await secondsPerJob(bench, contestant)];
    capacities.push(1 / Math.min(...costs));
  }
  bench.halfLoad = Math.round(Math.min(...capacities) / 2);
  bench.log(`(${bench.halfLoad} jobs/s) `);
}

async function secondsPerJob(bench, contestant) {
  return withQueue(bench, contestant, { concurrency: CONCURRENCY }, async (scene) => {
    const [single, total] = [bench.scale(2_000), bench.scale(10_000)];
    const fed = await enqueue(scene, { mode: 'sequential', count: single });
    await enqueue(scene, { mode: 'bulk', from: single, count: total - single });
    const processed = await processAll(scene, { total, concurrency: CONCURRENCY });
    return 1 / fed.perSecond + 1 / processed.perSecond;
  });
}

export default [
  measure('latency.idle', {
    quick: true,
    idle: true,
    text: 'enqueue to handler start, idle queue',
    // One after the other first: what runs so rarely would else be measured before it is compiled.
    load: (bench) => ({
      warmup: { mode: 'sequential', count: bench.scale(4_000) },
      mode: 'paced',
      count: bench.scale(1_600),
      gapMs: 2,
    }),
  }),
  measure('latency.half', {
    text: 'enqueue to handler start, half load',
    setUp: findHalfLoad,
    load: ({ halfLoad }) => {
      const rate = { mode: 'rate', perSecond: halfLoad };
      return { warmup: { ...rate, count: 500 }, ...rate, count: halfLoad * 2 };
    },
  }),
];
