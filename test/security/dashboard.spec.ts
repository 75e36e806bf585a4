// A seeded fuzz of every route of the dashboard. PROPERTY_SEED draws other requests. test/long/security finds two more
// planted faults.
import { describe, expect, it, jest } from '@jest/globals';
import { AttackedDashboard, attackDashboard } from './dashboard-attack.js';
import { showRecordsOpenly } from './plants.js';

it.each(['express', 'fastify'] as const)(
  'shows no secret, changes nothing unasked and stays up on %s',
  async (on) => {
    await attackDashboard(await new AttackedDashboard().start(on), 60);
  },
);

describe('finds', () => {
  it('a window without redaction', async () => {
    showRecordsOpenly();
    const target = await new AttackedDashboard().start('express');
    await expect(attackDashboard(target, 250)).rejects.toThrow('secret out');
  });

  it('a lookup of an inherited name', async () => {
    const target = await new AttackedDashboard().start('express');
    jest.spyOn(Object, 'hasOwn').mockImplementation((record, name) => name in record);
    await expect(attackDashboard(target, 250)).rejects.toThrow('crash');
  });
});
