// The overview of many queues: the worst first, filters, sorts, long names, and queues that the app does not know.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';
import { DEFAULT_CONNECTION, partToken } from '#nest/connection/connection-tokens.js';
import type { QueueRegistry } from '#nest/connection/queue-registry.js';
import type { OutboxRecord, OutboxSigns } from '#queue/store/outbox-writer.js';
import { PHONE, violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { patiently } from '../../support/faults/wait.js';

const LONG = 'billing.invoices/monthly-statement:eu-west_1';
let world: DashboardWorld;
let page: ControlPage;
const outboxActs: string[] = [];
const outboxRow = { queue: 'email', name: 'email', ageMs: 180_000, attempts: 3, isFailed: false };
const outboxRows: OutboxRecord[] = [
  { ...outboxRow, seq: '41', id: 'b3c1a0de-0f3c-4b1e-9c55-8f2c61f0a001', attempts: 20, lastError: 'options.options.delayMs: expected a whole number from 0, found "soon"', isFailed: true }, // prettier-ignore
  {
    ...outboxRow,
    seq: '57',
    id: 'b3c1a0de-0f3c-4b1e-9c55-8f2c61f0a002',
    lastError: 'payload: expected JSON, found "{{"',
  },
  { ...outboxRow, seq: '58', id: 'order-4871', attempts: 0, lastError: undefined },
];
let outbox: OutboxSigns = { waiting: 0, setAside: 0, failed: 0, oldestAgeMs: 0 };

beforeAll(async () => {
  world = await startWorld({ queues: ['email', 'archive', LONG] }, 'express', {}, (app) => {
    const registry = app.get<QueueRegistry>(partToken('queues', DEFAULT_CONNECTION), { strict: false });
    registry.outbox = {
      store: async () => undefined,
      markDone: async () => true,
      signs: async () => outbox,
      rows: {
        list: async () => outboxRows,
        retry: async (_queue, seqs) => (outboxActs.push(...seqs), seqs.length),
        discard: async () => 0,
      },
    };
  });
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

it('the outbox is a row of the table, which says what to do where its rows wait', async () => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${world.url}#/`);
  await says(page, 'tr.outbox', 'flows: 0 rows');
  await pictureOf(page, 'outbox-well');
  outbox = { ...outbox, waiting: 1_204, oldestAgeMs: 180_000 };
  await says(page, 'tr.outbox', /Outbox.*waits: 1,204 rows, the oldest for 3 min: no relay moves them/s);
  await says(page, 'tr.outbox', 'Look at its rows');
  await pictureOf(page, 'outbox-waits');
  await page.locator('tr.outbox').getByRole('link', { name: 'Look at its rows' }).click();
  await says(page, 'table', /41.*email.*failed.*20.*expected a whole number/s);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'outbox-rows');
  await page.getByRole('button', { name: 'Send 2 rows again' }).click();
  await says(page, '.toasts', '2 rows will be sent again.');
  expect(outboxActs).toEqual(['41', '57']);
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
    // A sentence is cut to one line below 1,024 px. Above it a long one makes its row higher.
    if (width > 900) expect(width < 1_024 ? heights : [Math.min(...heights)]).toEqual([56]);
    if (width >= 1024) {
      const cut = await page
        .locator('.row-verdict')
        .evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);
      expect(cut).toBe(0);
      await page.evaluate('document.body.style.paddingBottom = "2000px"; scrollTo(0, 400)');
      const head = await page.locator('.queues thead th').first().boundingBox();
      expect(Math.round(head!.y)).toBe(0);
      await page.evaluate('document.body.style.paddingBottom = ""; scrollTo(0, 0)');
    }
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
