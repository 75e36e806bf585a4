import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import type { Page } from 'playwright-core';
import {
  numberOf,
  openPage,
  reset,
  says,
  slide,
  startShop,
  workersRun,
  type ControlPage,
  type RunningShop,
} from '../support/browser/browser.js';
import { connect } from '../support/redis/redis.js';
import { patiently } from '../support/faults/wait.js';

const SMOOTH = { work_latency_ms: '0', fail_rate: '0', hang_rate: '0' };

let shop: RunningShop;
let queue: JobQueue;
/** One for all tests, as a person has it open: what each of them needs is set on the server. */
let page: ControlPage;

beforeAll(async () => {
  shop = await startShop();
  queue = new JobQueue(connect({}, shop.redis.url), 'jobs');
  page = await openPage(shop.link);
  await says(page, '.completed .range', 'of 4', 40_000); // the first jobs
}, 240_000);

beforeEach(async () => {
  await page.keyboard.press('Escape');
  await shop.post('/workers/start', { size: '2', ...SMOOTH });
  await queue.purge({ confirm: 'jobs' });
  await workersRun(page, 2);
  // A slider follows the server a second after a hand was on it; until then Start sends what it shows.
  await says(page, 'output[for=fail_rate]', /^0 %$/);
  // A row of the test before must not be taken for one of this test.
  for (const list of ['pending', 'processing', 'completed', 'failed']) await says(page, `.${list} .range`, /^0$/);
});

afterEach(() => expect(page.complaints).toEqual([]));

async function enqueue(kind: string, count: number) {
  await page.getByLabel('Kind').selectOption(kind);
  await page.getByLabel('How many jobs').fill(String(count));
  await page.getByRole('button', { name: 'Enqueue' }).click();
}

const workers = () => page.locator('#workers > li');
const noWorkers = () => page.locator('#workers:empty').waitFor({ state: 'attached' });

const LABELS: Record<string, string> = {
  email: 'Mail to',
  webhook: 'Webhook',
  thumbnail: 'Thumbnail',
  invoice: 'Invoice',
};

/** Opens the newest completed job of a kind from its row. */
async function openMade(kind: string) {
  await enqueue(kind, 1);
  await page.locator('.completed .rows li', { hasText: LABELS[kind]! }).getByRole('button').first().click();
  await says(page, '#job-body h3', 'What it made');
  return page.locator('#job-body');
}

describe('jobs', () => {
  it('are enqueued, several of each kind, and all are completed', async () => {
    const before = { enqueued: await numberOf(page, 'Enqueued'), completed: await numberOf(page, 'Completed') };
    await enqueue('all', 3);
    await says(page, '#answer', '12 jobs enqueued.');
    await says(page, '.completed .range', '1 to 5 of 12');
    expect(await numberOf(page, 'Enqueued')).toBe(before.enqueued + 12);
    expect(await numberOf(page, 'Completed')).toBe(before.completed + 12);
    const words = /^(Mail to ada@…|Webhook order\.paid|Invoice for ada@…), order \d+|Thumbnail of the \w+, 240 px/;
    const row = page.locator('.completed .rows li').first();
    expect(await row.locator('.label').textContent()).toMatch(words);
    expect(await row.locator('.about').textContent()).toMatch(/attempt 1(Sent|Answered 204|EUR|240 × 180)/);
  });

  it('show the mail that they sent', async () => {
    const made = await openMade('email');
    expect(await made.locator('.mail').textContent()).toMatch(
      /shop@shop\.example.*ada@example\.com.*Your order no\. \d/,
    );
  });

  it('show the request of their webhook, and that its signature was checked', async () => {
    const made = (await (await openMade('webhook')).textContent())!;
    expect(made).toMatch(/The receiver checked the signature/);
    expect(made).toMatch(/Signaturet=\d+,v1=[0-9a-f]{64}/);
    expect(made).toMatch(/"event":"order\.paid"/);
  });

  it('show their thumbnail beside its original', async () => {
    const made = await openMade('thumbnail');
    const widths = () =>
      made
        .locator('img')
        .evaluateAll<number[], { naturalWidth: number }>((images) => images.map((image) => image.naturalWidth));
    await patiently(async () => !(await widths()).includes(0));
    expect(await widths()).toEqual([1_600, 240]);
  });

  it('show their invoice as a PDF, which opens in the dialog and in a page of its own', async () => {
    const made = await openMade('invoice');
    const link = made.getByRole('link', { name: 'Open the PDF' });
    await viewsPdf(page);
    const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
    await viewsPdf(opened);
    const pdf = await fetch(opened.url());
    await opened.close();
    expect((await pdf.text()).slice(0, 4)).toBe('%PDF');
  });
});

/** Waits until the browser's own viewer has read a PDF: its title is in the toolbar. */
async function viewsPdf(where: Page) {
  const viewer = await patiently(
    () => where.frames().find((frame) => frame.url().startsWith('chrome-extension:')),
    {
      timeoutMs: 20_000,
    },
  );
  await viewer.locator('#title', { hasText: 'Invoice' }).waitFor();
}

