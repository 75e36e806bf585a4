// A list of jobs says what its columns are, and keeps what is ticked while one job is looked at.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({ queues: ['email', 'archive'] });
  await world.fill();
  page = await openPage(world.url);
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

const headOf = async (state: string) => {
  await page.goto(`${world.url}#/queue/email?state=${state}`);
  await says(page, `.tabs [aria-current][data-state=${state}]`, /\d/);
  return page.locator('.job-head > span').allTextContents();
};

it('names the columns of a list in the words of its state', async () => {
  expect(await headOf('pending')).toEqual(['Job', 'Id', 'Enqueued']);
  expect(await headOf('scheduled')).toEqual(['Job', 'Attempts', 'Id', 'Due']);
});

it('keeps the selection over a look at one of its jobs, and not in another list', async () => {
  await page.goto(`${world.url}#/queue/email?state=pending`);
  for (const row of [0, 1]) await page.locator('.job-row input').nth(row).check();
  await says(page, '.bulk-what', '2 jobs selected');
  await page.locator('.job-row .row-link').first().click();
  await says(page, '.state-line', 'pending');
  await page.goBack();
  await says(page, '.bulk-what', '2 jobs selected');
  await page.locator('.job-row input:checked').nth(1).waitFor();
  await page.locator('.tabs [data-state=scheduled]').click();
  await says(page, '.bulk-what', 'All 8 scheduled jobs');
});

it('shows the highest rate of the last hour beside its line, and none for an idle queue', async () => {
  await world.remember('email');
  await page.goto(`${world.url}#/`);
  await says(page, 'tr[data-queue=email] .spark-most', /^≤ [\d,]+\/min$/);
  expect(await page.locator('tr[data-queue=archive] .spark-most').count()).toBe(0);
  // The figure of a busy queue has room, too.
  const isCut = await page.locator('tr[data-queue=email] .spark-most').evaluate((figure) => {
    figure.textContent = '≤ 99,999/min';
    const cell = figure.closest('td')!;
    return cell.scrollWidth > cell.clientWidth;
  });
  expect(isCut).toBe(false);
});
