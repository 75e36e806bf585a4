// The table of `--slots`, for the terminal and for docs/performance.md.
const NAMES = { self: 'ours', bullmq: 'BullMQ' };

/** Puts the table of a run between its markers, `<!-- slots -->` and `<!-- /slots -->`. */
export function fillSlots(text, report) {
  return text.replace(
    /<!-- slots -->\n[^]*?<!-- \/slots -->/,
    () => `<!-- slots -->\n\n${describeRun(report)}\n\n${slotsTable(report)}\n\n<!-- /slots -->`,
  );
}

function describeRun({ machine, redis, versions, quick, rounds }) {
  const { cpu, cores, node } = machine;
  const peers = versions.bullmq ? `; beside BullMQ ${versions.bullmq}` : '';
  return `The medians of ${rounds} ${quick ? 'quick ' : ''}rounds on ${cpu}, ${cores} cores, Node ${node}, Redis ${redis}${peers}.`;
}

/** Returns a row for each length of handlers, with ours and the peers in each cell. */
export function slotsTable({ rows, versions }) {
  const ids = Object.keys(versions);
  const concurrencies = [...new Set(rows.map(({ concurrency }) => concurrency))].toSorted((a, b) => a - b);
  const lengths = [...new Set(rows.map(({ handlerMs }) => handlerMs))].toSorted((a, b) => a - b);
  const head = [
    `handler, ${ids.map((id) => NAMES[id]).join(' / ')}`,
    ...concurrencies.map((count) => slots(count)),
  ];
  const body = lengths.map((handlerMs) => [
    handlerMs === 0 ? 'nothing, jobs/s' : `${handlerMs} ms, share of a bare loop`,
    ...concurrencies.map((concurrency) => cell(rows, ids, concurrency, handlerMs)),
  ]);
  return [head, head.map(() => '---'), ...body].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

const slots = (count) => (count === 1 ? '1 slot' : `${count} slots`);

function cell(rows, ids, concurrency, handlerMs) {
  const row = rows.find((each) => each.concurrency === concurrency && each.handlerMs === handlerMs);
  if (!row) return '–';
  const show = (rate) => (handlerMs === 0 ? rate.toLocaleString('en') : (rate / row.rates.bare).toFixed(2));
  return ids.map((id) => show(row.rates[id])).join(' / ');
}
