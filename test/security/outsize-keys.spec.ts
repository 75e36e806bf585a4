// What a live worker's scripts read from keys has a bound: an element of megabytes costs the server once. PROPERTY_SEED draws
// others; test/long/fuzz draws for as long as it is told.
import { expect, it } from '@jest/globals';
import { attackOutsize, drawCells, type Cell } from './outsize-attack.js';
import { someOf } from '../support/run/samples.js';

const cell = (of: Partial<Cell> & Pick<Cell, 'key' | 'type' | 'how'>): Cell => ({
  text: 'i',
  times: 5_000_000,
  at: 'first',
  field: 'name',
  ...of,
});

// Each stopped Redis for good, or took most of its time.
const CELLS = [
  cell({ key: 'pending', type: 'list', how: 'member' }),
  cell({ key: 'retention', type: 'hash', how: 'value' }),
  cell({ key: 'settings', type: 'hash', how: 'each value', text: '1' }),
  cell({ key: 'job:new', type: 'hash', how: 'value', field: 'dependents', text: 'a\n', times: 500_000 }),
  cell({ key: 'job:new', type: 'hash', how: 'value', field: 'attempt_log', text: 'a\n', times: 500_000 }),
];

it.each(someOf(CELLS, 3))('an outsize element costs Redis once: %j', (each) => attackOutsize(each), 60_000);

it('nor does one that is drawn', async () => {
  const [drawn] = drawCells(Number(process.env['PROPERTY_SEED'] ?? 1), 1);
  await expect(attackOutsize(drawn!)).resolves.toBeUndefined();
}, 60_000);
