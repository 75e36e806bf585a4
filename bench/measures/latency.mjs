// Latency from the call of enqueue in one process to the start of the handler in another.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { quantile } from '../report/stats.mjs';

const CONCURRENCY = 10;
/** So many jobs come before those that count: a process that has just begun is compiling itself. */
const WARMUP = 4_000;

// Between the start of a worker and the first job. Our sweep comes first after five seconds and loads four scripts, the
// others have loaded theirs by then, as in an application; how much is loaded changes what Redis's collection of Lua's
// garbage costs a job (docs/internals/performance.md).
const STANDING_MS = 5_500;

// The mood of a machine changes within seconds, and with it every latency by half: where the queue is idle, the workers of
// all contestants stand at the same time, and jobs are given to one after the other in turns of a quarter of a second.
const TURN = { count: 10, jobs: 100, gapMs: 2 };

// The first jobs of a turn, which do not count: the processes have slept through the turns of the others. Nor does the first
// turn, in which what runs so rarely is compiled.
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

/** The worker has to have found its queue empty and to wait before the first job comes. */
function stand(bench) {
  return new Promise((resolve) => setTimeout(resolve, bench.quick ? 100 : STANDING_MS));
}

async function sampleIdle(bench, contestant) {
  const { turns } = bench;
  // One after the other first: what runs so rarely would else be measured before it is compiled.
  const warmup = bench.scale(WARMUP);
  const perTurn = LEAD_IN + TURN.jobs;
  const total = warmup + perTurn * (1 + bench.scale(TURN.count));
  return withQueue(bench, contestant, { concurrency: CONCURRENCY, clears: false }, async (scene) => {
    const give = (load) =>
      turns.take(contestant, async () => {
        await enqueue(scene, { ...load, expectWaiting: null });
        // Where enqueues are faster than the worker, what is left would run in the turn of the next.
        await scene.producer.call('waitSettled', { completed: 0 });
      });
    const during = async () => {
      await stand(bench);
      await give({ mode: 'sequential', count: warmup });
      for (let from = warmup; from < total; from += perTurn) {
        await give({ mode: 'paced', from, count: perTurn, gapMs: TURN.gapMs });
      }
      await turns.take(contestant, async () => {}); // when the others have had theirs: none ends while another is measured
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
