// What the page shows of a queue that no worker works on: lists, charts and their figures, claims, the story.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue';
import {
  numberOf,
  openPage,
  reset,
  rowOf,
  says,
  startShop,
  type ControlPage,
  type RunningShop,
} from '../support/browser/browser.js';
import { figures, sevenOf } from '../support/browser/charts.js';
import { connect } from '../support/redis/redis.js';
import { patiently } from '../support/faults/wait.js';

let shop: RunningShop;
let redis: Redis;
let queue: JobQueue;
let page: ControlPage;

beforeAll(async () => {
  // No sweep but that of the button: the test of it must be the first to find an expired claim.
  shop = await startShop(['--workers', '0', '--reclaim-ms', '0']);
  redis = connect({}, shop.redis.url);
  queue = new JobQueue(redis, 'jobs');
  page = await openPage(shop.link);
}, 240_000);

beforeEach(() => shop.post('/reset'));

afterEach(() => expect(page.complaints).toEqual([]));

/** Makes the claim of a job expire in this many ms, by the server's clock. */
async function claimEndsIn(id: string, ms: number): Promise<void> {
  const [seconds] = await redis.time();
  expect(await redis.zadd('queue:jobs:claims', 'XX', 'CH', Number(seconds) * 1_000 + 999 + ms, id)).toBe(1);
}

/** Returns the ids of waiting jobs, and the link to the next page. */
async function listing(path: string) {
  const response = await fetch(shop.url + path);
  const { pending } = (await response.json()) as { pending: { id: string }[] };
  return { ids: pending.map(({ id }) => id), link: response.headers.get('link') };
}

const enqueueEmails = (count: number) =>
  queue.enqueueMany(Array.from({ length: count }, () => ({ payload: {}, name: 'email' })));

it('the rows of the four lists show payload, attempts, outcome and error of their jobs', async () => {
  const enqueue = async (name: string, to: string) => (await queue.enqueue({ to }, { name })).id;
  const completed = await enqueue('thumbnail', 'ada');
  await queue.complete((await queue.claim())!, { width: 240 });
  const failed = await enqueue('invoice', 'grace');
  await queue.fail((await queue.claim())!, new Error('no paper'));
  await queue.fail((await queue.claim())!, new Error('no ink'), { final: true });
  const processing = await enqueue('webhook', 'alan');
  await queue.claim();
  const [again, pending] = [await enqueue('email', 'edsger'), await enqueue('email', 'barbara')];
  await queue.fail((await queue.claim())!, new Error('no answer'));
  await says(page, '.pending .range', '1 to 2 of 2');
  await page.locator(`.pending li[data-job="${again}"] .outcome`, { hasText: 'no answer' }).waitFor();
  const row = { attempts: '', outcome: '', bad: false };
  // Payloads of other clients are shown as they are.
  expect({
    completed: await rowOf(page, 'completed', completed),
    failed: await rowOf(page, 'failed', failed),
    processing: await rowOf(page, 'processing', processing),
    again: await rowOf(page, 'pending', again),
    pending: await rowOf(page, 'pending', pending),
  }).toEqual({
    completed: {
      ...row,
      label: 'thumbnail {"to":"ada"}',
      attempts: 'attempt 1',
      outcome: '{"width":240}',
    },
    failed: {
      label: 'invoice {"to":"grace"}',
      attempts: 'attempt 2',
      outcome: 'no ink',
      bad: true,
    },
    processing: { ...row, label: 'webhook {"to":"alan"}', attempts: 'attempt 1' },
    again: {
      label: 'Mail to edsger',
      attempts: 'attempt 1',
      outcome: 'no answer',
      bad: true,
    },
    pending: { ...row, label: 'Mail to barbara' },
  });
});

const hasFocus = (selector: string) => page.locator(`${selector}:focus`).waitFor();

describe('the focus of the keyboard', () => {
  it('stays on a button that is off, which does nothing then', async () => {
    await enqueueEmails(12);
    const next = page.getByRole('button', { name: 'Waiting: next jobs' });
    await next.focus();
    for (const range of ['6 to 10 of 12', '11 to 12 of 12']) {
      await page.keyboard.press('Enter');
      await says(page, '.pending .range', range);
    }
    await hasFocus('[aria-label="Waiting: next jobs"][aria-disabled=true]');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Waiting: first jobs' }).focus();
    await page.keyboard.press('Enter');
    await says(page, '.pending .range', '1 to 5 of 12');
  });

  it('goes to the list where a row goes, and where its buttons do, and where a job was opened from it', async () => {
    const [{ id } = { id: '' }] = await enqueueEmails(6);
    const row = `.pending li[data-job="${id}"] .open`;
    await page.locator(row).focus();
    await queue.claim();
    await hasFocus('section.pending');
    await enqueueEmails(1);
    await page.getByRole('button', { name: 'Waiting: last jobs' }).focus();
    await queue.claim();
    await hasFocus('section.pending');
    const first = page.locator('.pending .open').first();
    await first.focus();
    await page.keyboard.press('Enter');
    await says(page, '#job-body .facts', 'pending');
    await queue.claim();
    await says(page, '#job-body .facts', 'processing');
    await page.keyboard.press('Escape');
    await hasFocus('section.pending');
  });
});

