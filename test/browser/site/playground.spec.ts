// The playground of the site: jobs flow, the jobs of a killed worker come back, and none is lost.
import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { openAny, says, type ControlPage } from '../../support/browser/browser.js';
import { serveSite, violationsOfSite } from '../../support/browser/built-site.js';
import { patiently } from '../../support/faults/wait.js';

let url: string;
let server: Server;
let page: ControlPage;

beforeAll(async () => {
  ({ url, server } = await serveSite());
});
afterAll(() => void server.close());
beforeEach(async () => {
  page = await openAny(`${url}/playground`, { colorScheme: 'dark', viewport: { width: 1440, height: 1200 } });
  await says(page, '.workers', 'worker-3');
  await slide('failures', 0);
});
afterEach(async () => {
  expect(page.complaints).toEqual([]);
  await page.context().close();
});

const slide = (name: string, value: number) => page.locator(`.playground input[name=${name}]`).fill(String(value));
const press = (name: string) => page.locator('.playground').getByRole('button', { name, exact: true }).click();
const count = async (lane: string) => Number(await page.locator(`.lanes .${lane}`).getAttribute('data-count'));
const reaches = (lane: string, least: number) =>
  patiently(async () => (await count(lane)) >= least, { timeoutMs: 30_000, what: `${least} ${lane}` });

it('runs jobs, and loses none of a killed worker', async () => {
  await slide('durationMs', 2_000);
  await press('Enqueue 10');
  await says(page, '.workers', 'runs #');
  await reaches('processing', 9);
  await press('Kill worker-1');
  await says(page, '.orphans', '3 claimed by a dead worker');
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/playground.png` });
  expect(await violationsOfSite(page)).toEqual([]);
  await slide('durationMs', 50);
  await reaches('completed', 10);
  await says(page, '.sum', '10 enqueued, 0 lost');
  expect(await page.locator('.orphans').count()).toBe(0);
});

it('waits without workers, and goes on with a new one', async () => {
  for (const id of ['worker-1', 'worker-2', 'worker-3']) await press(`Kill ${id}`);
  await press('Enqueue 100');
  await reaches('pending', 100);
  await slide('durationMs', 50);
  await press('Start a worker');
  await slide('concurrency', 10);
  await reaches('completed', 100);
});

it('retries failures until the attempts are used up', async () => {
  await slide('failures', 1);
  await slide('attempts', 2);
  await slide('durationMs', 50);
  await press('Enqueue 1');
  await reaches('scheduled', 1);
  await reaches('failed', 1);
  await says(page, '.sum', '1 enqueued, 0 lost');
});

it('a rate limit holds for all workers together', async () => {
  await slide('durationMs', 50);
  await slide('rate', 1);
  await press('Enqueue 10');
  await reaches('completed', 2);
  expect(await count('pending')).toBeGreaterThan(4);
});

it('no other page loads its code, and none anything of another host', async () => {
  const scripts: string[] = [];
  const other = await openAny('about:blank');
  other.on('request', (request) => scripts.push(request.url()));
  await other.goto(`${url}/limits`, { waitUntil: 'networkidle' });
  await other.context().close();
  expect(scripts.length).toBeGreaterThan(3);
  expect(scripts.filter((script) => script.includes('/Playground.') || !script.startsWith(url))).toEqual([]);
});
