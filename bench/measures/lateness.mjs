// How late the handlers of delayed jobs start, in an idle queue and while 1,000 jobs a second are due. A job is due at its enqueue plus
// its delay, so a trip to the server counts too.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { quantile } from '../report/stats.mjs';

const CONCURRENCY = 10;
const DELAY_MS = 1_500;
/** The first jobs do not count, because their code is still compiled. */
const WARMUP = 200;

function measure(id, text, { count, quick = false, load }) {
  const unit = { unit: 'ms', better: 'less' };
  return {
    id,
    quick,
    rounds: 3,
    figures: {
      [`${id}.p50`]: { ...unit, text: `${text}, median` },
      [`${id}.p99`]: { ...unit, text: `${text}, 99th percentile` },
    },
    sample: (bench, contestant) =>
      withQueue(bench, contestant, { concurrency: CONCURRENCY, delays: true }, async (scene) => {
        const total = WARMUP + bench.scale(count);
        const during = () => enqueue(scene, { ...load, count: total, delayMs: DELAY_MS, expectWaiting: null });
        const { latencies } = await processAll(scene, { total, concurrency: CONCURRENCY, during });
        const late = latencies.slice(WARMUP).map((us) => us / 1_000 - DELAY_MS);
        return { [`${id}.p50`]: quantile(late, 0.5), [`${id}.p99`]: quantile(late, 0.99) };
      }),
  };
}

export default [
  measure('late.idle', 'how late a delayed job starts, idle queue', {
    count: 500,
    load: { mode: 'paced', gapMs: 20 },
  }),
  measure('late.rate', 'how late a delayed job starts, 1,000 due a second', {
    count: 5_000,
    load: { mode: 'rate', perSecond: 1_000 },
  }),
];
