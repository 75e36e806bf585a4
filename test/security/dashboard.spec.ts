// A seeded fuzz of every route of the dashboard. PROPERTY_SEED draws other requests. test/long/security finds two more
// planted faults.
import { expect, it, jest } from '@jest/globals';
import { AttackedDashboard, attackDashboard } from './dashboard-attack.js';
import { casesOf, someOf } from '../support/run/samples.js';
import { showRecordsOpenly } from './plants.js';

it.each(['express', 'fastify'] as const)(
  'shows no secret, changes nothing unasked and stays up on %s',
  async (on) => {
    await attackDashboard(await new AttackedDashboard().start(on), casesOf(60, 15));
  },
);

/** Planted faults, and what the attack then says. */
const PLANTS: [string, () => void, string][] = [
  ['a window without redaction', showRecordsOpenly, 'secret out'],
  [
    'a lookup of an inherited name',
    () => void jest.spyOn(Object, 'hasOwn').mockImplementation((record, name) => name in record),
    'crash',
  ],
];

it.each(someOf(PLANTS, 2))('finds %s', async (_what, plantFault, told) => {
  const target = await new AttackedDashboard().start('express');
  plantFault();
  await expect(attackDashboard(target, 250)).rejects.toThrow(told);
});
