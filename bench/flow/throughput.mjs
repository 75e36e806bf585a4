// Jobs per second with groups and with rate limits, beside libraries that have them.
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { median } from '../report/stats.mjs';
import { figure } from './library.mjs';

const CONTESTANTS = [
  'self',
  'self:grouped',
  'groupmq',
  'self:many-groups',
  'groupmq:many-groups',
  'self:limited',
  'bullmq:limited',
];

export const throughput = {
  id: 'throughput',
  text: 'Grouped and rate-limited work, concurrency 100',
  async run(bench) {
    const rates = Object.fromEntries(CONTESTANTS.map((id) => [id, []]));
    const rounds = bench.quick ? 2 : 4;
    for (let round = -1; round < rounds; round++) {
      const order = CONTESTANTS.map((_, i) => CONTESTANTS[(i + round + 1) % CONTESTANTS.length]);
      for (const id of order) {
        const rate = await sample(bench, id, bench.quick || round < 0 ? 4_000 : 20_000);
        if (round >= 0) rates[id].push(rate); // the first round warms up
      }
    }
    const of = (id) => median(rates[id]);
    const rows = CONTESTANTS.map((id) => ({ id, perSecond: Math.round(of(id)), runs: rates[id].map(Math.round) }));
    return {
      rows,
      figures: [
        figure(
          'throughput.groups',
          'grouped work, 100 groups of one slot: ours beside groupmq',
          '×',
          of('self:grouped') / of('groupmq'),
          { least: 2 },
        ),
        figure(
          'throughput.many',
          'grouped work, 1,000 groups of one slot: ours beside groupmq',
          '×',
          of('self:many-groups') / of('groupmq:many-groups'),
          { least: 2 },
        ),
        figure(
          'throughput.limits',
          "rate-limited work: ours beside BullMQ's limiter",
          '×',
          of('self:limited') / of('bullmq:limited'),
          { least: 2 },
        ),
      ],
    };
  },
};

function sample(bench, id, total) {
  return withQueue(bench, id, { concurrency: 100 }, async (scene) => {
    await enqueue(scene, { mode: 'bulk', count: total });
    const { perSecond } = await processAll(scene, { total, concurrency: 100 });
    return perSecond;
  });
}
