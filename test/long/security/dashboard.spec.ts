// The fuzz of the dashboard's routes finds planted faults that take many requests; test/security finds two others.
import { describe, expect, it, jest } from '@jest/globals';
import { RouteRunner } from '#dashboard/api/route.js';
import { ActionLog } from '#queue/actions/action-log.js';
import { AttackedDashboard, attackDashboard } from '../../security/dashboard-attack.js';

describe('finds', () => {
  it('a route without its check', async () => {
    jest.spyOn(RouteRunner.prototype, 'admit').mockResolvedValue();
    const target = await new AttackedDashboard().start('express');
    await expect(attackDashboard(target, 250)).rejects.toThrow(/changed without permission|secret out/);
  });

  it('a change without an entry', async () => {
    jest.spyOn(ActionLog.prototype, 'record').mockImplementation((_action, deed) => deed());
    const target = await new AttackedDashboard().start('express');
    await expect(attackDashboard(target, 1_000)).rejects.toThrow('changed without an entry');
  });
});