describe('a list', () => {
  it('of 100,000 jobs is shown a page at a time, the last one too, soon, without a request for each job, and reset', async () => {
    const last: string[] = [];
    for (let batch = 0; batch < 20; batch++) {
      const jobs = Array.from({ length: 5_000 }, (_, i) => ({ payload: { i }, name: 'email' }));
      last.push(...(await queue.enqueueMany(jobs)).slice(-5).map(({ id }) => id));
    }
    await says(page, '.pending .range', '1 to 5 of 100,000');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const turn = async (which: string, range: string) => {
      const asked = performance.now();
      await page.getByRole('button', { name: `Waiting: ${which} jobs` }).click();
      await says(page, '.pending .range', range);
      return performance.now() - asked;
    };
    const took = [
      await turn('next', '6 to 10 of 100,000'),
      await turn('last', '99,996 to 100,000 of 100,000'),
      await turn('previous', '99,991 to 99,995 of 100,000'),
      await turn('first', '1 to 5 of 100,000'),
      await turn('last', '99,996 to 100,000 of 100,000'),
    ];
    // A snapshot comes within half a second; a machine that does other things may take its time.
    expect(Math.max(...took)).toBeLessThan(5_000);
    const rows = page.locator('.pending .rows li');
    const shown = () =>
      rows.evaluateAll<string[], { dataset: { job: string } }>((all) => all.map((row) => row.dataset.job));
    expect(await shown()).toEqual(last.slice(-5));
    expect(requests).toHaveLength(took.length);
    page.removeAllListeners('request');
    expect(await page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1_000);
    const asked = performance.now();
    const listed = await listing('/jobs');
    expect(performance.now() - asked).toBeLessThan(5_000);
    expect(listed.ids).toHaveLength(1_000);
    expect(listed.link).toBe('</jobs?offset=1000&limit=1000>; rel="next"');
    expect(await listing('/jobs?offset=99995')).toEqual({ ids: last.slice(-5), link: null });
    // One that becomes shorter shows its last page.
    await reset(page);
    await says(page, '.pending .range', /^0$/, 60_000);
    await says(page, '#answer', 'All jobs are deleted', 60_000);
    expect(await page.getByRole('button', { name: 'Waiting: first jobs' }).isVisible()).toBe(false);
    await patiently(async () => (await numberOf(page, 'Enqueued')) === 0); // by the next snapshot
    expect((await redis.scan('0', 'MATCH', 'queue:jobs:job:*', 'COUNT', 200_000))[1]).toEqual([]);
  }, 120_000);

  it('shows a claim in red when it has expired, and not before', async () => {
    const { id } = await queue.enqueue({}, { name: 'email' });
    await queue.claim();
    const row = `.processing li[data-job="${id}"]`;
    await says(page, `${row}:not(.expired) .note`, /^claim: \d+\.\d s left$/);
    await claimEndsIn(id, -10_000);
    await says(page, `${row}.expired .note`, 'claim has expired');
  });

  it('and the picture show a job that waits for its next attempt with a clock', async () => {
    const { id } = await queue.enqueue(
      { to: 'ada' },
      { name: 'email', backoff: { type: 'fixed', delayMs: 60_000 } },
    );
    await queue.fail((await queue.claim())!, new Error('no answer'));
    await says(page, `.pending li[data-job="${id}"] .note`, 'waits for its next attempt');
    await page.locator(`#waiting .job[data-job="${id}"][data-status=later]`).waitFor();
  });

  it('follows a job that is open when it is in none of the rows any more', async () => {
    const first = await queue.enqueue({}, { name: 'invoice' });
    await page.locator(`.pending li[data-job="${first.id}"] .open`).click();
    await says(page, '#job-body .facts', 'pending');
    await queue.enqueueMany(Array.from({ length: 7 }, () => ({ payload: {}, name: 'invoice' })));
    for (let i = 0; i < 8; i++) await queue.complete((await queue.claim())!);
    await says(page, '.completed .range', '1 to 5 of 8');
    expect(await page.locator(`li[data-job="${first.id}"]`).count()).toBe(0);
    await says(page, '#job-body .facts', 'completed');
    await page.keyboard.press('Escape');
  });
});

