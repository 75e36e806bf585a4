// Turns of groups: by weight, between backlogs of different depth, and the wait behind the deepest backlog.
import { median, quantile } from '../report/stats.mjs';
import { figure, fill, runSome, withFlowQueue, withWorkers } from './library.mjs';
import { monotonicUs } from '../fleet/payload.mjs';

const CLAIM = 100;

/** Two groups with weights 1 and 3, one paused group, and one that its rate holds back. */
export const weights = {
  id: 'weights',
  text: 'Turns by weight',
  run: (bench) =>
    withFlowQueue(bench, {}, async (queue) => {
      const turns = 10_000;
      await queue.groups.set('three', { weight: 3 });
      await queue.groups.set('slow', { rateLimit: { limit: 1, periodMs: 3_600_000 } });
      for (const group of ['one', 'three', 'paused', 'slow']) {
        await fill(queue, group === 'one' || group === 'three' ? turns : 100, () => ({ payload: group, group }));
      }
      await queue.groups.pause('paused');
      const got = { one: 0, three: 0, slow: 0, paused: 0 };
      let worst = 0;
      for (let done = 0; done < turns; done += CLAIM) {
        for (const group of await runSome(queue, CLAIM)) got[group]++;
        if (done >= 1_000) worst = Math.max(worst, Math.abs(got.three / got.one / 3 - 1));
      }
      const text = `weights 1 and 3: largest error of the ratio between turn 1,000 and ${turns.toLocaleString('en')}`;
      return {
        figures: [
          figure('weights.error', text, '%', worst * 100, { most: 5 }),
          figure('weights.blocked', 'turns of a paused group', 'turns', got.paused, { most: 0 }),
        ],
      };
    }),
};

/** Equal tenants, from one job to a million; then single jobs of others behind the rest of the million. */
export const backlogs = {
  id: 'backlogs',
  text: 'Equal tenants with unequal backlogs',
  run: (bench) =>
    withFlowQueue(bench, {}, async (queue) => {
      const depths = [1, 10, 100, 1_000, 10_000, 100_000, ...(bench.quick ? [] : [1_000_000])];
      for (const depth of depths) await fill(queue, depth, () => ({ payload: depth, group: `tenant-${depth}` }));
      const { lowest, latest, series } = await shareTurns(queue, depths, bench.quick ? 20_000 : 60_000);
      const waits = await waitBehind(bench, queue);
      const deepest = depths.at(-1).toLocaleString('en');
      return {
        figures: [
          figure(
            'backlogs.jain',
            `Jain's index of tenants with backlogs of 1 to ${deepest}, the lowest of all ${CLAIM} turns`,
            '',
            lowest,
            { least: 0.95 },
          ),
          figure(
            'backlogs.last',
            'last job of a tenant, beside the turn by which fair turns reach it, the latest',
            '×',
            latest,
            { most: 1.05 },
          ),
          figure(
            'single.idle',
            'a single job in an empty queue: enqueue to start, median',
            'ms',
            median(waits.idle),
          ),
          figure(
            'single.median',
            `a single job behind ${deepest} of another tenant, median`,
            'ms',
            median(waits.behind),
          ),
          figure(
            'single.p99',
            `a single job behind ${deepest} of another tenant, 99th percentile`,
            'ms',
            quantile(waits.behind, 0.99),
          ),
        ],
        plot: {
          title: 'Jobs of each tenant that were started, by its backlog',
          subtext: 'equal weights: each line rises alike until its backlog ends',
          axis: 'turns of all tenants',
          scales: { x: 'log', y: 'log' },
          series,
        },
      };
    }),
};

/**
 * Returns the evenness of service per hundred turns, and how late a tenant's last job started relative to fair turns.
 */
async function shareTurns(queue, depths, turns) {
  const got = new Map(depths.map((depth) => [depth, 0]));
  const points = new Map(depths.map((depth) => [depth, []]));
  let [done, noted, lowest, latest] = [0, 1, 1, 0];
  while (done < turns) {
    const before = new Map(got);
    for (const depth of await runSome(queue, CLAIM)) {
      got.set(depth, got.get(depth) + 1);
      done++;
      if (got.get(depth) === depth) latest = Math.max(latest, done / fairTurns(depths, depth));
      if (done < noted) continue;
      for (const [each, count] of got) if (count > 0) points.get(each).push([done, count]);
      noted = Math.ceil(noted * 1.2);
    }
    const served = depths
      .filter((depth) => got.get(depth) < depth)
      .map((depth) => got.get(depth) - before.get(depth));
    lowest = Math.min(lowest, jain(served));
  }
  const named = (depth) => ({ name: `backlog ${depth.toLocaleString('en')}`, points: points.get(depth) });
  return { lowest, latest, series: depths.map(named) };
}

/** Returns the number of turns after which each tenant has had `turns`, or all its jobs. */
function fairTurns(depths, turns) {
  return depths.reduce((sum, depth) => sum + Math.min(depth, turns), 0);
}

function jain(counts) {
  const sum = counts.reduce((total, count) => total + count, 0);
  return sum ** 2 / (counts.length * counts.reduce((total, count) => total + count ** 2, 0));
}

/** Runs the rest of the backlog with ten slots. Every 20 ms an otherwise idle tenant enqueues one job. */
async function waitBehind(bench, queue) {
  const worker = { concurrency: 10, handlerMs: 1, tellsAll: false };
  const behind = await singles(bench, queue, worker, 200);
  const { pending } = await queue.stats();
  if (pending === 0) throw new Error('expected jobs of the backlog to be left');
  const idle = await withFlowQueue(bench, {}, (empty) => singles(bench, empty, worker, 100));
  return { behind, idle };
}

function singles(bench, queue, worker, count) {
  return withWorkers(bench, queue, [worker], async (fleet) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (let i = 0; i < count; i++) {
      await queue.enqueue({ tell: true, t: monotonicUs() }, { group: `single-${i}` });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await fleet.until(count);
    return fleet.runs.map(({ startedUs, payload }) => (startedUs - payload.t) / 1_000);
  });
}
