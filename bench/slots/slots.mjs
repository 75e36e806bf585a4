// npm run bench -- --slots: how much of its slots a worker uses. The rate of a worker is compared with the same
// handlers in a bare loop in the same process. Writes docs/internals/figures/slots.json, a plot, and the table of
// docs/performance.md.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { enqueue, processAll, withQueue } from '../fleet/scenario.mjs';
import { plot } from '../growth/plot.mjs';
import { placesOf } from '../report/places.mjs';
import { median } from '../report/stats.mjs';
import { fillSlots, slotsTable } from './tables.mjs';

const CONCURRENCIES = [1, 2, 5, 10, 20, 50, 100];
const HANDLERS_MS = [0, 1, 5, 20];
const CONTESTANTS = ['self', 'bullmq'];

/** The time of one run of one contestant, in s, if it used its slots fully. */
const SECONDS = { quick: 0.4, whole: 1.5 };

/** The jobs of a run with handlers that do nothing: at least these for each second. */
const IDLE_RATE = 20_000;

/** Returns the options of a run. */
export function slotsOptions(options, path) {
  return { only: options.only, ...placesOf(options, path, { figures: 'slots.json', page: 'performance.md' }) };
}

/** @param options.only cells such as `c10.1ms`, all of them by default */
export async function runSlots(bench, { machine, redis, contestants }, { only, json, plots, page }) {
  const ids = CONTESTANTS.filter((id) => contestants.has(id));
  const cells = cellsOf(only);
  const seconds = bench.quick ? SECONDS.quick : SECONDS.whole;
  const rows = [];
  for (const cell of cells) {
    bench.log(`${cell.id} `);
    rows.push({ ...cell, ...(await measure(bench, ids, cell, seconds)) });
    bench.log('\n');
  }
  const versions = Object.fromEntries(ids.map((id) => [id, contestants.get(id).version]));
  const report = { machine, redis, versions, quick: bench.quick, rounds: bench.rounds, rows };
  for (const folder of [plots, dirname(json)]) await mkdir(folder, { recursive: true });
  await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(plots, 'slots.svg'), draw(report));
  if (page) await writeFile(page, fillSlots(await readFile(page, 'utf8'), report));
  console.log(`\n${slotsTable(report)}`);
}

function cellsOf(only) {
  const cells = HANDLERS_MS.flatMap((handlerMs) =>
    CONCURRENCIES.map((concurrency) => ({ id: `c${concurrency}.${handlerMs}ms`, concurrency, handlerMs })),
  );
  for (const id of only ?? []) {
    if (!cells.some((cell) => cell.id === id)) {
      throw new Error(`--only: expected one of ${cells.map((cell) => cell.id).join(', ')}, found ${id}`);
    }
  }
  return cells.filter(({ id }) => !only || only.includes(id));
}

/** Returns the medians of the rounds. Rates are in jobs/s, the CPU time of the bare loop in µs a job. */
async function measure(bench, ids, { concurrency, handlerMs }, seconds) {
  const total = jobsFor(concurrency, handlerMs, seconds);
  const rates = Object.fromEntries(['bare', ...ids].map((id) => [id, []]));
  const bareCpuUs = [];
  // The first round warms up, and does not count.
  for (let round = -1; round < bench.rounds; round++) {
    const bare = await runBare(bench, { concurrency, handlerMs, total });
    if (round >= 0) {
      rates.bare.push(bare.perSecond);
      bareCpuUs.push(bare.cpuUs);
    }
    for (const id of round % 2 === 0 ? ids : ids.toReversed()) {
      const perSecond = await runWorker(bench, id, { concurrency, handlerMs, total });
      if (round >= 0) rates[id].push(perSecond);
    }
    bench.log('.');
  }
  const medians = Object.fromEntries(Object.entries(rates).map(([id, values]) => [id, Math.round(median(values))]));
  return { rates: medians, bareCpuUs: Number(median(bareCpuUs).toFixed(2)), runs: rates };
}

/** Returns the number of jobs of a run, a multiple of the slots. */
function jobsFor(concurrency, handlerMs, seconds) {
  const turns = handlerMs === 0 ? (IDLE_RATE * seconds) / concurrency : (seconds * 1_000) / handlerMs;
  return Math.ceil(turns) * concurrency;
}

async function runBare(bench, cell) {
  const [worker] = await bench.fleet.workers('self', 1);
  const { us, cpuUs } = await worker.call('bareLoop', cell);
  return { perSecond: (cell.total / us) * 1e6, cpuUs: cpuUs / cell.total };
}

function runWorker(bench, contestant, { concurrency, handlerMs, total }) {
  return withQueue(bench, contestant, { concurrency }, async (scene) => {
    await enqueue(scene, { mode: 'bulk', count: total });
    const { perSecond } = await processAll(scene, { total, concurrency, handlerMs });
    return perSecond;
  });
}

function draw({ rows, versions }) {
  const names = { self: 'nest-job-queue', bullmq: `BullMQ ${versions.bullmq}` };
  const lengths = HANDLERS_MS.filter((handlerMs) => handlerMs > 0);
  const series = lengths.flatMap((handlerMs) =>
    Object.keys(versions).map((id) => ({
      name: `${names[id]}, ${handlerMs} ms`,
      points: rows
        .filter((row) => row.handlerMs === handlerMs)
        .map(({ concurrency, rates }) => ({ level: concurrency, us: rates[id] / rates.bare })),
    })),
  );
  const subtext = 'share of the rate of the same handlers in a bare loop with as many slots';
  return plot('How much of its slots a worker uses', 'slots', series, { subtext });
}
