// Processing with limits and groups on, beside the rivals that have them. No job waits for the limits: only their bookkeeping counts.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';

const CONCURRENCY = 100;

/** @param flows the contestants that can, each with the name of its variant; undefined: as it is */
function measure(id, text, flows) {
  return {
    id,
    figures: { [id]: { unit: 'jobs/s', better: 'more', text } },
    async sample(bench, contestant) {
      if (!(contestant in flows)) return { [id]: null };
      const flow = flows[contestant];
      const variant = flow === undefined ? contestant : `${contestant}:${flow}`;
      return withQueue(bench, variant, { concurrency: CONCURRENCY }, async (scene) => {
        const total = bench.scale(20_000);
        await enqueue(scene, { mode: 'bulk', count: total });
        const { perSecond } = await processAll(scene, { total, concurrency: CONCURRENCY });
        return { [id]: perSecond };
      });
    },
  };
}

export default [
  measure('process.c100.limited', 'processing at concurrency 100, a rate limit that is not reached', {
    self: 'limited',
    bullmq: 'limited',
  }),
  measure('process.c100.grouped', 'processing at concurrency 100, 100 groups that run one job at a time', {
    self: 'grouped',
    groupmq: undefined,
  }),
];
