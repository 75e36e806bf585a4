// Latency from the call of enqueue in one process to the start of the handler in another.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { quantile } from '../report/stats.mjs';

const CONCURRENCY = 10;
/** The number of jobs that run before those that count, because a new process is still compiling its code. */
const WARMUP = 4_000;

// Between the start of a worker and the first job. Our first sweep comes after five seconds and loads four scripts, as
// in an application. The number of loaded scripts changes the cost of Lua's garbage collection per job
// (docs/internals/performance.md).
const STANDING_MS = 5_500;

// The speed of a machine changes within seconds, and with it every latency by half. So the idle workers of all
// contestants run side by side and take turns of a quarter of a second.
const TURN = { count: 10, jobs: 100, gapMs: 2 };

// The first jobs of a turn, which do not count, because the processes have slept through the other turns. The first
// turn does not count either, because rarely used code is compiled in it.
const LEAD_IN = 10;

function figures(id, text) {
  return {
    [`${id}.p50`]: { unit: 'µs', better: 'less', text: `${text}, median` },
    [`${id}.p99`]: { unit: 'µs', better: 'less', text: `${text}, 99th percentile` },
  };
}

function quantiles(id, latencies) {
  return { [`${id}.p50`]: quantile(latencies, 0.5), [`${id}.p99`]: quantile(latencies, 0.99) };
}

/** Waits until the worker has found its queue empty and blocks, before the first job comes. */
function stand(bench) {
  return new Promise((resolve) => setTimeout(resolve, bench.quick ? 100 : STANDING_MS));
}

async function sampleIdle(bench, contestant) {
  const { turns } = bench;
  // Sequential jobs first, so that rarely used code is compiled before it is measured.
  const warmup = bench.scale(WARMUP);
  const perTurn = LEAD_IN + TURN.jobs;
  const total = warmup + perTurn * (1 + bench.scale(TURN.count));
  return withQueue(bench, contestant, { concurrency: CONCURRENCY, clears: false }, async (scene) => {
    const give = (load) =>
      turns.take(contestant, async () => {
        await enqueue(scene, { ...load, expectWaiting: null });
        // If enqueues outpace the worker, the rest would run in the next contestant's turn.
        await scene.producer.call('waitSettled', { completed: 0 });
      });
    const during = async () => {
      await stand(bench);
      await give({ mode: 'sequential', count: warmup });
      for (let from = warmup; from < total; from += perTurn) {
        await give({ mode: 'paced', from, count: perTurn, gapMs: TURN.gapMs });
      }
      // Waits for the others' turns, so that no contestant ends while another is measured.
      await turns.take(contestant, async () => {});
    };
    const { latencies } = await processAll(scene, { total, concurrency: CONCURRENCY, during });
    const counted = latencies.slice(warmup + perTurn).filter((_, i) => i % perTurn >= LEAD_IN);
    return quantiles('latency.idle', counted);
  });
}

async function sampleHalf(bench, contestant) {
  await bench.server.forgetScripts();
  return withQueue(bench, contestant, { concurrency: CONCURRENCY }, async (scene) => {
    const load = { mode: 'rate', perSecond: bench.halfLoad, expectWaiting: null };
    const [warmup, count] = [bench.scale(WARMUP), bench.halfLoad * 2];
    const during = async () => {
      await stand(bench);
      await enqueue(scene, { ...load, count: warmup });
      await enqueue(scene, { ...load, from: warmup, count });
    };
    const { latencies } = await processAll(scene, { total: warmup + count, concurrency: CONCURRENCY, during });
    return quantiles('latency.half', latencies.slice(warmup));
  });
}

/**
 * Returns a rate for all contestants: half of the slowest one's rate of enqueuing and then processing. Both share the
 * cores of a small machine.
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
  {
    id: 'latency.idle',
    quick: true,
    figures: figures('latency.idle', 'enqueue to handler start, idle queue'),
    together: true,
    times: 2,
    sample: sampleIdle,
  },
  {
    id: 'latency.half',
    setUp: findHalfLoad,
    figures: figures('latency.half', 'enqueue to handler start, half load'),
    sample: sampleHalf,
  },
];