it('expired claims are reclaimed by hand; the page says when there is none', async () => {
  const reclaim = page.getByRole('button', { name: 'Reclaim expired claims' });
  await reclaim.click();
  await says(page, '#answer', 'No claim had expired.');
  await queue.enqueue({}, { name: 'email' });
  const claimed = await queue.claim();
  await claimEndsIn(claimed!.id, -10_000);
  await reclaim.click();
  await says(page, '#answer', '1 reclaimed.');
  await says(page, '.pending .rows li', 'attempt 1, 1 crashed');
  // A snapshot counts before it reads the rows.
  await patiently(async () => (await numberOf(page, 'Reclaimed')) === 1);
});

it('asks Redis nothing while it is hidden, and shows new jobs when it is seen', async () => {
  const hide = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
  // The shop itself counts once a second, for the charts.
  const seen = await commandsIn(2_000);
  await hide(true);
  await patiently(async () => (await commandsIn(1_000)) < seen / 6);
  await enqueueEmails(3);
  await hide(false);
  await says(page, '.pending .range', '1 to 3 of 3');
});

async function commandsIn(ms: number): Promise<number> {
  const before = await commandsSoFar();
  await page.waitForTimeout(ms);
  return (await commandsSoFar()) - before;
}

async function commandsSoFar(): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))![1]);
}

const near = (value: number | undefined) => (value === undefined ? value : expect.closeTo(value, -1));

const plotted = (facts: number[]) => patiently(async () => String((await figures(page))[0]) === String(facts));

describe('the charts', () => {
  beforeAll(() => page.locator('#figures summary').click());

  it('plot the counts of the queue, as the table of figures shows', async () => {
    await plotted([0, 0, 0, 0, 0]);
    await queue.enqueueMany(Array.from({ length: 7 }, () => ({ payload: {}, name: 'email' })));
    await plotted([7, 0, 0, 0, 0]);
    const [first, second, third] = [await queue.claim(), await queue.claim(), await queue.claim()];
    await plotted([4, 3, 0, 0, 0]);
    await queue.complete(first!);
    await queue.fail(second!, new Error('bad'), { final: true });
    await claimEndsIn(third!.id, -10_000);
    await shop.post('/reclaim');
    await plotted([5, 0, 1, 1, 1]);
    const stats = await shop.get<Record<string, number>>('/stats');
    expect(stats).toMatchObject({ pending_depth: 5, processing_depth: 0, completed_total: 1, failed_total: 1 });
  });

  it('draw the lines where the values are, and nothing where nobody counted', async () => {
    await page.reload();
    await says(page, '#connection', 'Live');
    await page.locator('#depths canvas').waitFor();
    await page.locator('#figures summary').click();
    // Behind all that the shop tells: its samples do not come between.
    const from = Math.ceil(Date.now() / 1_000 / 60) * 60 + 3_600;
    const seconds = [...Array(20).keys(), ...Array.from({ length: 21 }, (_, i) => 40 + i)];
    const samples = seconds.map((s) => [from + s, s < 20 ? 100 : 50, 0, s, 0, 0]);
    await page.evaluate(
      `import('/page/charts.js').then(({ addSamples }) => addSamples(${JSON.stringify(samples)}))`,
    );
    expect(await figures(page)).toEqual([
      [50, 0, 60, 0, 0],
      [50, 0, 50, 0, 0],
      [50, 0, 40, 0, 0],
      ['not counted'],
      [100, 0, 10, 0, 0],
      [100, 0, 0, 0, 0],
    ]);
    // What is waiting: 100, nothing, 50. What is completed grows by one a second.
    const waiting = await sevenOf(page, { chart: '#depths', colour: '--amber', top: 110 });
    expect(waiting).toEqual([100, 100, undefined, undefined, undefined, 50, 50].map(near));
    const completed = await sevenOf(page, { chart: '#totals', colour: '--green', top: 66 });
    expect(completed).toEqual([6, 18, undefined, undefined, undefined, 42, 54].map(near));
  });
});

describe('the story', () => {
  it('of a restarted shop begins anew', async () => {
    const told = await page.evaluate(`import('/page/story.js').then(({ showStory }) => {
      const line = (n, at, text) => ({ n, at, tone: 'plain', text });
      showStory([line(1, 1, 'before'), line(2, 2, 'before')]);
      showStory([line(1, 3, 'after'), line(2, 4, 'after')]);
      const texts = [...document.querySelectorAll('#story li span')].map((span) => span.textContent);
      const none = document.getElementById('no-story');
      const hidden = [none.hidden];
      showStory([]);
      return [...texts, ...hidden, none.hidden];
    })`);
    // Where nothing has happened yet, the page says so.
    expect(told).toEqual(['after', 'after', true, false]);
  });

  it('shows the first hour of a day as 00', async () => {
    const told = await page.evaluate(`import('/page/story.js').then(({ showStory }) => {
      showStory([{ n: 1, at: new Date(2026, 1, 1, 0, 5).getTime(), tone: 'plain', text: 'at night' }]);
      return document.querySelector('#story time').textContent;
    })`);
    expect(told).toBe('00:05:00');
  });
});
