// Latency from the call of enqueue in one process to the start of the handler in another.
import { enqueue, processAll, withQueue } from '../scenario.mjs';
import { quantile } from '../stats.mjs';

const CONCURRENCY = 10;

function measure(id, { quick = false, text, load }) {
  return {
    id,
    quick,
    figures: {
      [`${id}.p50`]: { unit: 'µs', better: 'less', text: `${text}, median` },
      [`${id}.p99`]: { unit: 'µs', better: 'less', text: `${text}, 99th percentile` },
    },
    sample: (bench, contestant) =>
      withQueue(bench, contestant, {}, async (scene) => {
        const { warmup, ...feed } = load(bench);
        const total = warmup + feed.count;
        const during = async () => {
          // The worker has to have found its queue empty and to wait before the first job comes.
          await new Promise((resolve) => setTimeout(resolve, 100));
          await enqueue(scene, { ...feed, count: total, expectWaiting: null });
        };
        const { latencies } = await processAll(scene, { total, concurrency: CONCURRENCY, during });
        const samples = latencies.slice(warmup);
        return { [`${id}.p50`]: quantile(samples, 0.5), [`${id}.p99`]: quantile(samples, 0.99) };
      }),
  };
}

export default [
  measure('latency.idle', {
    quick: true,
    text: 'enqueue to handler start, idle queue',
    load: (bench) => ({ mode: 'paced', warmup: 20, count: bench.scale(800), gapMs: 2 }),
  }),
  measure('latency.half', {
    text: 'enqueue to handler start, half load',
    load: (bench) => ({ mode: 'rate', warmup: 500, count: bench.halfLoad * 2, perSecond: bench.halfLoad }),
  }),
];