describe('the worker pool', () => {
  it('changes its size, latency, failure rate and hang rate while it works', async () => {
    await slide(page, 'size', 4);
    await patiently(async () => (await workers().count()) === 4, { timeoutMs: 20_000 });
    await slide(page, 'work_latency_ms', 1_200);
    await slide(page, 'fail_rate', 0.25);
    await slide(page, 'hang_rate', 0.1);
    const expected = { workers_running: 4, work_latency_ms: 1_200, fail_rate: 0.25, hang_rate: 0.1 };
    await patiently(
      async () => {
        const stats = await shop.get<Record<string, number>>('/stats');
        return Object.entries(expected).every(([name, value]) => stats[name] === value);
      },
      { timeoutMs: 20_000 },
    );
    await slide(page, 'size', 2);
    await patiently(async () => (await workers().count()) === 2, { timeoutMs: 20_000 });
  });

  it('shows a failure rate that somebody else sets', async () => {
    await shop.post('/workers/configure', { fail_rate: '0.5' });
    await says(page, 'output[for=fail_rate]', '50 %');
  });

  it('makes attempts fail at the rate that is set, and says why', async () => {
    const before = await numberOf(page, 'Given up');
    await slide(page, 'fail_rate', 1);
    await says(page, 'output[for=fail_rate]', '100 %');
    await shop.post('/workers/configure', { fail_rate: '1' });
    await enqueue('email', 1);
    await says(page, '.failed .rows li', /attempt 3.*Failed on purpose/);
    // A snapshot counts before it reads the rows.
    await patiently(async () => (await numberOf(page, 'Given up')) === before + 1);
    await page.locator('.failed .rows li').getByRole('button').first().click();
    await says(page, '#job-body .attempt-log li', /1: error Failed on purpose/);
  });

  it('stops, so that jobs wait, and starts again', async () => {
    await page.getByRole('button', { name: 'Stop' }).click();
    await says(page, '#answer', 'The workers finish what they have, and stop.');
    await noWorkers();
    await enqueue('email', 2);
    await says(page, '.pending .range', '1 to 2 of 2');
    await page.getByRole('button', { name: 'Start' }).click();
    await says(page, '.completed .range', '1 to 2 of 2');
  });
});

it('leads to the dashboard, and from a job to its page there', async () => {
  await openMade('email');
  const link = page.getByRole('link', { name: 'In the dashboard' });
  const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
  await opened.locator('h1', { hasText: /Mail to ada@…, order \d+/ }).waitFor();
  await opened.getByRole('link', { name: 'Overview' }).click();
  await opened.getByRole('link', { name: 'report' }).waitFor();
  await opened.close();
  await page.keyboard.press('Escape');
  expect(await page.getByRole('link', { name: 'Dashboard' }).getAttribute('href')).toBe('/queues');
});

it('resets: no jobs, no workers, zero totals', async () => {
  await enqueue('email', 3);
  await says(page, '.completed .range', '1 to 3 of 3');
  await reset(page);
  await says(page, '#answer', 'All jobs are deleted');
  await patiently(async () => (await numberOf(page, 'Completed')) === 0);
  expect(await numberOf(page, 'Enqueued')).toBe(0);
  await noWorkers();
  expect(await shop.get('/stats')).toMatchObject({ worker_processed_total: 0 });
});

it('asks before a reset with the number of jobs, and keeps all after a no', async () => {
  await enqueue('email', 3);
  await says(page, '.completed .range', '1 to 3 of 3');
  for (const no of [
    () => page.getByRole('button', { name: 'Keep everything' }).click(),
    () => page.keyboard.press('Escape'),
    // Enter, too, keeps everything.
    () => page.keyboard.press('Enter'),
  ]) {
    await page.getByRole('button', { name: 'Reset' }).click();
    await says(page, '#confirm-text', 'deletes 3 jobs with what they made, stops 2 workers');
    await no();
    await page.locator('#confirm').waitFor({ state: 'hidden' });
  }
  expect(await shop.get('/stats')).toMatchObject({ completed_depth: 3, workers_running: 2 });
});

it('has numbers that add up, and agree with the picture and the lists', async () => {
  // What another client deleted would be counted as removed.
  await shop.post('/reset');
  await says(page, '#numbers [data-stat=enqueued_total]', /^0$/); // the reset is seen
  await shop.post('/workers/start', { size: '2', work_latency_ms: '600', fail_rate: '0.5' });
  await enqueue('all', 3);
  const seen = `(() => {
    const numberOf = (selector) => Number(document.querySelector(selector).textContent.replaceAll(',', ''));
    const stat = (name) => numberOf('#numbers [data-stat=' + name + ']');
    const parts = ['pending_depth', 'processing_depth', 'completed_total', 'failed_total', 'removed_total'].map(stat);
    const ofLists = ['pending', 'processing', 'completed', 'failed']
      .map((list) => Number(document.querySelector('.' + list + ' .range').textContent.match(/(\\d+)( kept)?$/)[1]));
    return {
      sum: parts.reduce((a, b) => a + b) - stat('enqueued_total'),
      lists: String(ofLists) === String(parts.slice(0, 4)),
      waiting: numberOf('#waiting-title .range') - parts[0],
      done: numberOf('#done-count') - parts[2] - parts[3],
      ended: parts[2] + parts[3],
    };
  })()`;
  const looks: { ended: number }[] = [];
  while ((looks.at(-1)?.ended ?? 0) < 12) {
    const look = await page.evaluate<{ ended: number }>(seen);
    expect(look).toMatchObject({ sum: 0, lists: true, waiting: 0, done: 0 });
    looks.push(look);
    await page.waitForTimeout(100);
  }
  expect(looks.length).toBeGreaterThan(5);
});
