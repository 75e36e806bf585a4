// Checks by the starts of handlers that any window of a rate's period admits at most burst + limit. The clocks of two
// of the four workers are an hour off.
import { figure, fill, withFlowQueue, withWorkers } from './library.mjs';

const HOUR_MS = 3_600_000;
const RATE = { limit: 100, periodMs: 1_000, burst: 20 };

export const rate = {
  id: 'rate',
  text: 'Starts in any window of a rate',
  async run(bench) {
    const rounds = bench.quick ? 2 : 6;
    const clocks = [0, 0, HOUR_MS, -HOUR_MS];
    const runs = await withFlowQueue(bench, {}, async (queue) => {
      await queue.limits.set({ rateLimit: RATE });
      const workers = clocks.map((clockOffsetMs) => ({ concurrency: 20, clockOffsetMs }));
      return withWorkers(bench, queue, workers, async (fleet) => {
        for (let round = 0; round < rounds; round++) {
          // Works for more than a period, then rests: the rest must earn the burst and no more.
          const upTo = fleet.runs.length + 250;
          await fill(queue, 250, () => ({ payload: {} }));
          await fleet.until(upTo);
          await new Promise((resolve) => setTimeout(resolve, 700));
        }
        return fleet.runs;
      });
    });
    const starts = runs.map(({ startedUs }) => startedUs).sort((a, b) => a - b);
    const windows = countWindows(starts, RATE.periodMs * 1_000);
    const most = windows.reduce((found, { count }) => Math.max(found, count), 0);
    const text = `starts in the fullest second of ${starts.length}: 100 a second, burst 20, four workers, two clocks an hour off`;
    return {
      figures: [figure('rate.window', text, 'jobs', most, { most: RATE.limit + RATE.burst })],
      plot: {
        title: 'Starts in the last second, rate of 100 with a burst of 20',
        subtext: 'by the start of the handlers in four processes',
        axis: 'seconds',
        scales: { x: 'value', y: 'value' },
        series: [
          { name: 'starts', points: windows.map(({ at, count }) => [(at - starts[0]) / 1e6, count]) },
          { name: 'bound', points: [starts[0], starts.at(-1)].map((at) => [(at - starts[0]) / 1e6, 120]) },
        ],
      },
    };
  },
};

/** Counts, for each start, the starts in the period that ends with it. */
function countWindows(starts, periodUs) {
  let from = 0;
  return starts.map((at, i) => {
    while (starts[from] <= at - periodUs) from++;
    return { at, count: i - from + 1 };
  });
}
