// Redis memory per job. What is capped whatever the number of jobs (BullMQ's event stream) is taken away first.
import { enqueue, processAll, withQueue } from '../scenario.mjs';

function measure(suffix, { size, quick = false, text }) {
  const figure = (what) => ({ unit: 'bytes/job', better: 'less', text: `Redis memory per ${what}${text}` });
  const [waiting, completed] = [`memory.waiting${suffix}`, `memory.completed${suffix}`];
  return {
    id: `memory${suffix}`,
    quick,
    figures: { [waiting]: figure('waiting job'), [completed]: figure('completed job that is kept') },
    sample(bench, contestant) {
      const count = bench.scale(10_000);
      return withQueue(bench, contestant, { keep: count }, async (scene) => {
        const perJob = async (before) => {
          await scene.producer.call('shrink');
          // Buffers of closed connections are freed by the server's own timer.
          await new Promise((resolve) => setTimeout(resolve, 50));
          return ((await bench.server.usedMemory()) - before) / count;
        };
        const before = await bench.server.usedMemory();
        await enqueue(scene, { mode: 'bulk', count, size });
        const whileWaiting = await perJob(before);
        await processAll(scene, { total: count, concurrency: 100 });
        return { [waiting]: whileWaiting, [completed]: await perJob(before) };
      });
    },
  };
}

export default [
  measure('', { size: 'small', quick: true, text: '' }),
  measure('.200b', { size: 'medium', text: ', 200 byte payload' }),
  measure('.1kb', { size: 'large', text: ', 1 KB payload' }),
];
