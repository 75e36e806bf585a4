// The palette, the search over all queues, the queues beside a queue, and the range of the charts.
import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { eventually, patiently } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'express');
  await world.fill();
  await patiently(async () => (await world.jobs.queue('webhook').stats()).failed === 18, { timeoutMs: 30_000 });
  await world.remember('thumbnail', 'webhook');
  page = await openPage(world.url, { viewport: { width: 1440, height: 900 } });
}, 120_000);
beforeEach(async () => {
  await page.goto(`${world.url}#/`);
  await says(page, 'h1', 'email');
});
afterEach(() => expect(page.complaints).toEqual([]));

const hash = (): string => decodeURIComponent(new URL(page.url()).hash);
const active = (): Promise<string | null> => page.locator('.palette [aria-selected=true]').textContent();

it('a palette finds queues, pages and actions by keys', async () => {
  await page.keyboard.press('Control+k');
  await says(page, '.palette li >> nth=-1', 'Search all queues');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'palette');
  await page.keyboard.type('web');
  await eventually(async () => (await active())?.includes('webhook') ?? false);
  expect(await page.locator('.palette input').getAttribute('aria-activedescendant')).toBe('palette-0');
  await page.keyboard.press('ArrowDown');
  expect(await page.locator('.palette input').getAttribute('aria-activedescendant')).toBe('palette-1');
  await says(page, '.palette li >> nth=-1', 'Search all queues for “web”');
  await pictureOf(page, 'palette-typed');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await says(page, 'h1', 'webhook');
  await page.keyboard.press('/');
  await page.keyboard.type('recurring');
  await page.keyboard.press('Enter');
  await says(page, 'h1', 'recurring job');
  await page.locator('#find').click();
  await page.keyboard.type('pause thumb');
  await page.keyboard.press('Enter');
  await says(page, 'dialog h2', 'Pause the queue thumbnail?');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.locator('.palette').waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.palette').waitFor({ state: 'detached' });
});

it('it finds a job by its id, also where Enter comes at once', async () => {
  const [job] = await world.jobs
    .queue('webhook')
    .deadLetters.list()
    .then(({ jobs }) => jobs);
  await page.keyboard.press('/');
  await page.keyboard.insertText(job!.id);
  await page.keyboard.press('Enter');
  await says(page, '.state-line', 'failed');
  expect(hash()).toBe(`#/job/webhook/${job!.id}`);
});

it('a text leads to the search over all queues, whose address has it', async () => {
  await page.keyboard.press('Control+k');
  await page.keyboard.type('payload.order:21');
  await page.keyboard.press('Enter');
  await says(page, 'h1', 'Search all queues');
  await says(page, '.list-head', /^1 match; searched [\d,]+ of [\d,]+$/);
  await says(page, '.job-row', 'webhook');
  expect(hash()).toBe('#/search?q=payload.order:21');
  await page.locator('#queue-search').fill('error:"ENOSPC" state:failed');
  await page.keyboard.press('Enter');
  await says(page, '.job-row', 'page');
  await says(page, '.job-row', 'book');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await page.reload();
  await says(page, '.job-row', 'Page 3 could not be printed');
  expect(await page.locator('#queue-search').inputValue()).toBe('error:"ENOSPC" state:failed');
  await page.locator('#queue-search').fill('502');
  await page.keyboard.press('Enter');
  await says(page, '.list-head', '6 matches');
  await pictureOf(page, 'search');
});

it('a bad term is refused in words, and examples are shown', async () => {
  await page.goto(`${world.url}#/search?q=stat:failed`);
  await says(page, '.notice-problem', 'expected a field of payload, payload.PATH');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'search-refused');
  await page.locator('.terms button').first().click();
  await says(page, '.list-head', '0 matches');
  await page.goto(`${world.url}#/queue/webhook?state=failed&q=state:dead`);
  await says(page, '.notice-problem', 'expected state: with one of');
});

it('a search stops and goes on', async () => {
  let calls = 0;
  await page.route('**/api/search/all?*', async (route) => {
    calls += 1;
    const reply = {
      jobs: [],
      searched: 10,
      unread: 0,
      total: 1_000,
      cursor: '["failed","a",null]',
      unreadable: [],
    };
    await route.fulfill({ json: reply });
  });
  await page.goto(`${world.url}#/search?q=x`);
  await page.locator('.list-head button', { hasText: 'Stop' }).click();
  await says(page, '.list-head', 'Search on');
  const stopped = calls;
  await page.locator('.list-head button', { hasText: 'Search on' }).click();
  await eventually(async () => calls > stopped + 1);
  // Each reply now comes at the moment of a click.
  await page.evaluate(`
    const { json } = Response.prototype;
    Response.prototype.json = async function () {
      const reply = await json.call(this);
      [...document.querySelectorAll('.list-head button')].find((each) => each.textContent === 'Stop')?.click();
      return reply;
    };`);
  await says(page, '.list-head', 'Search on');
  const last = calls;
  await page.locator('.list-head button', { hasText: 'Search on' }).click();
  await eventually(async () => calls > last);
  await says(page, '.list-head', 'Search on');
  await page.reload();
  await page.unroute('**/api/search/all?*');
});

it('previous and next queue keep the view, by links and keys', async () => {
  await page.goto(`${world.url}#/queue/thumbnail?state=completed`);
  await says(page, 'h1', 'thumbnail');
  await page.keyboard.press(']');
  await says(page, 'h1', 'video');
  expect(hash()).toBe('#/queue/video?state=completed');
  await page.keyboard.press('[');
  await says(page, 'h1', 'thumbnail');
  await page.locator('a[rel=prev]').click();
  await says(page, 'h1', 'report');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'neighbours');
});

it('the range of the charts is chosen once, and kept from page to page', async () => {
  await page.goto(`${world.url}#/queue/webhook?view=charts`);
  await page.locator('.ranges a', { hasText: '24 h' }).click();
  await says(page, '.ranges a[aria-current]', '24 h');
  await page.keyboard.press('[');
  await says(page, 'h1', 'video');
  await says(page, '.ranges a[aria-current]', '24 h');
  await page.locator('nav[aria-label=Pages] a', { hasText: 'Workers' }).click();
  await says(page, 'h1', 'worker');
  expect(hash()).toBe('#/workers?hours=24');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('charts of thumb');
  await page.keyboard.press('Enter');
  await says(page, 'h1', 'thumbnail');
  await says(page, '.ranges a[aria-current]', '24 h');
});
