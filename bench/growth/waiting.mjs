// Growth with the number of waiting jobs.
import { enqueue, withQueue } from '../fleet/scenario.mjs';
import { costOfProcessing } from './process-some.mjs';

const COUNT = 2_000;

export const waiting = {
  id: 'waiting',
  title: 'Cost of a job while others wait',
  axis: 'jobs waiting',
  levels: [1_000, 10_000, 100_000, 1_000_000],
  run: (bench, contestant, levels, point) =>
    withQueue(bench, contestant, {}, async (scene) => {
      let last = 0;
      const fillTo = async (level) => {
        const { waiting: found } = await scene.producer.call('counts');
        // Adds the jobs that the repeats take, so that the level always waits.
        const missing = level + COUNT - found;
        if (missing <= 0) return;
        await enqueue(scene, { mode: 'bulk', from: last, count: missing, expectWaiting: null });
        last += missing;
      };
      for (const level of levels) {
        const upTo = level * 2 + 100_000;
        point(level, await costOfProcessing(scene, { count: COUNT, upTo, refill: () => fillTo(level) }));
      }
    }),
};
