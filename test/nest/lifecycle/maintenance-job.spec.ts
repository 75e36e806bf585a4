import { it } from '@jest/globals';
import { MaintenanceJob } from '#nest/lifecycle/maintenance.scheduler.js';
import { gate } from '../../support/faults/wait.js';

it('begins a turn also while an earlier one waits for a server without a reply', async () => {
  let turns = 0;
  const second = gate();
  const job = new MaintenanceJob('maintenance', { everyMs: 5 }, () => {
    if (++turns === 2) second.open();
    return new Promise(() => undefined);
  });
  job.start();
  await second.promise;
  job.stop();
});
