// `--app`: what an idle app costs, and the first calls of a process. Each sample is a new process; all alternate.
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from '../report/stats.mjs';
import { placesOf } from '../report/places.mjs';
import { appTable, fillAppPage } from './tables.mjs';

const boot = fileURLToPath(new URL('./boot.mjs', import.meta.url));
const first = fileURLToPath(new URL('./first.mjs', import.meta.url));
const PRODUCERS = ['self', 'bullmq', 'bee-queue', 'groupmq'];
const KINDS = { none: 'none', redis: 'redis', ours: 'self', bullmq: 'bullmq' };

export function appOptions(options, path) {
  return placesOf(options, path, { figures: 'idle-app.json', page: 'performance.md' });
}

/** Takes the samples, prints the table, and writes the report. */
export async function runApp(bench, { machine, redis, contestants }, { json, page }) {
  const rounds = bench.quick ? 3 : 11;
  const values = {};
  const note = (id, contestant, value) => ((values[id] ??= {})[contestant] ??= []).push(value);
  for (let round = -1; round < rounds; round++) {
    for (const [kind, id] of turned(Object.entries(KINDS), round)) {
      const { bootMs, cpuMs, rss, heap } = run(boot, kind, bench.server.url);
      if (round < 0) continue;
      note('boot', id, bootMs);
      note('boot.cpu', id, cpuMs);
      note('rss.idle', id, rss);
      note('heap.idle', id, heap);
    }
    for (const id of turned(PRODUCERS, round)) {
      const { firstMs, rssOfOne, perSecond, rssOfMany } = run(first, id, bench.server.url);
      if (round < 0) continue; // this round brings the scripts to the server
      note('first', id, firstMs);
      note('rss.one', id, rssOfOne);
      note('cold', id, perSecond);
      note('rss.many', id, rssOfMany);
    }
    bench.log('.');
  }
  bench.log('\n');
  const versions = Object.fromEntries([...contestants].map(([id, { version }]) => [id, version]));
  versions['@nestjs/bullmq'] = createRequire(import.meta.url)('@nestjs/bullmq/package.json').version;
  const medians = Object.fromEntries(
    Object.entries(values).map(([id, runs]) => [
      id,
      Object.fromEntries(Object.entries(runs).map(([each, all]) => [each, round5(median(all))])),
    ]),
  );
  const report = { machine, redis, versions, rounds, quick: bench.quick, medians, runs: values };
  console.log(appTable(report));
  await mkdir(dirname(json), { recursive: true });
  await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  if (page) await fillAppPage(page, report);
}

function run(file, kind, url) {
  const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', file];
  return JSON.parse(execFileSync(process.execPath, [...flags, kind, url, `app-${kind}`], { encoding: 'utf8' }));
}

function turned(list, round) {
  const at = (round + list.length) % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

function round5(value) {
  return Number(value.toPrecision(5));
}
