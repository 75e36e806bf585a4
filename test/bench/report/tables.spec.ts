// The tables of docs/performance.md are those of one run of the benchmark.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { fillApp, type AppReport } from '../../../bench/app/tables.mjs';
import { fillOutbox, type OutboxReport } from '../../../bench/outbox/tables.mjs';
import { fillPages, type PagesReport } from '../../../bench/pages/tables.mjs';
import { fillQueues, type QueuesReport } from '../../../bench/queues/tables.mjs';
import { fillCapacity } from '../../../bench/report/capacity.mjs';
import {
  fillGrowth,
  fillNest,
  fillTables,
  type Growth,
  type NestReport,
  type Report,
} from '../../../bench/report/tables.mjs';

const docs = join(import.meta.dirname, '../../../docs');
const page = readFileSync(join(docs, 'performance.md'), 'utf8');
const read = (path: string): unknown => JSON.parse(readFileSync(join(docs, path), 'utf8'));
const run = read('internals/figures/benchmark.json') as Report;

it('docs/performance.md has the tables of docs/internals/figures/benchmark.json', () => {
  expect(fillTables(page, run)).toBe(page);
});

it('docs/performance.md has the table of docs/internals/figures/benchmark-nest.json, and a handler without enhancers costs next to nothing', () => {
  const report = read('internals/figures/benchmark-nest.json') as NestReport;
  expect(fillNest(page, report)).toBe(page);
  const cost = report.figures.find(({ id }) => id === 'node.us.process')!;
  const { ratio } = cost.rows.find(({ contestant }) => contestant === 'nest')!;
  expect(ratio).toBeLessThan(1.03);
});

it('docs/performance.md has the table of docs/internals/figures/idle-app.json', () => {
  expect(page).toContain('<!-- app -->');
  expect(fillApp(page, read('internals/figures/idle-app.json') as AppReport)).toBe(page);
});

it('docs/performance.md has the table of docs/internals/figures/outbox.json', () => {
  expect(page).toContain('<!-- outbox -->');
  expect(fillOutbox(page, read('internals/figures/outbox.json') as OutboxReport)).toBe(page);
});

it('docs/performance.md has the growth of docs/images', () => {
  const growths = ['waiting', 'claims', 'scheduled'].map((id) => read(`images/growth-${id}.json`) as Growth);
  expect(fillGrowth(page, growths)).toBe(page);
});

it('docs/scaling.md has the tables of docs/internals/figures/queues.json', () => {
  const scaling = readFileSync(join(docs, 'scaling.md'), 'utf8');
  expect(scaling).toContain('<!-- queues -->');
  expect(fillQueues(scaling, read('internals/figures/queues.json') as QueuesReport)).toBe(scaling);
});

it('docs/scaling.md has the arithmetic of docs/internals/figures/benchmark.json', () => {
  const scaling = readFileSync(join(docs, 'scaling.md'), 'utf8');
  expect(scaling).toContain('<!-- capacity -->');
  expect(fillCapacity(scaling, run)).toBe(scaling);
});

it('the arithmetic adds an enqueue and the rest of a job', () => {
  const us: Record<string, number> = {
    'redis.us.enqueue': 6,
    'redis.us.enqueue.parallel100': 10,
    'redis.us.process': 18,
    'aof.redis.us.enqueue': 10,
    'aof.redis.us.process': 30,
  };
  const figures = run.figures.filter(({ id }) => id in us).map((figure) => ({ ...figure, self: us[figure.id]! }));
  const [, , ...rows] = fillCapacity('<!-- capacity -->\n<!-- /capacity -->', { ...run, figures })
    .split('\n')
    .filter((line) => line.startsWith('|'));
  expect(rows.map((row) => row.split(' | ').slice(1).join(' | '))).toEqual([
    '6.0 | 10.0 | 10.0 |',
    '18.0 | 18.0 | 30.0 |',
    '25,000 | 21,400 | 15,000 |',
    '28 % | 32 % | 46 % |',
    '2 | 2 | 3 |',
  ]);
});

it('docs/dashboard.md has the tables of docs/internals/figures/dashboard-pages.json', () => {
  const dashboard = readFileSync(join(docs, 'dashboard.md'), 'utf8');
  expect(fillPages(dashboard, read('internals/figures/dashboard-pages.json') as PagesReport)).toBe(dashboard);
});

it('a table has a row for each of its figures, with the ratio to each rival', () => {
  const figure = {
    id: 'memory.waiting',
    unit: 'bytes/job',
    better: 'less' as const,
    text: 'Redis memory per waiting job',
    self: 264.6,
    peers: { bullmq: 254.04, 'bee-queue': 217, groupmq: null },
    ratio: { bullmq: 1.0416, 'bee-queue': 1.2194, groupmq: null },
  };
  const text = 'before\n<!-- bench:memory -->\nold\n<!-- /bench -->\nafter';
  const filled = fillTables(text, { ...run, figures: [figure, { ...figure, id: 'process.c1' }] });
  expect(filled.split('\n')).toEqual([
    'before',
    '<!-- bench:memory -->',
    '',
    '|  | unit | ours | BullMQ | bee-queue | groupmq | ÷ BullMQ | ÷ bee-queue | ÷ groupmq |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    '| Redis memory per waiting job | bytes/job ↓ | 265 | 254 | 217 | – | 1.04× | 1.22× | – |',
    '',
    '<!-- /bench -->',
    'after',
  ]);
});

it('a table that no run has is refused', () => {
  expect(() => fillTables('<!-- bench:speed -->\n<!-- /bench -->', run)).toThrow(
    'bench:speed: expected one of run,',
  );
});
