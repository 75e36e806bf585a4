// Growth with the number of jobs scheduled for tomorrow.
import { enqueue, withQueue } from '../fleet/scenario.mjs';
import { costOfProcessing } from './process-some.mjs';

const COUNT = 2_000;
const DAY_MS = 86_400_000;

export const scheduled = {
  id: 'scheduled',
  title: 'Cost of a job while others are scheduled',
  axis: 'jobs scheduled',
  levels: [1_000, 10_000, 100_000, 1_000_000],
  run: (bench, contestant, levels, point) =>
    withQueue(bench, contestant, {}, async (scene) => {
      let placed = 0;
      let last = 0;
      const refill = async () => {
        await enqueue(scene, { mode: 'bulk', from: last, count: COUNT, expectWaiting: null });
        last += COUNT;
      };
      for (const level of levels) {
        const from = 10_000_000 + placed;
        await enqueue(scene, {
          mode: 'delayed',
          from,
          count: level - placed,
          delayMs: DAY_MS,
          expectWaiting: level,
        });
        placed = level;
        point(level, await costOfProcessing(scene, { count: COUNT, upTo: 1_000_000, refill }));
      }
    }),
};
