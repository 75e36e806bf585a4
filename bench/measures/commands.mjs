// Requests of clients (one answer each: a round trip, unless pipelined) and commands inside scripts, per job. Counted
// with MONITOR in separate passes, because it slows the server down. A few passes are enough, because they hardly
// differ.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';

function measure(id, quick, sample, texts) {
  const figures = {};
  for (const [of, text] of Object.entries(texts)) {
    figures[`requests.${of}`] = { unit: 'per job', better: 'less', text: `requests to Redis, ${text}` };
    figures[`inner.${of}`] = { unit: 'per job', better: 'less', text: `commands inside scripts, ${text}` };
  }
  return { id, quick, rounds: 2, figures, sample };
}

async function counted(bench, of, count, action) {
  const counter = await bench.server.countCommands();
  await action();
  const { requests, inner } = await counter.stop();
  return { [`requests.${of}`]: requests / count, [`inner.${of}`]: inner / count };
}

const enqueueing = (of, mode) => (bench, contestant) =>
  withQueue(bench, contestant, {}, (scene) =>
    counted(bench, of, 2_000, () => enqueue(scene, { mode, count: 2_000, expectWaiting: null })),
  );

const processing = (of, concurrency) => (bench, contestant) =>
  withQueue(bench, contestant, { concurrency }, async (scene) => {
    const total = 2_000;
    const fed = await counted(bench, 'enqueue', total, () => enqueue(scene, { mode: 'bulk', count: total }));
    const processed = await counted(bench, of, total, () => processAll(scene, { total, concurrency }));
    return concurrency === 100 ? { ...fed, ...processed } : processed;
  });

export default [
  measure('commands', true, processing('process', 100), {
    enqueue: 'bulk of 1,000',
    process: 'processing at concurrency 100',
  }),
  measure('commands.parallel100', true, enqueueing('enqueue.parallel100', 'parallel'), {
    'enqueue.parallel100': '100 single enqueues in parallel',
  }),
  measure('commands.c10', true, processing('process.c10', 10), { 'process.c10': 'processing at concurrency 10' }),
  measure('commands.c1', false, processing('process.c1', 1), { 'process.c1': 'processing at concurrency 1' }),
];
