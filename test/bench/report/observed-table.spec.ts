// The table of what watching costs, in docs/performance.md, is that of one run of the benchmark.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { fillObserved, type ObservedReport } from '../../../bench/report/observed-table.mjs';

const docs = join(import.meta.dirname, '../../../docs');
const page = readFileSync(join(docs, 'performance.md'), 'utf8');
const observed = JSON.parse(
  readFileSync(join(docs, 'internals/figures/benchmark-observed.json'), 'utf8'),
) as ObservedReport;

it('docs/performance.md has the table of docs/internals/figures/benchmark-observed.json', () => {
  expect(fillObserved(page, observed)).toBe(page);
});

it('metrics cost no command, and traces that are not sampled none', () => {
  for (const id of ['inner.process', 'inner.enqueue.parallel100']) {
    const { ratios } = observed.figures.find((figure) => figure.id === id)!;
    for (const way of ['metrics', 'traces-sampled', 'both', 'no-history']) {
      expect(Math.abs(ratios[way]! - 1)).toBeLessThan(0.02);
    }
  }
});
