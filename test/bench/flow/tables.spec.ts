// The tables of docs/internals/flow-control.md are those of one run of `npm run bench -- --flow`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { fillFlow, type FlowReport } from '../../../bench/flow/tables.mjs';

const docs = join(import.meta.dirname, '../../../docs');
const page = readFileSync(join(docs, 'internals/flow-control.md'), 'utf8');
const report = JSON.parse(readFileSync(join(docs, 'internals/figures/flow-benchmark.json'), 'utf8')) as FlowReport;

it('docs/internals/flow-control.md has the tables of docs/internals/figures/flow-benchmark.json', () => {
  expect(fillFlow(page, report)).toBe(page);
});

it('says which goal was missed', () => {
  const figure = { id: 'x', text: 'time', unit: 'ms', value: 60, goal: 'at most 50', met: false };
  const text = '<!-- flow:figures -->\n<!-- /flow -->';
  const filled = fillFlow(text, { ...report, parts: [{ id: 'starts', figures: [figure] }] });
  expect(filled).toContain('| time | 60 ms | at most 50: missed |');
});

it('refuses a table that no run has', () => {
  expect(() => fillFlow('<!-- flow:speed -->\n<!-- /flow -->', report)).toThrow('flow:speed: expected one of');
});
