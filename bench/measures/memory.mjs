// Redis memory per job. What is capped whatever the number of jobs (BullMQ's event stream) is taken away first.
import { enqueue, processAll, withQueue } from '../scenario.mjs';

function measure(id, { size = 'small', quick = false, completed = false, text }) {
  return {
    id,
    quick,
    figures: { [id]: { unit: 'bytes/job', better: 'less', text } },
    sample(bench, contestant) {
      const count = bench.scale(10_000);
      return withQueue(bench, contestant, { keep: count }, async (scene) => {
        const before = await bench.server.usedMemory();
        await enqueue(scene, { mode: 'bulk', count, size });
        if (completed) await processAll(scene, { total: count, concurrency: 100 });
        await scene.producer.call('shrink');
        // Buffers of closed connections are freed by the server's own timer.
        await new Promise((resolve) => setTimeout(resolve, 50));
        return { [id]: ((await bench.server.usedMemory()) - before) / count };
      });
    },
  };
}

export default [
  measure('memory.waiting', { quick: true, text: 'Redis memory per waiting job' }),
  measure('memory.completed', { quick: true, completed: true, text: 'Redis memory per completed job that is kept' }),
  measure('memory.waiting.1kb', { size: 'large', text: 'Redis memory per waiting job, 1 KB payload' }),
];
