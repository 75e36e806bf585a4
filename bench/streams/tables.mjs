// The table of `--streams`, for the terminal and for docs/internals/streams.md.
import { readFile, writeFile } from 'node:fs/promises';

export const ROWS = {
  unread: 'chunks that nobody reads',
  read: 'chunks with a reader for each job',
  progress: 'progress, which keeps the last value',
};
const COLUMNS = {
  scripts: 'scripts a value',
  commands: 'commands in Redis a value',
  redisUs: 'Redis CPU a value, µs',
  nodeUs: 'Node CPU a value, µs',
  perSecond: 'values a second',
  firstP50: 'first chunk, p50, ms',
  firstP99: 'first chunk, p99, ms',
};

/** Puts the table between its markers, `<!-- streams -->` and `<!-- /streams -->`. */
export function fillStreams(text, report) {
  return text.replace(
    /<!-- streams -->\n[^]*?<!-- \/streams -->/,
    () => `<!-- streams -->\n\n${describeRun(report)}\n\n${streamsTable(report)}\n\n<!-- /streams -->`,
  );
}

/** Renews the table of a page. */
export async function fillStreamsPage(page, report) {
  await writeFile(page, fillStreams(await readFile(page, 'utf8'), report));
}

function describeRun({ machine, redis, rounds }) {
  return `The medians of ${rounds} rounds on ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, Redis ${redis}. The worker and the readers share a process.`;
}

export function streamsTable({ jobs, values, medians }) {
  const head = [`${jobs.toLocaleString('en')} jobs, ${values} values each`, ...Object.values(COLUMNS)];
  const rows = Object.entries(medians).map(([id, figures]) => [
    ROWS[id],
    ...Object.keys(COLUMNS).map((column) => show(figures[column])),
  ]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function show(value) {
  if (value === undefined) return '–';
  return value >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}
