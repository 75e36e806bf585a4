// The table "what happens to a job with an option" of docs/jobs.md: each cell is a job here that tells the same of itself.
import { describe, expect, it } from '@jest/globals';
import { COLUMNS } from './columns.js';
import { coreDriver } from './core-driver.js';
import { nestDriver } from './nest-driver.js';
import { ROWS } from './rows.js';
import { Scene } from './scene.js';
import { tableOf } from '../docs/table.js';

const cells = tableOf('what happens');
const known = cells.filter(([row, column]) => row in ROWS && column in COLUMNS);
const drivers = [
  coreDriver,
  nestDriver(known.map(([row, column]) => ({ row: ROWS[row]!, cell: `${row}, ${column}` }))),
];

describe.each(drivers)('through $name, a job with', (driver) => {
  it.each(known)('%s, when %s: %s', async (row, column, said) => {
    const stage = await driver.open(ROWS[row]!, `${row}, ${column}`);
    expect(await COLUMNS[column]!(new Scene(stage, ROWS[row]!))).toBe(said);
  });
});

it('the table has a cell for everything that can happen to a job', () => {
  expect(cells.map(([row, column]) => `${row} × ${column}`)).toEqual(
    Object.keys(ROWS).flatMap((row) => Object.keys(COLUMNS).map((column) => `${row} × ${column}`)),
  );
});
