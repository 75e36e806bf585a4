// The repair of the README's film: from the overview to a kind of error, its redrive, and the completed jobs.
import { beforeAll, expect, it } from '@jest/globals';
import { openPage, says, startShop, type ControlPage, type RunningShop } from '../../support/browser/browser.js';
import { filmOf } from '../../support/browser/pictures.js';
import { patiently, sleep } from '../../support/faults/wait.js';

/** The seeded payments that the provider refused. */
const REFUSED = 20;

let shop: RunningShop;
let page: ControlPage;

beforeAll(async () => {
  shop = await startShop(['--workers', '0', '--seeds']);
  page = await openPage(shop.link, { viewport: { width: 1280, height: 800 } });
  await page.goto(`${shop.url}/queues`);
  await patiently(async () => (await refused()) >= REFUSED, { timeoutMs: 60_000 });
  await page.goto(`${shop.url}/queues#/`);
}, 240_000);

/** Returns the number of dead letters of the provider's error. */
async function refused(): Promise<number> {
  const answer = await page.request.get(`${shop.url}/queues/api/errors?queue=payment`);
  const { groups } = (await answer.json()) as { groups: { sample: string; count: number }[] };
  return groups.find(({ sample }) => sample.includes('502'))?.count ?? 0;
}

/** Leaves a viewer of the film the time to read. */
async function read(): Promise<void> {
  if (process.env.SCREENSHOTS) await sleep(1_500);
}

it('a kind of error is chosen and redriven, and its jobs complete', async () => {
  const film = await filmOf(page, 'dashboard-repair');
  await says(page, 'tr[data-queue=payment]', 'payment');
  await read();
  await page.locator('tr[data-queue=payment] a.row-link').click();
  await page.locator('.tabs a', { hasText: 'Dead letters' }).click();
  await says(page, '.groups li', '502 Bad Gateway');
  await read();
  await page.locator('.groups a', { hasText: '502 Bad Gateway' }).click();
  await says(page, '.bulk', 'that died of');
  await read();
  await page.getByRole('button', { name: 'Redrive all' }).click();
  await page.getByLabel('All at once').check();
  await read();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Redrive/ })
    .click();
  await patiently(async () => (await refused()) < REFUSED / 2, { timeoutMs: 30_000 });
  await read();
  await page.locator('.tabs a', { hasText: 'Completed' }).click();
  await says(page, '.job-row', 'payment');
  await read();
  await film();
  expect(page.complaints).toEqual([]);
});
