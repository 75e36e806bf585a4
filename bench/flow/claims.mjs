// The cost of a claim by the number of groups, with all groups ready, and with all but one blocked.
import { figure, fill, readCommands, withFlowQueue } from './library.mjs';

const CLAIMS = 300;

export const claims = {
  id: 'claims',
  text: 'Cost of a claim by the number of groups',
  async run(bench) {
    const levels = bench.quick ? [10, 1_000, 10_000] : [10, 1_000, 100_000];
    const rows = [];
    for (const level of levels) {
      rows.push({ level, ...(await withFlowQueue(bench, {}, (queue) => measure(bench, queue, level))) });
      bench.log(`  ${level.toLocaleString('en')} groups\n`);
    }
    const growth = (what, of) => rows.at(-1)[what][of] / rows[0][what][of];
    const most = levels.at(-1).toLocaleString('en');
    return {
      rows,
      figures: [
        figure(
          'claims.ready',
          `commands of a claim at ${most} ready groups, beside 10`,
          '×',
          growth('ready', 'commands'),
          { most: 1.5 },
        ),
        figure(
          'claims.blocked',
          `commands of a claim at ${most} blocked groups, beside 10`,
          '×',
          growth('blocked', 'commands'),
          { most: 1.1 },
        ),
        figure('claims.ready.us', `time of a claim at ${most} ready groups, beside 10`, '×', growth('ready', 'us')),
        figure(
          'claims.blocked.us',
          `time of a claim at ${most} blocked groups, beside 10`,
          '×',
          growth('blocked', 'us'),
        ),
      ],
      plot: {
        title: 'Cost of a claim by the number of groups',
        subtext: 'µs of Redis per claim of one job',
        axis: 'groups',
        scales: { x: 'log', y: 'value' },
        series: ['ready', 'blocked'].map((what) => ({
          name: what === 'ready' ? 'all ready' : 'all but one blocked',
          points: rows.map((row) => [row.level, row[what].us]),
        })),
      },
    };
  },
};

/**
 * Measures claims of groups with one slot and enough jobs. With all slots taken, the only ready group has more
 * slots.
 */
async function measure(bench, queue, level) {
  const each = Math.max(2, Math.ceil((3 * CLAIMS) / level));
  await fill(queue, level * each, (i) => ({ payload: {}, group: `g${i % level}` }));
  const ready = await costOfClaims(bench, queue);
  await queue.limits.set({ groups: { maxRunning: 1 } });
  await settleGroups(bench, queue, level);
  await queue.groups.set('open', { maxRunning: 1_000 });
  await fill(queue, 2 * CLAIMS, () => ({ payload: 'open', group: 'open' }));
  const blocked = await costOfClaims(bench, queue);
  return { ready, blocked };
}

/** Claims until every group uses its slot, and the claims have reviewed all groups after the change of limits. */
async function settleGroups(bench, queue, level) {
  for (let taken = 0; ;) {
    const jobs = await queue.claimMany(1_000);
    taken += jobs.length;
    const isReviewed = !(await bench.server.control.hexists(
      `queue:${queue.name}:groups:settings`,
      'review_cursor',
    ));
    if (jobs.length === 0 && isReviewed) return;
    if (taken > level) throw new Error(`expected at most ${level} slots, found ${taken} claims`);
  }
}

/** Counts the commands of claims. The first claims do not count, because the first call of a script loads it. */
async function costOfClaims(bench, queue) {
  for (let i = 0; i < 50; i++) await queue.claim();
  await bench.server.control.config('RESETSTAT');
  for (let i = 0; i < CLAIMS; i++) {
    if (!(await queue.claim())) throw new Error('expected a job to claim');
  }
  const { scripts, scriptUs, inner } = await readCommands(bench);
  return { commands: Number((inner / scripts).toPrecision(4)), us: Number((scriptUs / scripts).toPrecision(4)) };
}
