// A few seconds of the fuzz of rows of the outbox. PROPERTY_SEED draws others; test/long/fuzz goes on for longer, on each
// database.
import { expect, it } from '@jest/globals';
import { openSqlite } from '../support/databases/outbox-databases.js';
import { fuzzRows } from './row-fuzz.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 1);

it('a row with anything in any column holds up no other', async () => {
  const { database, close } = await openSqlite();
  const { planted } = await fuzzRows(database, { seed: SEED, seconds: 3 });
  expect(planted).toBeGreaterThan(0);
  await close();
});
