// The tables "what happens" of docs/jobs.md, through the Nest module. test/docs/combinations holds them through the core.
import { expectTable, TABLES } from '../../docs/combinations/expect-table.js';
import { nestDriver } from '../../docs/combinations/nest-driver.js';

for (const [table, columns] of Object.entries(TABLES)) {
  expectTable(table, nestDriver(Object.keys(columns)));
}
