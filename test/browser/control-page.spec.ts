import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import {
  numberOf,
  openPage,
  says,
  slide,
  startShop,
  type ControlPage,
  type RunningShop,
} from '../support/browser.js';
import { connect } from '../support/redis.js';
import { eventually } from '../support/wait.js';

let shop: RunningShop;
let page: ControlPage;

beforeAll(async () => {
  // No sweep but that of the button: the test of it must be the first to find an expired claim.
  shop = await startShop(['--reclaim-ms', '0']);
}, 240_000);

beforeEach(async () => {
  await shop.post('/reset');
  await shop.post('/workers/start', { size: '2', work_latency_ms: '0' });
  page = await openPage(shop.url);
});

afterEach(async () => {
  expect(page.complaints).toEqual([]);
  await page.context().close();
});

async function enqueue(kind: string, count: number) {
  await page.getByLabel('Kind').selectOption(kind);
  await page.getByLabel('How many').first().fill(String(count));
  await page.getByRole('button', { name: 'Enqueue' }).click();
}

const workers = () => page.locator('#workers li');

/** Opens the newest completed job of a kind from its row. */
async function openMade(kind: string) {
  await enqueue(kind, 1);
  await page.locator('.completed .rows li', { hasText: kind }).getByRole('button').first().click();
  await says(page, '#job-body h3', 'What it made');
  return page.locator('#job-body');
}

