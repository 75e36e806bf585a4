// `npm run incident`, small: the dashboard on many queues in trouble at once.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { buildShop, startProcess, type ShopProcess } from '../../support/browser/shop.js';
import { pictureOf } from '../../support/browser/pictures.js';

const COMMAND = ['scripts/redis/with-redis.mjs', '--quiet', 'node', 'examples/shop/dist/incident/main.js'];

let incident: ShopProcess;
let page: ControlPage;
let url: string;

beforeAll(async () => {
  buildShop();
  incident = startProcess('node', [...COMMAND, '--jobs', '2000', '--port', '0'], { REDIS_URL: '' });
  const [, link] = await incident.prints(/The incident is open: (\S+)/);
  page = await openPage(link!);
  url = link!.replace(/\?.*/, '');
}, 240_000);

afterAll(() => expect(page.complaints).toEqual([]));

/** Returns how far the page and its lists scroll sideways, in px. */
async function overflow(): Promise<number> {
  const all = await page
    .locator('html, .scroller')
    .evaluateAll((nodes) => nodes.map((node) => node.scrollWidth - node.clientWidth));
  return Math.max(...all);
}

it.each([1440, 390])('names the worst queue first, and nothing scrolls sideways at %i px', async (width) => {
  await page.setViewportSize({ width, height: 900 });
  await page.goto(`${url}#/`);
  await says(page, 'tr[data-queue=video]', 'slots are kept by handlers that do not end', 60_000);
  await says(page, 'h1', 'video is stuck');
  const first = page.locator('tr[data-queue]').first();
  expect(await first.getAttribute('data-queue')).toBe('video');
  await says(page, 'tr[data-queue=newsletter]', 'newsletter');
  expect(await overflow()).toBeLessThanOrEqual(0);
  await pictureOf(page, `incident-overview-${width}`);
  await page.goto(`${url}#/queue/webhook?state=failed`);
  await says(page, '.groups li', '502 Bad Gateway');
  await says(page, '.job-row', 'webhook');
  expect(await overflow()).toBeLessThanOrEqual(0);
  await pictureOf(page, `incident-failed-${width}`);
  await page.goto(`${url}#/queue/video`);
  await says(page, 'h1', 'video');
  await says(page, '.job-row', 'video');
  expect(await overflow()).toBeLessThanOrEqual(0);
});

it('shows one error of several queues, a late schedule, the outbox, and what happened when', async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${url}#/`);
  await says(page, '.shared-errors li', /ECONNREFUSED 10.0.0.7:443 in .*payment/);
  await says(
    page,
    'tr[data-queue=price-feed]',
    /late: schedule exchange-rates should have run .*, [56] runs missed/,
  );
  await says(page, 'tr.outbox', /waits: 12 rows, the oldest for .*: no relay moves them/, 60_000);
  await says(page, '.timeline', 'the outbox needs a look');
  await page.goto(`${url}#/recurring`);
  await says(page, 'h1', '3 recurring jobs, 1 late');
  await says(page, 'tr.schedule', /price-feed late.* runs missed: no process makes the runs/);
  await pictureOf(page, 'incident-recurring');
  await page.goto(`${url}#/outbox`);
  await says(page, 'h1', 'no relay moves them');
  await pictureOf(page, 'incident-outbox');
  await page.goto(`${url}#/queue/payment?state=failed`);
  await says(page, '.groups li', 'known, “customers get a mail, nothing to do” (grace)');
});

it('lists the workers that a job killed, and asks before it runs again', async () => {
  await page.goto(`${url}#/`);
  await says(page, 'tr[data-queue=image]', /workers died in 10 min, all while running image/, 60_000);
  await page.goto(`${url}#/workers`);
  await says(page, '[aria-labelledby=ended-title] tr', 'Array buffer allocation failed');
  await pictureOf(page, 'incident-workers');
  await page.goto(`${url}#/queue/image?state=failed`);
  await says(page, '.job-row', 'worker process ended', 60_000);
  await page.locator('.job-row a.row-link').first().click();
  await page.getByRole('button', { name: 'Redrive', exact: true }).click();
  await says(page, 'dialog[open]', 'A job that killed its workers runs alone');
  await says(page, 'dialog[open] li', /attempt 3: worker process ended/);
  await pictureOf(page, 'incident-crash');
  await page.keyboard.press('Escape');
  await says(page, 'h1', 'image');
  expect(await page.locator('.toast').count()).toBe(0);
});

it('ends clean on a signal', async () => {
  await page.goto('about:blank');
  expect(await incident.kill('SIGTERM')).toBe(0);
});
