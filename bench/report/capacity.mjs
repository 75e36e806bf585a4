// The arithmetic of docs/scaling.md, from a run of the benchmark. It says where one queue on one master ends, and what a
// billion jobs a day take.

/** The share of its core that Redis may use for jobs. */
const SHARE = 0.6;

const PER_DAY = 1_000_000_000;
const PER_SECOND = PER_DAY / 86_400;

/** The peak of a day, as times its mean. */
const PEAK = 3;

/** The figures of an enqueue and of the rest of a job, by the way of the enqueue. */
const WAYS = [
  ['`enqueueMany`', 'redis.us.enqueue', 'redis.us.process'],
  ['100 single enqueues at a time', 'redis.us.enqueue.parallel100', 'redis.us.process'],
  ['`enqueueMany`, with `appendfsync everysec`', 'aof.redis.us.enqueue', 'aof.redis.us.process'],
];

const ROWS = [
  ['CPU of Redis for the enqueue, µs', ({ enqueue }) => enqueue.toFixed(1)],
  ['from claim to completion, µs', ({ process }) => process.toFixed(1)],
  [`jobs a second at ${SHARE * 100} % of a core`, ({ most }) => hundreds(most)],
  ['a billion a day, of one core', ({ us }) => `${Math.round(PER_SECOND * us * 1e-4)} %`],
  [
    `masters at the peak, ${hundreds(PEAK * PER_SECOND)} jobs a second`,
    ({ most }) => Math.ceil((PEAK * PER_SECOND) / most),
  ],
];

/** Puts the table between its markers, `<!-- capacity -->` and `<!-- /capacity -->`. */
export function fillCapacity(text, { figures }) {
  const valueOf = (id) => figures.find((figure) => figure.id === id).self;
  const columns = WAYS.map(([name, enqueueId, processId]) => {
    const [enqueue, process] = [valueOf(enqueueId), valueOf(processId)];
    const us = enqueue + process;
    return { name, enqueue, process, us, most: (SHARE * 1e6) / us };
  });
  const head = ['', ...columns.map(({ name }) => name)];
  const rows = ROWS.map(([name, cellOf]) => [name, ...columns.map(cellOf)]);
  const table = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  const mosts = columns.map(({ most }) => most);
  const end = `So at 60 % of its core one queue on one master does ${hundreds(Math.min(...mosts))} to ${hundreds(Math.max(...mosts))} jobs a second.`;
  return text.replace(
    /<!-- capacity -->\n[^]*?<!-- \/capacity -->/,
    () => `<!-- capacity -->\n\n${table}\n\n${end}\n\n<!-- /capacity -->`,
  );
}

function hundreds(count) {
  return (100 * Math.round(count / 100)).toLocaleString('en');
}
