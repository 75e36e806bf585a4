// The report and the table of `npm run bench -- --outbox`.
import { expect, it } from '@jest/globals';
import { fillOutbox, outboxTable, reportOf } from '../../../bench/outbox/tables.mjs';

const settings = { add: 'as documented' };
const contestants = new Map([
  ['self', { version: '0.1.0', settings }],
  ['pg-boss', { version: '10.4.2', settings: {} }],
  ['graphile-worker', { version: '0.16.6', settings: {} }],
]);
const measures = [
  {
    figures: {
      'add.cpu': { unit: 'µs', better: 'less' as const, text: 'CPU of a transaction' },
      'relay.rate': { unit: 'rows/s', better: 'more' as const, text: 'rows moved' },
      'latency.p50': { unit: 'ms', better: 'less' as const, text: 'not measured in this run' },
    },
  },
];
const values = {
  'add.cpu': {
    self: [700, 710, 790],
    'pg-boss': [1_500, 1_600, 1_700],
    'graphile-worker': [2_000, 2_100, 2_200],
    bare: [500, 600, 590],
  },
  'relay.rate': { self: [21_000, 19_000, 20_000] },
};
const machine = { cpu: 'EPYC', cores: 2, node: 'v20.0.0' };
const bench = { quick: false, rounds: 3 };
const report = reportOf({ machine, redis: '7.0.15', postgres: '15.9', contestants, bench }, measures, values);

const table = `|  | unit | ours | pg-boss | graphile-worker | no job | ÷ pg-boss | ÷ graphile-worker |
| --- | --- | --- | --- | --- | --- | --- | --- |
| CPU of a transaction | µs ↓ | 710 | 1,600 | 2,100 | 590 | 0.44× | 0.34× |
| the part of the job in it: all CPU without that of the same row alone | µs ↓ | 200 | 1,000 | 1,500 | – | 0.20× | 0.13× |
| rows moved | rows/s ↑ | 20,000 | – | – | – | – | – |`;

it('takes the transaction without a job of the same round away from each other one', () => {
  expect(report.figures.find(({ id }) => id === 'add.cpu.job')?.runs).toEqual({
    self: [200, 110, 200],
    'pg-boss': [1_000, 1_000, 1_110],
    'graphile-worker': [1_500, 1_500, 1_610],
  });
});

it('has a row for each figure that was measured', () => {
  expect(outboxTable(report)).toBe(table);
});

it('is put between its markers, with the machine and the settings of the run', () => {
  const page = 'before\n\n<!-- outbox -->\nold\n<!-- /outbox -->\n\nafter';
  const run = `The medians of 3 rounds on EPYC, 2 cores, Node v20.0.0, PostgreSQL 15.9,
Redis 7.0.15; beside pg-boss 10.4.2 and graphile-worker 0.16.6.

| | | setting |
| --- | --- | --- |
| ours | add | as documented |`;
  expect(fillOutbox(page, report)).toBe(
    `before\n\n<!-- outbox -->\n\n${run}\n\n${table}\n\n<!-- /outbox -->\n\nafter`,
  );
});
