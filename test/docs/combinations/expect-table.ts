import { describe, expect, it } from '@jest/globals';
import { WHILE_IT_RUNS, WHILE_IT_WAITS, type Columns } from './columns.js';
import { rowIn, ROWS } from './rows.js';
import { Scene, type Driver } from './scene.js';
import { allCells } from './all-cells.js';
import { byRow, tableOf } from '../table.js';

export const TABLES: Record<string, Columns> = { 'while it runs': WHILE_IT_RUNS, 'while it waits': WHILE_IT_WAITS };

/**
 * Holds the table "what happens …" of docs/combinations.md: each cell is a job that tells the same of itself.
 *
 * @param atOnce how many rows run together. A row mostly waits for a claim, a limit or a worker to end
 * @param without rows that the driver refuses
 */
export function expectTable(table: string, driver: Driver, atOnce: number, without: readonly string[] = []): void {
  const columns = TABLES[table]!;
  const rows = byRow(tableOf(`what happens ${table}`, 'docs/combinations.md')).filter(
    ([row]) => !without.includes(row),
  );
  const groups = Array.from({ length: Math.ceil(rows.length / atOnce) }, (_, i) =>
    rows.slice(i * atOnce, (i + 1) * atOnce),
  );
  describe(`what happens ${table} through ${driver.name}, to a job with`, () => {
    it.each(groups.map((group) => [group.map(([row]) => row).join(' | '), group] as const))(
      '%s',
      async (_, group) => {
        const found = group.map(async ([row, said]) => [
          row,
          await allCells(said, (column) => cell(driver, row, column, columns)),
        ]);
        expect(Object.fromEntries(await Promise.all(found))).toEqual(Object.fromEntries(group));
      },
    );
  });
}

/** Returns the state of a job with a row's option after the column's event. */
async function cell(driver: Driver, row: string, column: string, columns: Columns): Promise<string> {
  const stage = await driver.open(ROWS[row]!, column);
  try {
    return await columns[column]!(new Scene(stage, rowIn(column, ROWS[row]!)));
  } finally {
    stage.end();
  }
}
