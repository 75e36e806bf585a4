// The tables "what happens" of docs/combinations.md, through the Nest module. test/docs/combinations holds them through the core.
import { expectTable, TABLES } from '../../docs/combinations/expect-table.js';
import { nestDriver } from '../../docs/combinations/nest-driver.js';

for (const [table, columns] of Object.entries(TABLES)) {
  expectTable(table, nestDriver(Object.keys(columns)), 4);
}

// Guards, interceptors, filters and scopes act while a job runs, and change no cell.
for (const kind of ['enhanced', 'REQUEST-scoped'] as const) {
  expectTable('while it runs', nestDriver(Object.keys(TABLES['while it runs']!), kind), 4);
}
