// The tables "what happens" of docs/jobs.md: each cell is a job here that tells the same of itself.
import { describe, expect, it } from '@jest/globals';
import { WHILE_IT_RUNS, WHILE_IT_WAITS, type Columns } from './columns.js';
import { coreDriver } from './core-driver.js';
import { nestDriver } from './nest-driver.js';
import { rowIn, ROWS } from './rows.js';
import { Scene, type Driver } from './scene.js';
import { allCells } from './all-cells.js';
import { byRow, tableOf } from '../table.js';

const tables: Record<string, Columns> = { 'while it runs': WHILE_IT_RUNS, 'while it waits': WHILE_IT_WAITS };

/** What has become of a job with the option of a row after what a column does to it. */
async function cell(driver: Driver, row: string, column: string, columns: Columns): Promise<string> {
  const stage = await driver.open(ROWS[row]!, column);
  try {
    return await columns[column]!(new Scene(stage, rowIn(column, ROWS[row]!)));
  } finally {
    stage.end();
  }
}

describe.each(Object.entries(tables))('what happens %s', (table, columns) => {
  const rows = byRow(tableOf(`what happens ${table}`));

  describe.each([coreDriver, nestDriver(Object.keys(columns))])('through $name, to a job with', (driver) => {
    it.each(rows)('%s', async (row, said) => {
      expect(await allCells(said, (column) => cell(driver, row, column, columns))).toEqual(said);
    });
  });

  it('is in the docs for every option', () => {
    const names = rows.map(([row, said]) => [row, Object.keys(said)]);
    expect(names).toEqual(Object.keys(ROWS).map((row) => [row, Object.keys(columns)]));
  });
});
