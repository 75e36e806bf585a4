// A seeded fuzz of every route of the dashboard. PROPERTY_SEED draws other requests.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ShownContent } from '#queue/store/shown-content.js';
import { RouteRunner } from '#dashboard/api/route-runner.js';
import { ActionLog } from '#dashboard/actions/action-log.js';
import { AttackedDashboard, attackDashboard } from './dashboard-attack.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it.each(['express', 'fastify'] as const)(
  'shows no secret, changes nothing unasked and stays up on %s',
  async (on) => {
    await attackDashboard(await new AttackedDashboard().start(on), 60);
  },
);

describe('finds', () => {
  it('a route without its check', async () => {
    jest.spyOn(RouteRunner.prototype, 'admit').mockResolvedValue();
    const target = await new AttackedDashboard().start('express');
    await expect(attackDashboard(target, 250)).rejects.toThrow(/changed without permission|secret out/);
  });

  it('a window without redaction', async () => {
    jest.spyOn(ShownContent.prototype, 'record').mockImplementation((job) => job);
    const target = await new AttackedDashboard().start('express');
    await expect(attackDashboard(target, 250)).rejects.toThrow('secret out');
  });

  it('a lookup of an inherited name', async () => {
    const target = await new AttackedDashboard().start('express');
    jest.spyOn(Object, 'hasOwn').mockImplementation((record, name) => name in record);
    await expect(attackDashboard(target, 250)).rejects.toThrow('crash');
  });

  it('a change without an entry', async () => {
    jest.spyOn(ActionLog.prototype, 'record').mockImplementation((_queue, _entry, deed) => deed());
    const target = await new AttackedDashboard().start('express');
    await expect(attackDashboard(target, 250)).rejects.toThrow('changed without an entry');
  });
});
