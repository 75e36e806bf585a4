// Redis memory per job, of all keys. Data with a fixed cap (BullMQ's event stream) is removed first.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';

function measure(suffix, { size, quick = false, text }) {
  const figure = (what) => ({ unit: 'bytes/job', better: 'less', text: `Redis memory per ${what}${text}` });
  const [waiting, completed] = [`memory.waiting${suffix}`, `memory.completed${suffix}`];
  return {
    id: `memory${suffix}`,
    quick,
    rounds: 2, // it hardly differs from round to round
    figures: { [waiting]: figure('waiting job'), [completed]: figure('completed job that is kept') },
    sample(bench, contestant) {
      const count = bench.scale(10_000);
      return withQueue(bench, contestant, { keep: count }, async (scene) => {
        const perJob = async (before) => {
          await scene.producer.call('shrink');
          return ((await bench.server.memoryOfKeys()) - before) / count;
        };
        const before = await bench.server.memoryOfKeys();
        await enqueue(scene, { mode: 'bulk', count, size });
        const whileWaiting = await perJob(before);
        await processAll(scene, { total: count, concurrency: 100 });
        return { [waiting]: whileWaiting, [completed]: await perJob(before) };
      });
    },
  };
}

export default [
  measure('.40b', { size: 'tiny', text: ', 40 byte payload' }),
  measure('', { size: 'small', quick: true, text: '' }),
  measure('.200b', { size: 'medium', text: ', 200 byte payload' }),
  measure('.1kb', { size: 'large', text: ', 1 KB payload' }),
];
