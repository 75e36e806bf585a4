// The tables of docs/internals/flow-control.md, made from the JSON of a run.
const NAMES = {
  self: 'nest-job-queue, plain jobs',
  'self:grouped': 'nest-job-queue, 100 groups of one slot each',
  groupmq: 'groupmq, 100 groups',
  'self:many-groups': 'nest-job-queue, 1,000 groups of one slot each',
  'groupmq:many-groups': 'groupmq, 1,000 groups',
  'self:limited': 'nest-job-queue, `rateLimit`',
  'bullmq:limited': 'BullMQ, `limiter`',
};

const TABLES = { run: describeRun, figures: figuresTable, claims: claimsTable, throughput: throughputTable };

/** Puts the tables of a run between their markers, `<!-- flow:NAME -->` and `<!-- /flow -->`. */
export function fillFlow(text, report) {
  return text.replace(/<!-- flow:(\w+) -->\n[^]*?<!-- \/flow -->/g, (_, name) => {
    if (!TABLES[name]) throw new Error(`flow:${name}: expected one of ${Object.keys(TABLES).join(', ')}`);
    return `<!-- flow:${name} -->\n\n${TABLES[name](report)}\n\n<!-- /flow -->`;
  });
}

function describeRun({ machine, redis, versions, quick }) {
  const { cpu, cores, memoryGb, os, node } = machine;
  return [
    `A ${quick ? 'quick run' : 'run'} on ${cpu}, ${cores} cores, ${memoryGb} GB, ${os}, Node ${node}, Redis ${redis};`,
    `beside BullMQ ${versions.bullmq} and groupmq ${versions.groupmq}.`,
  ].join('\n');
}

function figuresTable({ parts }) {
  const figures = parts.flatMap((part) => part.figures);
  const verdict = ({ goal, met }) => (goal ? `${goal}${met ? '' : ': missed'}` : '');
  return table(
    ['measured', 'value', 'goal'],
    figures.map((each) => [each.text, show(each), verdict(each)]),
  );
}

function claimsTable({ parts }) {
  const { rows } = parts.find(({ id }) => id === 'claims');
  const head = ['groups', 'all ready: commands', 'µs', 'all but one blocked: commands', 'µs'];
  return table(
    head,
    rows.map(({ level, ready, blocked }) =>
      [level, ready.commands, ready.us, blocked.commands, blocked.us].map((value) => value.toLocaleString('en')),
    ),
  );
}

function throughputTable({ parts }) {
  const { rows } = parts.find(({ id }) => id === 'throughput');
  return table(
    ['', 'jobs/s'],
    rows.map(({ id, perSecond }) => [NAMES[id], perSecond.toLocaleString('en')]),
  );
}

const show = ({ value, unit }) => [value.toLocaleString('en'), unit].filter(Boolean).join(' ');

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
