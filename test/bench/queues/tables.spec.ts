// The tables of `npm run bench -- --queues`.
import { expect, it } from '@jest/globals';
import { fillQueues, queuesTables, type QueuesReport } from '../../../bench/queues/tables.mjs';

const row = (contestant: string, queues: number, masters: number, startMs: number) => ({
  id: `q${queues}.m${masters}`,
  contestant,
  queues,
  masters,
  figures: {
    startMs,
    redisPercent: 0.216,
    nodePercent: 1.5,
    connections: 2,
    sentPerSecond: 2.45,
    insidePerSecond: 1_234.5,
    p50Ms: 0.8,
    p95Ms: 12,
  },
});

const report: QueuesReport = {
  machine: { cpu: 'EPYC', cores: 2, node: 'v20.0.0' },
  redis: '7.0.15',
  versions: { self: '0.1.0', bullmq: '6.7.0' },
  quick: false,
  rows: [
    row('self', 8, 1, 120),
    row('self', 5_000, 3, 8_000),
    { ...row('bullmq', 5_000, 3, 0), failure: 'too many connections', figures: null },
  ],
};

const columns =
  'commands sent a second | inside scripts | CPU of Redis, % | CPU of Node, % | connections | start, s | ' +
  'a job starts after, ms: p50 | p95 |';
const line = `|${' --- |'.repeat(9)}`;
const tables = `| queues on one server, ours / BullMQ | ${columns}
${line}
| 8 | 2.5 / – | 1,235 / – | 0.22 / – | 1.5 / – | 2 / – | 0.12 / – | 0.8 / – | 12 / – |

| queues on 3 masters, ours / BullMQ | ${columns}
${line}
| 5,000 | 2.5 / – | 1,235 / – | 0.22 / – | 1.5 / – | 2 / – | 8 / – | 0.8 / – | 12 / – |`;

it('has a table for each number of masters, and no figures of a process that did not start', () => {
  expect(queuesTables(report)).toBe(tables);
});

it('is put between its markers, with the machine of the run', () => {
  const page = 'before\n\n<!-- queues -->\nold\n<!-- /queues -->\n\nafter';
  const run = 'A run on EPYC, 2 cores, Node v20.0.0, Redis 7.0.15, beside BullMQ 6.7.0.';
  expect(fillQueues(page, report)).toBe(
    `before\n\n<!-- queues -->\n\n${run}\n\n${tables}\n\n<!-- /queues -->\n\nafter`,
  );
});
