// On a phone no action on a whole state is the first button under a thumb.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { PHONE } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({ queues: ['email', 'archive'] });
  await world.fill();
  page = await openPage(world.url, { viewport: PHONE, hasTouch: true });
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

const shown = () => page.locator('.bulk button:visible').allTextContents();

it('the actions on all jobs of a state are folded, and unfold above the thumb', async () => {
  await page.goto(`${world.url}#/queue/email?state=pending`);
  await says(page, '.bulk-what', 'All 120 pending jobs');
  expect(await shown()).toEqual(['Actions on all']);
  const more = page.locator('.bulk-more');
  const thumb = (await more.boundingBox())!;
  await more.tap();
  await says(page, '.bulk-more', 'Hide the actions');
  expect(await shown()).toEqual(['Cancel all', 'Remove all', 'Hide the actions']);
  await page.touchscreen.tap(thumb.x + thumb.width / 2, thumb.y + thumb.height / 2);
  expect(await shown()).toEqual(['Actions on all']);
});

it('the actions on chosen jobs are at hand', async () => {
  await page.goto(`${world.url}#/queue/email?state=pending`);
  await page.locator('.job-row input').first().tap();
  await says(page, '.bulk-what', '1 job selected');
  expect(await shown()).toEqual(['Cancel', 'Remove', 'Clear']);
});

it('a wide window shows the actions on all at once', async () => {
  await page.setViewportSize({ width: 1024, height: 800 });
  await page.reload();
  await says(page, '.bulk-what', 'All 120 pending jobs');
  expect(await shown()).toEqual(['Cancel all', 'Remove all']);
});
