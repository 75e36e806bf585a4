import { beforeAll, expect, it } from '@jest/globals';
import { violations } from '../support/axe.js';
import { numberOf, openPage, says, startShop, type ControlPage, type RunningShop } from '../support/browser.js';
import { eventually } from '../support/wait.js';

let shop: RunningShop;
let page: ControlPage;

beforeAll(async () => {
  shop = await startShop(['--workers', '2']);
  page = await openPage(shop.url);
}, 240_000);

it('says that Redis is away, answers at once, and goes on when it is back, with nothing lost', async () => {
  await shop.post('/workers/start', { size: '2', work_latency_ms: '300' });
  const enqueued = await shop.enqueue({ count: '50' });
  expect(enqueued).toHaveLength(50);
  await eventually(async () => (await numberOf(page, 'Completed')) > 4, { timeoutMs: 20_000 });

  await shop.redis.kill('SIGKILL');
  await says(page, '#away', /Redis has not answered since \d\d:\d\d:\d\d/);
  await says(page, '#connection', 'Redis is away');
  expect(await violations(page)).toEqual([]);
  // What was there stays to be read, and the workers are seen.
  expect(await page.locator('.completed .rows li').count()).toBe(5);
  expect(await page.locator('#workers li').count()).toBe(2);
  const asked = performance.now();
  expect((await fetch(`${shop.url}/stats`)).status).toBe(503);
  expect(performance.now() - asked).toBeLessThan(5_000);
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '#answer.bad', 'Redis does not answer');

  await shop.redis.restart();
  await says(page, '#connection', 'Live');
  await page.locator('#away').waitFor({ state: 'hidden' });
  await says(page, '#story li', 'Redis is back');
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '#answer', '20 jobs enqueued.');
  await eventually(
    async () =>
      (await numberOf(page, 'Completed')) === (await numberOf(page, 'Enqueued')) &&
      (await numberOf(page, 'Waiting')) === 0,
    { timeoutMs: 45_000 },
  );
}, 120_000);
