// The tables "what happens" of docs/combinations.md, through the Nest module. test/docs/combinations holds them through the core.
import { expectTable, TABLES } from '../../docs/combinations/expect-table.js';
import { nestDriver } from '../../docs/combinations/nest-driver.js';

for (const [table, columns] of Object.entries(TABLES)) {
  expectTable(table, nestDriver(Object.keys(columns)), 4);
}

// Guards, interceptors, filters and scopes act while a job runs, and change no cell.
expectTable('while it runs', nestDriver(Object.keys(TABLES['while it runs']!), 'enhanced'), 4);
// A bulk handler in a scope is refused when the app boots.
expectTable('while it runs', nestDriver(Object.keys(TABLES['while it runs']!), 'REQUEST-scoped'), 4, [
  'a bulk handler',
]);
