import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { openPage, says, type ControlPage } from '../../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../../support/browser/dashboard-world.js';

let world: DashboardWorld;
let viewer: ControlPage;
let operator: ControlPage;

beforeAll(async () => {
  world = await startWorld();
  await world.fill();
  operator = await openPage(world.url);
  const cookie = { name: 'user', value: 'viewer', url: new URL(world.url).origin };
  viewer = await openPage(world.url, { storageState: { cookies: [], origins: [] } });
  await viewer.context().addCookies([cookie]);
  await viewer.goto(world.url);
  await viewer.reload();
}, 120_000);

afterEach(() => expect([...viewer.complaints, ...operator.complaints]).toEqual([]));

it('a viewer sees everything, and no action', async () => {
  await says(viewer, 'tr[data-queue=email]', '120');
  await viewer.goto(`${world.url}#/queue/email?state=pending`);
  await says(viewer, '.job-row', 'ada0@example.com');
  expect(await viewer.getByRole('button', { name: /Pause|Cancel|Remove/ }).count()).toBe(0);
  expect(await viewer.locator('.job-row input').count()).toBe(0);
  await viewer.locator('.job-row .row-link').first().click();
  await says(viewer, '.why', 'start a worker');
  expect(await viewer.locator('.job-actions button').count()).toBe(0);
  const refused = await viewer.evaluate(`fetch('queues/api/queue/act', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
    body: JSON.stringify({ action: 'pause', queue: 'email' }),
  }).then(({ status }) => status)`);
  expect(refused).toBe(403);
});

it('an action of the operator is seen by the viewer, with a name in the log', async () => {
  await viewer.goto(`${world.url}#/queue/email?state=pending`);
  await operator.goto(`${world.url}#/queue/email?state=pending`);
  await operator.getByRole('button', { name: 'Pause the queue' }).click();
  await operator.locator('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await says(viewer, '.verdict-line', 'is paused');
  await operator.getByRole('button', { name: 'Resume the queue' }).click();
  await operator.locator('dialog').getByRole('button', { name: 'Resume', exact: true }).click();
  await says(viewer, '.verdict-line', 'is stuck');
  await viewer.goto(`${world.url}#/log`);
  await says(viewer, '.actions tbody tr', 'ops');
  await says(viewer, '.actions tbody tr', 'resume');
});

it('all that match are removed in the background, also when the tab is closed', async () => {
  const tab = await openPage(world.url);
  await tab.goto(`${world.url}#/queue/email?state=pending`);
  await tab.locator('.bulk').getByRole('button', { name: 'Remove all' }).click();
  await tab.getByLabel('Type 120 to continue').fill('120');
  await tab.getByRole('button', { name: 'Remove 120 pending jobs' }).click();
  await says(tab, '.toast', 'began');
  await tab.close();
  await says(viewer, '.run', '120 removed');
  expect((await world.jobs.queue('email').stats()).pending).toBe(0);
});
