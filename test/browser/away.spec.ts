import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import { violationsInEveryLook } from '../support/browser/axe.js';
import { expectAwayAnswers } from '../support/faults/away-answers.js';
import {
  numberOf,
  openPage,
  says,
  startShop,
  workersRun,
  type ControlPage,
  type RunningShop,
} from '../support/browser/browser.js';
import { connect } from '../support/redis/redis.js';
import { patiently } from '../support/faults/wait.js';

/** But for those that died. */
const WORKERS = '#workers > li:not([data-state=dead])';

let shop: RunningShop;
let page: ControlPage;

beforeAll(async () => {
  shop = await startShop(['--workers', '2']);
  page = await openPage(shop.link);
}, 240_000);

afterEach(() => expect(page.complaints).toEqual([]));

it('says that Redis is away, answers at once, and continues when it is back, with nothing lost', async () => {
  await shop.post('/workers/start', { size: '2', work_latency_ms: '300' });
  await shop.enqueue({ count: '30' });
  await patiently(async () => (await numberOf(page, 'Completed')) > 4, { timeoutMs: 20_000 });

  await shop.redis.kill('SIGKILL');
  await says(page, '#away', /Redis has not answered since \d\d:\d\d:\d\d/);
  await says(page, '#connection', 'Redis is away');
  expect(await violationsInEveryLook(page)).toEqual([]);
  // What was there stays to be read, and the workers are seen.
  expect(await page.locator('.completed .rows li').count()).toBe(5);
  expect(await page.locator(WORKERS).count()).toBe(2);
  const asked = performance.now();
  expect((await fetch(`${shop.url}/stats`)).status).toBe(503);
  expect(performance.now() - asked).toBeLessThan(5_000);
  await expectAwayAnswers(shop.url);
  // What was done all the same is seen.
  await patiently(async () => (await page.locator(WORKERS).count()) === 3);
  const kill = await fetch(`${shop.url}/workers/kill`, {
    method: 'POST',
    body: new URLSearchParams({ worker: 'worker-3' }),
  });
  expect([kill.status, await kill.json()]).toEqual([
    503,
    expect.objectContaining({ message: expect.stringMatching(/^worker-3 is killed\. Redis/) }),
  ]);
  await says(page, '#story li', 'worker-3 was killed (SIGKILL)');
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '#answer.bad', 'Redis does not answer');

  await shop.redis.restart();
  await patiently(async () => (await fetch(`${shop.url}/stats`)).ok, { timeoutMs: 20_000 });
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  await says(page, '#connection', 'Live');
  await page.locator('#away').waitFor({ state: 'hidden' });
  await says(page, '#story li', 'Redis is back');
  // Nobody counted meanwhile: a gap, and no line.
  await page.locator('#figures summary').click();
  await says(page, '#figures tr', 'not counted');
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '#answer', '20 jobs enqueued.');
  await patiently(
    async () =>
      (await numberOf(page, 'Completed')) === (await numberOf(page, 'Enqueued')) &&
      (await numberOf(page, 'Waiting')) === 0,
    { timeoutMs: 45_000 },
  );
}, 120_000);

it('continues by itself with a shop that was killed and started again, and shows nothing of before', async () => {
  await page.locator('#workers > li').nth(2).waitFor();
  const pids = await page.locator('#workers .pid').allTextContents();
  await page.locator('.completed .open').first().click();
  await page.getByRole('button', { name: 'Close' }).click();

  await shop.process.kill('SIGKILL');
  await says(page, '#connection', 'Not connected');
  await says(page, '#away', 'The shop does not answer.');
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '#answer.bad', 'The shop does not answer.');
  expect(await violationsInEveryLook(page)).toEqual([]);
  // Somebody else works on meanwhile: what the page shows of it has to come from the new shop.
  const queue = new JobQueue(connect({}, shop.redis.url), 'jobs');
  await queue.purge({ confirm: 'jobs' });

  await shop.start();
  await says(page, '#connection', 'Live');
  await page.locator('#away').waitFor({ state: 'hidden' });
  await workersRun(page, 2);
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  await says(page, '.completed .range', '1 to 4 of 4'); // the first jobs
  expect(await page.locator('#workers .pid').allTextContents()).not.toEqual(expect.arrayContaining([pids[0]]));
  expect(await page.locator('#story').textContent()).not.toContain('Redis is back');
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '#answer', '20 jobs enqueued.');
  await says(page, '.completed .range', '1 to 5 of 24');
  page.complaints.length = 0; // of the browser, about the connections that were cut
}, 120_000);
