// Measures how soon a limited queue starts a job after its rate allows it or a slot is free.
import { quantile } from '../report/stats.mjs';
import { figure, fill, withFlowQueue, withWorkers } from './library.mjs';

const INTERVAL_MS = 200;
const workers = [1, 2, 3].map(() => ({ concurrency: 2, handlerMs: 20 }));

export const starts = {
  id: 'starts',
  text: 'Start of a job after the moment at which it may',
  async run(bench) {
    const rate = { rateLimit: { limit: 1_000 / INTERVAL_MS, periodMs: 1_000 } };
    const byRate = await lateness(
      bench,
      rate,
      bench.quick ? 15 : 60,
      (last, next) => next.startedUs - last.startedUs - INTERVAL_MS * 1_000,
    );
    const bySlot = await lateness(bench, { maxRunning: 1 }, 200, (last, next) => next.startedUs - last.endedUs);
    return {
      figures: [...figures('rate', 'the rate lets it', byRate), ...figures('slot', 'the slot is free', bySlot)],
    };
  },
};

/** Measures how late jobs start, in ms, in runs of a fleet of three processes. The first runs warm up. */
function lateness(bench, limits, count, lateUs) {
  return withFlowQueue(bench, {}, async (queue) => {
    await queue.limits.set(limits);
    return withWorkers(bench, queue, workers, async (fleet) => {
      await fill(queue, count + 5, () => ({ payload: {} }));
      await fleet.until(count + 5);
      const runs = fleet.runs.sort((a, b) => a.startedUs - b.startedUs).slice(4);
      return runs.slice(1).map((next, i) => lateUs(runs[i], next) / 1_000);
    });
  });
}

function figures(id, when, late) {
  const text = (which) => `start of a job after ${when}, ${which} of ${late.length}`;
  return [
    figure(`starts.${id}.median`, text('median'), 'ms', quantile(late, 0.5)),
    figure(`starts.${id}.most`, text('latest'), 'ms', Math.max(...late), { most: 50 }),
  ];
}
