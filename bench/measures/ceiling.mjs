// The ceiling: records what a worker sends once, then replays it raw, so that only Redis limits it. A replay that
// leaves jobs incomplete gives no figure. That happens with libraries that spread a job over several connections.
import { recordingProxy, replay } from './replay.mjs';
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';

const figures = {
  ceiling: { unit: 'share', better: 'more', text: 'processing at concurrency 100, as a share of its ceiling' },
  'ceiling.process': { unit: 'jobs/s', better: 'more', text: 'the ceiling: what the worker sent, sent raw' },
  'ceiling.busy': { unit: 'share', better: 'more', text: 'how busy Redis was at the ceiling' },
};

async function sample(bench, contestant) {
  const total = bench.scale(20_000);
  const run = { total, concurrency: 100 };
  const real = await withQueue(bench, contestant, {}, async (scene) => {
    await enqueue(scene, { mode: 'bulk', count: total });
    return processAll(scene, run);
  });
  const proxy = await recordingProxy(bench.server.url);
  try {
    return await withQueue(bench, contestant, { url: proxy.url }, async (scene) => {
      await enqueue(scene, { mode: 'bulk', count: total });
      const copy = await snapshot(bench.server.control);
      proxy.take();
      // Held back, it would claim its first jobs over another connection than the rest.
      await processAll(scene, { ...run, heldBack: false });
      const recording = proxy.take();
      await restore(bench.server.control, copy);
      return raw(bench, scene, { recording, total, real });
    });
  } finally {
    proxy.close();
  }
}

async function raw(bench, scene, { recording, total, real }) {
  const before = await bench.server.probe();
  const us = await replay(bench.server.url, recording);
  const { cpuUs } = await bench.server.since(before);
  const counts = await scene.producer.call('counts');
  const settled = counts.waiting === 0 && counts.active === 0 && counts.completed >= Math.min(total, scene.keep);
  if (!settled) return { ceiling: null };
  const perSecond = (total / us) * 1e6;
  return { ceiling: real.perSecond / perSecond, 'ceiling.process': perSecond, 'ceiling.busy': cpuUs / us };
}

/** Saves the waiting jobs, so that a replay can start from the same state. */
async function snapshot(control) {
  const keys = await control.keys('*');
  const pipeline = control.pipeline();
  for (const key of keys) pipeline.dumpBuffer(key);
  const dumps = await pipeline.exec();
  return keys.map((key, i) => [key, dumps[i][1]]);
}

async function restore(control, copy) {
  await control.flushall();
  const pipeline = control.pipeline();
  for (const [key, dump] of copy) pipeline.restore(key, 0, dump);
  for (const [error] of await pipeline.exec()) if (error) throw error;
}

export default [{ id: 'ceiling', figures, quick: true, rounds: 2, sample }];
