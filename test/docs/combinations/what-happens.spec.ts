// The tables "what happens" of docs/combinations.md, through the core. test/long/docs holds them through the Nest module.
import { describe, expect, it } from '@jest/globals';
import { jobOptionsAt } from '#queue/model/job-options.js';
import { coreDriver } from './core-driver.js';
import { expectTable, TABLES } from './expect-table.js';
import { ROWS } from './rows.js';
import { byRow, tableOf } from '../table.js';
import { someOf } from '../../support/run/samples.js';

const rows = Object.keys(ROWS);
const taken = new Set(someOf(rows, 4));
const without = rows.filter((row) => !taken.has(row));

describe.each(Object.entries(TABLES))('what happens %s', (table, columns) => {
  expectTable(table, coreDriver, 24, without);

  it('is in the docs for every option', () => {
    const names = byRow(tableOf(`what happens ${table}`, 'docs/combinations.md')).map(([row, said]) => [
      row,
      Object.keys(said),
    ]);
    expect(names).toEqual(Object.keys(ROWS).map((row) => [row, Object.keys(columns)]));
  });
});

it('each option of an enqueue but its name has a row', () => {
  const INTERNAL = new Set(['name', 'batch', 'stopsBatch', 'addedBy']);
  const given = Object.values(ROWS).flatMap(({ options }) => Object.keys(options));
  const wanted = jobOptionsAt('enqueue').filter((option) => !INTERNAL.has(option));
  expect(given).toEqual(expect.arrayContaining(wanted));
});
