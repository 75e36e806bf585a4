// The table of `npm run bench -- --slots`.
import { expect, it } from '@jest/globals';
import { fillSlots, slotsTable, type SlotsReport } from '../../../bench/slots/tables.mjs';

const row = (concurrency: number, handlerMs: number, bare: number, self: number, bullmq: number) => ({
  id: `c${concurrency}.${handlerMs}ms`,
  concurrency,
  handlerMs,
  rates: { bare, self, bullmq },
  bareCpuUs: 5,
});

const report: SlotsReport = {
  machine: { cpu: 'EPYC', cores: 2, node: 'v20.0.0' },
  redis: '7.0.15',
  versions: { self: '0.1.0', bullmq: '6.7.0' },
  quick: false,
  rounds: 3,
  rows: [row(1, 0, 900_000, 20_000, 5_000), row(10, 0, 900_000, 40_000, 16_000), row(10, 5, 2_000, 1_900, 1_400)],
};

const table = `| handler, ours / BullMQ | 1 slot | 10 slots |
| --- | --- | --- |
| nothing, jobs/s | 20,000 / 5,000 | 40,000 / 16,000 |
| 5 ms, share of a bare loop | – | 0.95 / 0.70 |`;

it('has a row for each length of handlers: a rate where they do nothing, else the share of a bare loop', () => {
  expect(slotsTable(report)).toBe(table);
});

it('has only the rows and columns of the report', () => {
  const rows = report.rows.slice(0, 1);
  expect(slotsTable({ rows, versions: { self: '0.1.0' } })).toBe(
    '| handler, ours | 1 slot |\n| --- | --- |\n| nothing, jobs/s | 20,000 |',
  );
});

it('is put between its markers, with the machine of the run', () => {
  const page = 'before\n\n<!-- slots -->\nold\n<!-- /slots -->\n\nafter';
  const run = 'The medians of 3 rounds on EPYC, 2 cores, Node v20.0.0, Redis 7.0.15; beside BullMQ 6.7.0.';
  expect(fillSlots(page, report)).toBe(
    `before\n\n<!-- slots -->\n\n${run}\n\n${table}\n\n<!-- /slots -->\n\nafter`,
  );
});
