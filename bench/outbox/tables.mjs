// The report and the table of `--outbox`, for the terminal and for docs/performance.md.
import { median } from '../report/stats.mjs';

const NAMES = { self: 'ours', 'pg-boss': 'pg-boss', 'graphile-worker': 'graphile-worker', bare: 'no job' };
const RIVALS = ['pg-boss', 'graphile-worker'];
/** The figures of a transaction, from which those of one without a job are taken away. */
const OF_JOB = {
  'add.cpu': {
    unit: 'µs',
    better: 'less',
    text: 'the part of the job in it: all CPU without that of the same row alone',
  },
};

/** Returns the form of the JSON: `runs` has the values of all rounds, by contestant. */
export function reportOf({ machine, redis, postgres, contestants, bench }, measures, values) {
  const described = Object.assign({}, ...measures.map(({ figures }) => figures));
  const figures = Object.entries(described).flatMap(([id, about]) => {
    const runs = values[id];
    if (!runs) return [];
    const own = { id, ...about, ...summary(runs) };
    return OF_JOB[id] && runs.bare
      ? [own, { id: `${id}.job`, ...OF_JOB[id], ...summary(withoutBare(runs)) }]
      : [own];
  });
  const versions = Object.fromEntries([...contestants].map(([id, { version }]) => [id, version]));
  const settings = Object.fromEntries([...contestants].map(([id, peer]) => [id, peer.settings]));
  const { quick, rounds } = bench;
  return { machine, redis, postgres, versions, quick, rounds, settings, figures };
}

/** Returns what the job costs: each run without the transaction of the same round that has no job. */
function withoutBare({ bare, ...runs }) {
  return Object.fromEntries(
    Object.entries(runs).map(([id, values]) => [id, values.map((value, round) => value - bare[round])]),
  );
}

function summary(runs) {
  const values = Object.fromEntries(Object.entries(runs).map(([id, all]) => [id, round(median(all))]));
  const ratio = Object.fromEntries(
    RIVALS.filter((id) => values[id]).map((id) => [id, round(values.self / values[id])]),
  );
  return { values, ratio, runs: Object.fromEntries(Object.entries(runs).map(([id, all]) => [id, all.map(round)])) };
}

/** Puts the table of a run between its markers, `<!-- outbox -->` and `<!-- /outbox -->`. */
export function fillOutbox(text, report) {
  return text.replace(
    /<!-- outbox -->\n[^]*?<!-- \/outbox -->/,
    () => `<!-- outbox -->\n\n${describeRun(report)}\n\n${outboxTable(report)}\n\n<!-- /outbox -->`,
  );
}

function describeRun({ machine, redis, postgres, versions, quick, rounds, settings }) {
  const { cpu, cores, node } = machine;
  const rivals = RIVALS.map((id) => `${NAMES[id]} ${versions[id]}`).join(' and ');
  const rows = Object.keys(versions).flatMap((id) =>
    Object.entries(settings[id]).map(([what, how]) => `| ${NAMES[id]} | ${what} | ${how} |`),
  );
  return [
    `The medians of ${rounds} ${quick ? 'quick ' : ''}rounds on ${cpu}, ${cores} cores, Node ${node}, PostgreSQL ${postgres},`,
    `Redis ${redis}; beside ${rivals}.`,
    '',
    '| | | setting |\n| --- | --- | --- |',
    ...rows,
  ].join('\n');
}

export function outboxTable({ figures }) {
  const hasBare = figures.some(({ values }) => values.bare !== undefined);
  const columns = ['self', ...RIVALS, ...(hasBare ? ['bare'] : [])];
  const head = ['', 'unit', ...columns.map((id) => NAMES[id]), ...RIVALS.map((id) => `÷ ${NAMES[id]}`)];
  const rows = figures.map(({ text, unit, better, values, ratio }) => [
    text,
    `${unit} ${better === 'more' ? '↑' : '↓'}`,
    ...columns.map((id) => show(values[id])),
    ...RIVALS.map((id) => (ratio[id] === undefined ? '–' : `${ratio[id].toFixed(2)}×`)),
  ]);
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function show(value) {
  if (value === undefined) return '–';
  return Math.abs(value) >= 1_000 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
}

function round(value) {
  return Number(value.toPrecision(5));
}
