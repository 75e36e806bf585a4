// What a viewer may not see is left out, also where a name is like one that may be seen.
import { expect, it } from '@jest/globals';
import type { DashboardRequest } from '#dashboard/dashboard-options.js';
import { HiddenParts, type Permissions } from '#dashboard/security/permissions.js';
import type { JobSigns } from '#inspect/why-not-running.js';
import type { QueueSigns } from '#inspect/queue-signs.js';
import type { JobRecord } from '#queue/model/job.js';

it('hides the queues of a shared limit whose names begin or end with that of the page', async () => {
  let looks = 0;
  const permissions = {
    areOpen: false,
    allows: () => Promise.resolve(true),
    visibleQueues: (_: DashboardRequest, names: readonly string[]) =>
      looks++ < 3
        ? Promise.resolve(names.filter((name) => name === 'seen'))
        : Promise.reject(new Error('A hidden queue is left, so it looks without end.')),
  };
  const queues = ['mail', 'e-mail', 'mail-2', 'mai', 'seen'];
  const limit = { name: 'api', queues, waiting: queues, holders: queues.map((queue) => ({ queue })) };
  const signs = { queue: 'mail', sharedLimits: [limit] } as unknown as QueueSigns;
  const hidden = new HiddenParts(permissions as unknown as Permissions, {} as DashboardRequest);
  const { sharedLimits } = await hidden.ofQueue(signs);
  const shown = ['mail', 'seen'];
  expect(sharedLimits).toEqual([
    { name: 'api', queues: shown, waiting: shown, holders: shown.map((queue) => ({ queue })) },
  ]);
});

it('hides the keys of a limit, and the queues that use the key of a job', async () => {
  const permissions = {
    areOpen: false,
    allows: () => Promise.resolve(true),
    visible: (_: DashboardRequest, jobs: readonly unknown[]) => Promise.resolve(jobs),
    visibleQueues: (_: DashboardRequest, names: readonly string[]) =>
      Promise.resolve(names.filter((name) => name === 'seen')),
  };
  const queues = ['mail', 'secret', 'seen'];
  const limit = { name: 'crm', queues: ['mail'], waiting: [], holders: [], keys: ['acme'] };
  const key = { name: 'crm', queues: [], waiting: queues, holders: queues.map((queue) => ({ queue })) };
  const signs = { queue: 'mail', sharedLimits: [limit], fullKeys: [key] } as unknown as JobSigns;
  const job = { queue: 'mail', id: 'a', attemptLog: [] } as unknown as JobRecord;
  const hidden = new HiddenParts(permissions as unknown as Permissions, {} as DashboardRequest);
  const shown = await hidden.ofJob(job, signs);
  expect(JSON.stringify(shown.signs)).not.toMatch(/secret|acme/);
  expect(shown.signs.sharedLimits).toMatchObject([{ keys: [] }]);
  expect(shown.signs.fullKeys).toMatchObject([{ waiting: ['mail', 'seen'] }]);
});

it('hides the names of keys for which hidden groups rest', async () => {
  const permissions = {
    areOpen: false,
    allows: (_action: string, _request: DashboardRequest, { group }: { group: string }) =>
      Promise.resolve(group !== 'acme'),
    visibleQueues: (_: DashboardRequest, names: readonly string[]) =>
      Promise.resolve(names.filter((name) => name === 'seen')),
  };
  const holders = ['mail', 'secret', 'seen'].map((queue) => ({ queue }));
  const keys = ['acme', 'bolt'].map((key) => ({ name: 'crm', key, queues: [], waiting: ['mail'], holders }));
  const signs = { queue: 'mail', awaitedKeys: { groups: 2, jobs: 4, keys } } as unknown as QueueSigns;
  const hidden = new HiddenParts(permissions as unknown as Permissions, {} as DashboardRequest);
  const { awaitedKeys } = await hidden.ofQueue(signs);
  expect(JSON.stringify(awaitedKeys)).not.toMatch(/acme|secret/);
  expect(awaitedKeys).toMatchObject({ groups: 2, jobs: 4, keys: [{ name: 'crm' }, { key: 'bolt' }] });
});
