// Requests of clients (one answer each: a round trip, unless pipelined) and commands inside scripts, per job.
// Counted with MONITOR, in passes of their own, for it slows the server down.
import { enqueue, processAll, withQueue } from '../scenario.mjs';

function counted(id, text, quick, sample) {
  const name = (kind) => `${kind}.${id}`;
  return {
    id: `commands.${id}`,
    quick,
    figures: {
      [name('requests')]: { unit: 'per job', better: 'less', text: `requests to Redis, ${text}` },
      [name('inner')]: { unit: 'per job', better: 'less', text: `commands inside scripts, ${text}` },
    },
    sample: (bench, contestant) =>
      withQueue(bench, contestant, {}, async (scene) => {
        const { count, counts } = await sample(bench, scene);
        return { [name('requests')]: counts.requests / count, [name('inner')]: counts.inner / count };
      }),
  };
}

async function counting(bench, action) {
  const counter = await bench.server.countCommands();
  await action();
  return counter.stop();
}

const enqueueing = (mode) => async (bench, scene) => {
  const count = 2_000;
  const counts = await counting(bench, () => enqueue(scene, { mode, count, expectWaiting: null }));
  return { count, counts };
};

const processing = (concurrency) => async (bench, scene) => {
  const count = 4_000;
  await enqueue(scene, { mode: 'bulk', count });
  const counts = await counting(bench, () => processAll(scene, { total: count, concurrency }));
  return { count, counts };
};

export default [
  counted('enqueue', 'bulk of 1,000', true, enqueueing('bulk')),
  counted('enqueue.parallel100', '100 single enqueues in parallel', true, enqueueing('parallel')),
  counted('process', 'processing, concurrency 100', true, processing(100)),
  counted('process.c1', 'processing, concurrency 1', true, processing(1)),
];
