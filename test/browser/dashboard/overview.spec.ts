// The overview of many queues: the worst first, filters, sorts, long names, and queues that the app does not know.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';
import { PHONE } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { patiently } from '../../support/faults/wait.js';

const LONG = 'billing.invoices/monthly-statement:eu-west_1';
let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({ queues: ['email', 'archive', LONG] });
  await world.fill();
  await world.jobs.enqueueMany(LONG, [{ payload: 1 }, { payload: 2 }]);
  const redis = new Redis(world.redis.url);
  await new JobQueue(redis, 'emial').enqueue({ to: 'ada@example.com' });
  await patiently(async () => (await redis.zscore('queue:queues', 'emial')) !== null);
  await redis.quit();
  await patiently(async () => (await world.jobs.queue('webhook').stats()).failed === 18, { timeoutMs: 30_000 });
  await world.remember('thumbnail', 'webhook', 'email');
  page = await openPage(world.url);
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

const rows = () =>
  page.locator('tr[data-queue]').evaluateAll((all) => all.map((row) => row.getAttribute('data-queue')));

it('a chip lists its queues, and a head sorts them; both are in the address', async () => {
  await page.goto(`${world.url}#/`);
  await page.locator('.chip', { hasText: 'paused' }).click();
  expect(await rows()).toEqual(['archive']);
  expect(page.url()).toContain('only=paused');
  await page.locator('.chip', { hasText: 'paused' }).click();
  await page.locator('thead button', { hasText: 'Dead' }).click();
  expect((await rows())[0]).toBe('webhook');
  await page.locator('.chips input').fill('email');
  await patiently(async () => (await rows()).join() === 'email');
});

it('a queue that the app does not know is listed apart, and opens', async () => {
  await page.goto(`${world.url}#/`);
  await says(page, '.section', 'Other queues of this Redis');
  await page.locator('tr[data-queue=emial] a.row-link').click();
  await says(page, 'h1', 'emial');
  await says(page, '.page-head', 'This app does not know the queue, so it only shows it.');
  await says(page, '.page-head', 'are hidden until a worker of the queue says what to show.');
  await page.locator('.job-row a.row-link').first().click();
  await says(page, '.job', 'This app does not know the queue, so it only shows it.');
});

it.each([1440, 1024, 901, 900, 768, 390])(
  'shows dead letters and failures without sideways scroll at %i px',
  async (width) => {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${world.url}#/`);
    await says(page, `tr[data-queue="${LONG}"]`, LONG);
    const webhook = page.locator('tr[data-queue=webhook]');
    expect(await webhook.locator('td[data-label=Dead]').isVisible()).toBe(true);
    expect(await webhook.locator('td[data-label="Failed, 1 h"]').isVisible()).toBe(true);
    const overflows = await page
      .locator('html, .scroller')
      .evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth));
    const overflow = Math.max(...overflows);
    expect(overflow).toBeLessThanOrEqual(0);
    const heights = await page
      .locator('tbody tr[data-queue]')
      .evaluateAll((all) => [...new Set(all.map((row) => Math.round(row.getBoundingClientRect().height)))]);
    if (width > 900) expect(heights.length).toBe(1);
    if ([1440, 390].includes(width)) await pictureOf(page, `overview-many-${width}`);
    await page.setViewportSize(PHONE);
  },
);

it('a tab without the focus takes one message of the stream from time to time', async () => {
  const other = await page.context().newPage();
  await other.addInitScript('document.hasFocus = () => false');
  const asked: string[] = [];
  other.on('request', (request) => asked.push(new URL(request.url()).pathname.replace(/.*\//, '')));
  await other.goto(`${world.url}#/`);
  await says(other, 'tr[data-queue=email]', 'email');
  await patiently(async () => asked.filter((path) => path === 'stream').length >= 2);
});
