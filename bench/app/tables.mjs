// The table of `--app`, for the terminal and for docs/performance.md.
import { readFile, writeFile } from 'node:fs/promises';

const NAMES = {
  none: 'Nest alone',
  redis: 'Nest and ioredis',
  self: 'ours',
  bullmq: 'BullMQ',
  'bee-queue': 'bee-queue',
  groupmq: 'groupmq',
};
const PEERS = ['bullmq', 'bee-queue', 'groupmq'];
const ROWS = {
  boot: 'start of the process until the Nest app is ready, ms ↓',
  'boot.cpu': 'CPU of all threads until then, ms ↓',
  'rss.idle': 'resident memory of the idle Nest app, MB ↓',
  'heap.idle': 'used heap of it, MB ↓',
  first: 'open a queue, and the first enqueue of a new process, ms ↓',
  'rss.one': 'resident memory after it, MB ↓',
  cold: 'the next 2,000 enqueues, one after the other, jobs/s ↑',
  'rss.many': 'resident memory after them, MB ↓',
};

/** Puts the table between its markers, `<!-- app -->` and `<!-- /app -->`. */
export function fillApp(text, report) {
  return text.replace(
    /<!-- app -->\n[^]*?<!-- \/app -->/,
    () => `<!-- app -->\n\n${describeRun(report)}\n\n${appTable(report)}\n\n<!-- /app -->`,
  );
}

/** Renews the table of a page. */
export async function fillAppPage(page, report) {
  await writeFile(page, fillApp(await readFile(page, 'utf8'), report));
}

function describeRun({ machine, redis, versions, rounds }) {
  return `The medians of ${rounds} rounds on ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, Redis ${redis}; beside @nestjs/bullmq ${versions['@nestjs/bullmq']} with BullMQ ${versions.bullmq}.`;
}

export function appTable({ medians }) {
  const columns = Object.keys(NAMES);
  const head = ['', ...Object.values(NAMES), ...PEERS.map((id) => `÷ ${NAMES[id]}`)];
  const rows = Object.entries(ROWS).flatMap(([id, text]) => {
    const row = [
      text,
      ...columns.map((each) => show(medians[id][each])),
      ...PEERS.map((each) => ratio(medians[id], each)),
    ];
    return medians[id].redis === undefined ? [row] : [row, addedRow(medians[id], columns, text)];
  });
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Returns the row of what a queue adds to an app that has a client of Redis. */
function addedRow(values, columns, text) {
  const added = Object.fromEntries(columns.slice(2).map((id) => [id, less(values, id)]));
  const unit = text.slice(text.lastIndexOf(','));
  return [
    `of it beyond Nest and ioredis${unit}`,
    '–',
    '–',
    ...columns.slice(2).map((id) => show(added[id])),
    ...PEERS.map((id) => ratio(added, id)),
  ];
}

function less(values, id) {
  return values[id] === undefined ? undefined : values[id] - values.redis;
}

function ratio(values, peer) {
  return values[peer] === undefined ? '–' : `${(values.self / values[peer]).toFixed(2)}×`;
}

function show(value) {
  if (value === undefined) return '–';
  return Math.abs(value) >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}
