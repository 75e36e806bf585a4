// Growth with the number of running jobs: one worker process holds them, another processes jobs beside it.
import { enqueue, withQueue } from '../fleet/scenario.mjs';
import { costOfProcessing, within } from './process-some.mjs';

const COUNT = 2_000;

export const claims = {
  id: 'claims',
  title: 'Cost of a job while others run',
  axis: 'claims in flight',
  levels: [10, 100, 1_000, 10_000, 50_000],
  // A running job blocks its whole group there, so the jobs beside it could not run.
  skips: ['groupmq'],
  async run(bench, contestant, levels, point) {
    for (const level of levels) {
      await withQueue(bench, contestant, {}, async (scene) => {
        const [holder] = await bench.fleet.workers(contestant, 1);
        await enqueue(scene, { mode: 'bulk', count: level });
        await holder.call('open', scene.options);
        await holder.call('prepareWorker', { concurrency: level, total: level, target: level, handlerMs: 'hold' });
        const held = new Promise((resolve) => {
          const stopListening = holder.onEvent(({ event }) => event === 'reached' && resolve(stopListening()));
        });
        await holder.call('startWorker');
        await within(120_000, held, `${contestant} to hold ${level} jobs`);
        const refill = (repeat) =>
          enqueue(scene, { mode: 'bulk', from: level + repeat * COUNT, count: COUNT, expectWaiting: null });
        point(level, await costOfProcessing(scene, { count: COUNT, upTo: level + 20_000, refill }));
        await holder.call('stopWorker');
        await holder.call('close');
      });
    }
  },
};