describe('jobs', () => {
  it('are enqueued, several of each kind, and all are completed', async () => {
    await enqueue('all', 3);
    await says(page, '#answer', '12 jobs enqueued.');
    await eventually(async () => (await numberOf(page, 'Completed')) === 12, { timeoutMs: 20_000 });
    expect(await numberOf(page, 'Enqueued')).toBe(12);
    await says(page, '.completed .range', '1 to 5 of 12');
    expect(await page.locator('.completed .rows li').first().textContent()).toMatch(/attempt 1.*"recipient":"ada@/);
    await eventually(() => page.locator('#depths canvas, #totals canvas').count());
  });

  it('show the mail that they sent', async () => {
    const made = await openMade('email');
    expect(await made.locator('.mail').textContent()).toMatch(
      /shop@shop\.example.*ada@example\.com.*Your order no\. 1/,
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
    await eventually(async () => !(await widths()).includes(0));
    expect(await widths()).toEqual([1_600, 240]);
  });

  it('show their invoice as a PDF', async () => {
    const made = await openMade('invoice');
    const href = await made.getByRole('link', { name: 'Open the PDF' }).getAttribute('href');
    expect(await made.locator('iframe').getAttribute('src')).toBe(href);
    const pdf = await fetch(shop.url + href);
    expect((await pdf.text()).slice(0, 4)).toBe('%PDF');
  });
});

describe('the worker pool', () => {
  it('changes its size, latency, failure rate and hang rate while it works', async () => {
    await slide(page, 'size', 4);
    await eventually(async () => (await workers().count()) === 4);
    await slide(page, 'work_latency_ms', 1_200);
    await slide(page, 'fail_rate', 0.25);
    await slide(page, 'hang_rate', 0.1);
    const expected = { workers_running: 4, work_latency_ms: 1_200, fail_rate: 0.25, hang_rate: 0.1 };
    await eventually(async () => {
      const stats = await shop.get<Record<string, number>>('/stats');
      return Object.entries(expected).every(([name, value]) => stats[name] === value);
    });
    await slide(page, 'size', 1);
    await eventually(async () => (await workers().count()) === 1, { timeoutMs: 15_000 });
  });

  it('follows what somebody else sets', async () => {
    await shop.post('/workers/configure', { fail_rate: '0.5' });
    await says(page, 'output[for=fail_rate]', '50 %');
  });

  it('stops, so that jobs wait, and starts again', async () => {
    await page.getByRole('button', { name: 'Stop' }).click();
    await eventually(async () => (await workers().count()) === 0, { timeoutMs: 15_000 });
    await enqueue('email', 2);
    await says(page, '.pending .range', '1 to 2 of 2');
    await page.getByRole('button', { name: 'Start' }).click();
    await eventually(async () => (await numberOf(page, 'Completed')) === 2, { timeoutMs: 20_000 });
  });

  it('makes attempts fail at the rate that is set, and says why', async () => {
    await slide(page, 'fail_rate', 1);
    await says(page, 'output[for=fail_rate]', '100 %');
    await shop.post('/workers/configure', { fail_rate: '1' });
    await enqueue('email', 1);
    await says(page, '.failed .rows li', /attempt 3.*Failed on purpose/);
    expect(await numberOf(page, 'Given up')).toBe(1);
    await page.locator('.failed .rows li').getByRole('button').first().click();
    await says(page, '#job-body .attempt-log li', /1: error Failed on purpose/);
  });
});

describe('the page', () => {
  it('takes back expired claims by hand, and says when there is none', async () => {
    await shop.post('/workers/stop');
    await eventually(async () => (await workers().count()) === 0, { timeoutMs: 15_000 });
    const takeBack = page.getByRole('button', { name: 'Take back expired claims' });
    await takeBack.click();
    await says(page, '#answer', 'No claim had run out.');
    await enqueue('email', 1);
    await says(page, '.pending .range', '1 to 1 of 1');
    const redis = connect({}, shop.redis.url);
    const claimed = await new JobQueue(redis, 'jobs').claim();
    // As if the visibility timeout had passed.
    expect(await redis.zadd('queue:jobs:claims', 'XX', 'CH', 1, claimed!.id)).toBe(1);
    await takeBack.click();
    await says(page, '#answer', '1 taken back.');
    await says(page, '.pending .rows li', 'attempt 1, 1 crashed');
    expect(await numberOf(page, 'Taken back')).toBe(1);
  });

  it('resets: no jobs, no workers, zero totals', async () => {
    await enqueue('email', 3);
    await eventually(async () => (await numberOf(page, 'Completed')) === 3, { timeoutMs: 20_000 });
    await page.getByRole('button', { name: 'Reset' }).click();
    await says(page, '#answer', 'All jobs are deleted');
    await eventually(async () => (await numberOf(page, 'Completed')) === 0);
    expect(await numberOf(page, 'Enqueued')).toBe(0);
    expect(await workers().count()).toBe(0);
  });

  it('follows a job that is open when it is in none of the rows any more', async () => {
    await shop.post('/workers/stop');
    await eventually(async () => (await workers().count()) === 0, { timeoutMs: 15_000 });
    const queue = new JobQueue(connect({}, shop.redis.url), 'jobs');
    const first = await queue.enqueue({}, { name: 'invoice' });
    await page.locator(`.pending li[data-job="${first.id}"] .open`).click();
    await says(page, '#job-body .facts', 'pending');
    await queue.enqueueMany(Array.from({ length: 7 }, () => ({ payload: {}, name: 'invoice' })));
    for (let i = 0; i < 8; i++) await queue.complete((await queue.claim())!);
    await says(page, '.completed .range', '1 to 5 of 8');
    expect(await page.locator(`li[data-job="${first.id}"]`).count()).toBe(0);
    await says(page, '#job-body .facts', 'completed');
  });

  it('tells the story of a shop that was started anew from its beginning', async () => {
    const told = await page.evaluate(`import('/page/story.js').then(({ showStory }) => {
      const line = (n, at, text) => ({ n, at, tone: 'plain', text });
      showStory([line(1, 1, 'before'), line(2, 2, 'before')]);
      showStory([line(1, 3, 'after'), line(2, 4, 'after')]);
      return [...document.querySelectorAll('#story li span')].map((span) => span.textContent);
    })`);
    expect(told).toEqual(['after', 'after']);
  });

  it('tells the first hour of a day as 00', async () => {
    const told = await page.evaluate(`import('/page/story.js').then(({ showStory }) => {
      showStory([{ n: 1, at: new Date(2026, 1, 1, 0, 5).getTime(), tone: 'plain', text: 'at night' }]);
      return document.querySelector('#story time').textContent;
    })`);
    expect(told).toBe('00:05:00');
  });

  it('shows 100,000 jobs a page at a time, over one stream and no request for each', async () => {
    await shop.post('/workers/stop');
    const queue = new JobQueue(connect({}, shop.redis.url), 'jobs');
    for (let batch = 0; batch < 20; batch++) {
      await queue.enqueueMany(Array.from({ length: 5_000 }, (_, i) => ({ payload: { i }, name: 'email' })));
    }
    await says(page, '.pending .range', '1 to 5 of 100,000');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.getByRole('button', { name: 'Waiting: next jobs' }).click();
    await says(page, '.pending .range', '6 to 10 of 100,000');
    await says(page, '.pending .rows li', '{"i":5}');
    expect(requests).toHaveLength(1);
    expect(await page.locator('.pending .rows li').count()).toBe(5);
    await page.getByRole('button', { name: 'Reset' }).click();
    await says(page, '.pending .range', /^0$/);
  });
});
