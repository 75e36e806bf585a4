// node bench/report/tables.mjs: writes tables from the JSON of runs. docs/performance.md has those of
// `--json docs/internals/figures/benchmark.json` and `--growth --plots docs/images`, docs/dashboard.md those of
// `--pages --json docs/internals/figures/dashboard-pages.json`. The table of Nest's variants is from
// `--nest --json docs/internals/figures/benchmark-nest.json`, those of docs/scaling.md from
// `--queues --json docs/internals/figures/queues.json`. Its arithmetic is from the first of these runs. That of the outbox is from `--outbox --json docs/internals/figures/outbox.json`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fillApp } from '../app/tables.mjs';
import { fillOutbox } from '../outbox/tables.mjs';
import { fillPages } from '../pages/tables.mjs';
import { fillQueues } from '../queues/tables.mjs';
import { fillStreams } from '../streams/tables.mjs';
import { fillCapacity } from './capacity.mjs';

const PEERS = { bullmq: 'BullMQ', 'bee-queue': 'bee-queue', groupmq: 'groupmq' };
const NAMES = { self: 'nest-job-queue', ...PEERS };

/** The figures of each table, by the beginning of their id. */
const TABLES = {
  processing: /^process\.(?!c100\.(limited|grouped))/,
  enqueue: /^enqueue\./,
  latency: /^latency\./,
  lateness: /^late\./,
  limited: /^process\.c100\.(limited|grouped)$/,
  memory: /^memory\./,
  cost: /^((redis\.us|node\.us|wire)\.|(inner|requests)\.(enqueue|process)$)/,
  aof: /^aof\.(enqueue|process)\./,
};

/** Puts the tables of a run of `--growth` between their markers, `<!-- growth:NAME -->` and `<!-- /growth -->`. */
export function fillGrowth(text, growths) {
  return text.replace(/<!-- growth:(\w+) -->\n[^]*?<!-- \/growth -->/g, (_, name) => {
    const growth = growths.find(({ id }) => id === name);
    return `<!-- growth:${name} -->\n\n${growthTable(growth)}\n\n<!-- /growth -->`;
  });
}

function growthTable({ title, series }) {
  const levels = series[0].points.map(({ level }) => level);
  const head = [title, ...levels.map((level) => level.toLocaleString('en'))];
  const rows = series.map(({ name, points }) => [
    name,
    ...levels.map((level) => points.find((point) => point.level === level)?.us.toFixed(1) ?? '–'),
  ]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Puts the table of a run of `--nest` between its markers, `<!-- nest -->` and `<!-- /nest -->`. */
export function fillNest(text, { machine, redis, figures }) {
  const { cpu, cores, node } = machine;
  const pairs = figures[0].rows[0].runs.length;
  const head = ['', ...figures.flatMap(({ unit, text: what }) => [`${what}, ${unit}`, '÷ core'])];
  const rows = figures[0].rows.map(({ contestant, name }) => [
    name,
    ...figures.flatMap(({ rows: all }) => {
      const row = all.find((each) => each.contestant === contestant);
      return row ? [show(row.value), ratioOf(row)] : ['–', '–'];
    }),
  ]);
  const table = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  const run = `Medians of ${pairs} rounds on ${cpu}, ${cores} cores, Node ${node}, Redis ${redis}; in brackets the middle half of the rounds.`;
  return text.replace(
    /<!-- nest -->\n[^]*?<!-- \/nest -->/,
    () => `<!-- nest -->\n\n${run}\n\n${table}\n\n<!-- /nest -->`,
  );
}

function ratioOf({ contestant, ratio, from, to }) {
  return contestant === 'self' ? '' : `${ratio.toFixed(2)} (${from.toFixed(2)} to ${to.toFixed(2)})`;
}

/** Puts the tables of a run between their markers, `<!-- bench:NAME -->` and `<!-- /bench -->`. */
export function fillTables(text, report) {
  return text.replace(/<!-- bench:(\w+) -->\n[^]*?<!-- \/bench -->/g, (_, name) => {
    const content = name === 'run' ? describeRun(report) : tableOf(name, report);
    return `<!-- bench:${name} -->\n\n${content}\n\n<!-- /bench -->`;
  });
}

function tableOf(name, { figures }) {
  if (!TABLES[name]) throw new Error(`bench:${name}: expected one of run, ${Object.keys(TABLES).join(', ')}`);
  const peers = Object.keys(PEERS);
  const head = ['', 'unit', 'ours', ...Object.values(PEERS), ...Object.values(PEERS).map((peer) => `÷ ${peer}`)];
  const rows = figures
    .filter(({ id }) => TABLES[name].test(id))
    .map(({ text, unit, better, self, peers: values, ratio }) => [
      text,
      `${unit} ${better === 'more' ? '↑' : '↓'}`,
      show(self),
      ...peers.map((peer) => show(values[peer])),
      ...peers.map((peer) => (ratio[peer] === null ? '–' : `${ratio[peer].toFixed(2)}×`)),
    ]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function describeRun({ machine, redis, versions, alternations, quick, settings, note }) {
  const { cpu, cores, memoryGb, os, node } = machine;
  const peers = Object.entries(PEERS).map(([id, name]) => `${name} ${versions[id]}`);
  const length = quick
    ? `a quick run of ${alternations} alternations`
    : `a run of ${alternations} alternations or more`;
  const rows = Object.keys(NAMES).flatMap((id) =>
    Object.entries(settings[id]).map(([what, how]) => `| ${NAMES[id]} | ${what} | ${how} |`),
  );
  return [
    `The medians of ${length} on ${cpu}, ${cores} cores, ${memoryGb} GB, ${os}, Node ${node}, Redis ${redis};`,
    `beside ${peers.join(', ')}.`,
    ...(note ? [note] : []),
    '',
    '| | | setting |\n| --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function show(value) {
  if (value === null) return '–';
  return Math.abs(value) >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = (path) => fileURLToPath(new URL(`../../docs/${path}`, import.meta.url));
  const read = (path) => JSON.parse(readFileSync(at(path), 'utf8'));
  const growths = ['waiting', 'claims', 'scheduled'].map((id) => read(`images/growth-${id}.json`));
  const page = readFileSync(at('performance.md'), 'utf8');
  const filled = fillGrowth(fillTables(page, read('internals/figures/benchmark.json')), growths);
  const nest = fillNest(filled, read('internals/figures/benchmark-nest.json'));
  const app = fillApp(nest, read('internals/figures/idle-app.json'));
  writeFileSync(at('performance.md'), fillOutbox(app, read('internals/figures/outbox.json')));
  const dashboard = readFileSync(at('dashboard.md'), 'utf8');
  writeFileSync(at('dashboard.md'), fillPages(dashboard, read('internals/figures/dashboard-pages.json')));
  const scaling = fillCapacity(readFileSync(at('scaling.md'), 'utf8'), read('internals/figures/benchmark.json'));
  const streams = 'internals/figures/streams.json';
  if (existsSync(at(streams))) {
    const ofStreams = readFileSync(at('internals/streams.md'), 'utf8');
    writeFileSync(at('internals/streams.md'), fillStreams(ofStreams, read(streams)));
  }
  const queues = 'internals/figures/queues.json';
  writeFileSync(at('scaling.md'), existsSync(at(queues)) ? fillQueues(scaling, read(queues)) : scaling);
}
