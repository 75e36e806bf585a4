// The built site in a real browser: its first page in each width, search, the matrices and the API.
import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { openAny, says, type ControlPage } from '../../support/browser/browser.js';
import { serveSite, violationsOfSite } from '../../support/browser/built-site.js';

let url: string;
let server: Server;
let page: ControlPage;

beforeAll(async () => {
  ({ url, server } = await serveSite());
});
afterAll(() => void server.close());
afterEach(async () => {
  expect(page.complaints).toEqual([]);
  await page.context().close();
});

/** A script that returns the elements beyond the right edge of the window, if the page scrolls sideways. */
const TOO_WIDE = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > innerWidth).map((each) => each.outerHTML.slice(0, 100))`;

const looks = [1440, 768, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => [width, scheme] as const),
);

it.each(looks)('the first page is whole at %i px in %s', async (width, colorScheme) => {
  page = await openAny(url, { viewport: { width, height: 900 }, colorScheme, reducedMotion: 'reduce' });
  await says(page, 'h1', 'survive a crash');
  const picture = page.locator('.VPHome img[alt*="killed"]');
  await picture.scrollIntoViewIfNeeded();
  await picture.evaluate((image: { decode(): Promise<void> }) => image.decode());
  // A recording of the wide page cannot be read on a phone, so a phone gets its own.
  expect(await picture.evaluate((image: { currentSrc: string }) => image.currentSrc.includes('phone'))).toBe(
    width < 640,
  );
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/first-${width}-${colorScheme}.png`, fullPage: true });
  }
  expect(await page.locator('.numbers li').count()).toBe(5);
  expect(await page.evaluate(TOO_WIDE)).toEqual([]);
  expect(await page.evaluate('document.documentElement.classList.contains("dark")')).toBe(colorScheme === 'dark');
  expect(await violationsOfSite(page)).toEqual([]);
});

it('shows its sentence beside the handler, and copies the command', async () => {
  page = await openAny(url, {
    viewport: { width: 1440, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const [claim, code] = await Promise.all(
    ['h1', '.language-ts'].map((part) => page.locator(`.opening ${part}`).boundingBox()),
  );
  expect(claim!.x + claim!.width).toBeLessThanOrEqual(code!.x);
  expect(code!.y + code!.height).toBeLessThan(900);
  await page.locator('.claim button.copy').click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('npm i nest-job-queue ioredis');
});

it.each([
  ['retry with backoff', '/jobs#retries'],
  ['transaction outbox', '/outbox#jobs-of-database-transactions'],
  ['delay a job', '/jobs#delay-and-schedule'],
  ['dead letters', '/managing-jobs#dead-letters'],
  ['dashboard', '/dashboard#the-dashboard'],
])('the search for "%s" shows %s first, with an excerpt', async (words, link) => {
  page = await openAny(url);
  await page.locator('.VPNavBarSearch button').first().click();
  await page.locator('#localsearch-input').fill(words);
  const first = page.locator('.results .result').first();
  await says(page, '.results .result .excerpt', /\w+ \w+/);
  expect(await first.getAttribute('href')).toBe(link);
});

it('search finds a page by its words', async () => {
  page = await openAny(url);
  await page.locator('.VPNavBarSearch button').first().click();
  await page.locator('#localsearch-input').fill('idempotent handler SQL');
  await says(page, '.results .result', 'Idempotent handlers');
  await page.locator('.results .result', { hasText: 'Idempotent handlers' }).first().click();
  await says(page, '.vp-doc h1', 'Idempotent handlers');
});

it('the matrices show only the options and events that one asks for', async () => {
  page = await openAny(`${url}/combinations`);
  await says(page, '.matrix-filter output', /\d{2,} rows/);
  expect(await page.locator('.vp-doc details table:visible').count()).toBe(0); // folded until a question
  await page.getByRole('searchbox', { name: 'Option' }).fill('expiresInMs');
  await page.getByRole('searchbox', { name: 'What happens' }).fill('worker dies');
  await says(page, '.matrix-filter output', /^[1-9] rows?$/);
  const [first] = await page.locator('.vp-doc tbody tr:visible').filter({ hasText: 'expiresInMs' }).all();
  expect(await first!.locator('td:visible').count()).toBe(2);
});

it('the API has the exports, and its own search', async () => {
  page = await openAny(`${url}/options`);
  await page.locator('.VPSidebar a', { hasText: /^API$/ }).click();
  await page.waitForURL(/\/api\/index\.html$/);
  await says(page, '.tsd-page-title, h1', 'nest-job-queue');
  await page.goto(`${url}/api/classes/nest-job-queue.JobQueue.html`);
  await says(page, 'h1', 'JobQueue');
});

const API_PAGES = [
  'index',
  'hierarchy',
  'modules/nest-job-queue',
  'classes/nest-job-queue.JobQueue',
  'interfaces/nest-job-queue.EnqueueItem',
  'types/nest-job-queue.RedisClient',
  'functions/nest-job-queue_outbox.fromPg',
].flatMap((name) => [['light', 1440] as const, ['dark', 390] as const].map((look) => [name, ...look] as const));

it.each(API_PAGES)('%s of the API is clean under axe-core in %s at %i px', async (name, colorScheme, width) => {
  page = await openAny(`${url}/api/${name}.html`, {
    viewport: { width, height: 900 },
    colorScheme,
    reducedMotion: 'reduce',
  });
  if (name !== 'hierarchy') await page.locator('#tsd-nav-container li a').first().waitFor({ state: 'attached' });
  expect(await violationsOfSite(page)).toEqual([]);
  expect(await page.evaluate(TOO_WIDE)).toEqual([]);
});

it('each page has its own description', async () => {
  page = await openAny(`${url}/limits`);
  expect(await page.locator('meta[name=description]').getAttribute('content')).toMatch(/^Bound how many jobs/);
});
