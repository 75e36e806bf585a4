// The tables of `--queues`, for the terminal and for docs/scaling.md.
const NAMES = { self: 'ours', bullmq: 'BullMQ' };

const COLUMNS = [
  ['commands sent a second', ({ sentPerSecond }) => sentPerSecond],
  ['inside scripts', ({ insidePerSecond }) => insidePerSecond],
  ['CPU of Redis, %', ({ redisPercent }) => redisPercent],
  ['CPU of Node, %', ({ nodePercent }) => nodePercent],
  ['connections', ({ connections }) => connections],
  ['start, s', ({ startMs }) => startMs / 1_000],
  ['a job starts after, ms: p50', ({ p50Ms }) => p50Ms],
  ['p95', ({ p95Ms }) => p95Ms],
];

/** Puts the tables of a run between their markers, `<!-- queues -->` and `<!-- /queues -->`. */
export function fillQueues(text, report) {
  return text.replace(
    /<!-- queues -->\n[^]*?<!-- \/queues -->/,
    () => `<!-- queues -->\n\n${describeRun(report)}\n\n${queuesTables(report)}\n\n<!-- /queues -->`,
  );
}

function describeRun({ machine, redis, versions, quick }) {
  const { cpu, cores, node } = machine;
  const peers = versions.bullmq ? `, beside BullMQ ${versions.bullmq}` : '';
  return `${quick ? 'A quick run' : 'A run'} on ${cpu}, ${cores} cores, Node ${node}, Redis ${redis}${peers}.`;
}

/** Returns a table for each number of masters, with ours and the peers in each cell. */
export function queuesTables({ rows, versions }) {
  const ids = Object.keys(versions);
  const masters = [...new Set(rows.map((row) => row.masters))].toSorted((a, b) => a - b);
  return masters
    .map((count) =>
      tableOf(
        rows.filter((row) => row.masters === count),
        ids,
        count,
      ),
    )
    .join('\n\n');
}

function tableOf(rows, ids, masters) {
  const place = masters === 1 ? 'queues on one server' : `queues on ${masters} masters`;
  const head = [`${place}, ${ids.map((id) => NAMES[id]).join(' / ')}`, ...COLUMNS.map(([name]) => name)];
  const counts = [...new Set(rows.map(({ queues }) => queues))].toSorted((a, b) => a - b);
  const body = counts.map((queues) => [
    queues.toLocaleString('en'),
    ...COLUMNS.map(([, valueOf]) =>
      ids
        .map((id) =>
          cell(
            rows.find((row) => row.queues === queues && row.contestant === id),
            valueOf,
          ),
        )
        .join(' / '),
    ),
  ]);
  return [head, head.map(() => '---'), ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function cell(row, valueOf) {
  if (!row?.figures) return '–';
  const value = valueOf(row.figures);
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(2)));
}
