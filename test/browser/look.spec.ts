import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import sharp from 'sharp';
import { PHONE, violations, violationsInEveryLook } from '../support/browser/axe.js';
import {
  openPage,
  says,
  startShop,
  workersRun,
  type ControlPage,
  type RunningShop,
} from '../support/browser/browser.js';
import { filmOf } from '../support/browser/pictures.js';
import { patiently } from '../support/faults/wait.js';

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));

let shop: RunningShop;
let page: ControlPage;

beforeAll(async () => {
  // As `npm start` has it, where pictures are taken.
  const slow = process.env.SCREENSHOTS ? ['--visibility-ms', '5000', '--reclaim-ms', '1000'] : [];
  shop = await startShop(['--workers', '3', ...slow]);
  const first = await openPage(shop.link);
  await workersRun(first, 3);
  await says(first, '.completed .range', 'of 4', 40_000); // the first jobs, before any fails
  await shop.post('/workers/configure', { fail_rate: '1', work_latency_ms: '100' });
  // A webhook would rest between its attempts.
  await shop.enqueue({ kind: 'invoice', count: '2', recipient: 'grace@example.com' });
  await says(first, '.failed .range', '1 to 2 of 2');
  await shop.post('/workers/configure', { fail_rate: '0' });
  for (const kind of ['email', 'webhook', 'thumbnail', 'invoice']) {
    await shop.enqueue({ kind, count: '2', recipient: 'ada@example.com' });
  }
  await says(first, '.completed .range', 'of 12', 40_000);
  await first.context().close();
}, 240_000);

afterEach(async () => {
  // Nothing that the page's own policy refuses, in none of its views.
  expect(page.complaints).toEqual([]);
  await page.context().close();
});

/** Writes a picture for the README where SCREENSHOTS is set; a test run changes no files. */
async function picture(name: string, animations: 'disabled' | 'allow' = 'disabled') {
  if (!process.env.SCREENSHOTS) return;
  const taken = await page.screenshot({ animations });
  // 64 colours are enough for text and lines, and a quarter of the size.
  await sharp(taken).png({ palette: true, colours: 64, dither: 0 }).toFile(join(IMAGES, name));
}

const openFirst = (list: string, kind: string) =>
  page.locator(`.${list} .rows li`, { hasText: kind }).getByRole('button').first().click();

it('is clean under axe-core in light, in dark and on a phone, and never too wide: at work, with jobs open, with nothing', async () => {
  page = await openPage(shop.link);
  await says(page, '.completed .range', 'of');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await openFirst('failed', 'invoice');
  await says(page, '#job-body .attempt-log li', 'Failed on purpose');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await openFirst('completed', 'invoice');
  await says(page, '#job-body h3', 'What it made');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.locator('#figures summary').click();
  await says(page, '#figures td', /\d/);
  expect(await violationsInEveryLook(page)).toEqual([]);
});

it('on a phone shows the answer to a button in sight of it', async () => {
  // Less motion: what was said fades away after a while, and has no contrast while it does.
  page = await openPage(shop.link, { colorScheme: 'dark', viewport: PHONE, reducedMotion: 'reduce' });
  await says(page, '#done-count', /\d/);
  // The story comes first, and what is below it is folded.
  expect(await page.getByRole('button', { name: 'Reclaim expired claims' }).isVisible()).toBe(false);
  await page.getByText('Enqueue, workers, queue').click();
  await page.getByRole('button', { name: 'Reclaim expired claims' }).click();
  const said = page.locator('#answer', { hasText: 'No claim had expired.' });
  await said.waitFor();
  const { y, height } = (await said.boundingBox())!;
  expect(await page.evaluate('scrollY')).toBeGreaterThan(0);
  expect([y >= 0, y + height <= PHONE.height]).toEqual([true, true]);
  expect(await violations(page)).toEqual([]);
});

it('has controls with a name each', async () => {
  page = await openPage(shop.link);
  const names = (await page.evaluate(`[...document.querySelectorAll('main :is(input, select, button, summary)')]
    .filter((node) => !node.closest('.rows, .story, .job'))
    .map((node) => node.ariaLabel ?? node.labels?.[0]?.textContent ?? node.textContent)`)) as string[];
  expect(names).toEqual(expect.arrayContaining(['How many jobs', 'How many processes', 'Kill worker-1']));
  expect(names.filter((name, i) => name.trim() === '' || names.indexOf(name) !== i)).toEqual([]);
});

it('is used by keyboard: sliders by arrows, a row by Enter, closed by Escape, with the focus back on the row', async () => {
  page = await openPage(shop.link);
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.className')).toBe('skip');
  await page.getByLabel('Fails').focus();
  await page.keyboard.press('ArrowRight');
  await patiently(async () => {
    const stats = (await (await fetch(`${shop.url}/stats`)).json()) as { fail_rate: number };
    return stats.fail_rate === 0.05;
  });
  await page.keyboard.press('ArrowLeft');
  const row = page.locator('.completed .open').first();
  await row.focus();
  await page.keyboard.press('Enter');
  await says(page, '#job-title', /\w/);
  await page.keyboard.press('Escape');
  await page.locator('#job').waitFor({ state: 'hidden' });
  // Snapshots came meanwhile; they must not take the focus away.
  expect(await row.evaluate((node) => node === node.ownerDocument.activeElement)).toBe(true);
});

it('is not too wide either while a chart is still as wide as before the window shrank', async () => {
  page = await openPage(shop.link, { viewport: PHONE });
  await page.getByText('What happens').click();
  await page.locator('#depths .uplot').waitFor();
  const widest = await page.evaluate(`(() => {
    document.querySelector('#depths .uplot').style.width = '1200px';
    return document.documentElement.scrollWidth;
  })()`);
  expect(widest).toBe(PHONE.width);
});

it('tells the story of a crash on a phone, as on the first page of the site', async () => {
  page = await openPage(shop.link, { viewport: { width: 390, height: 720 }, deviceScaleFactor: 1.5 });
  await shop.post('/workers/configure', { work_latency_ms: '1000', fail_rate: '0' });
  const film = await filmOf(page, 'control-page-crash-phone', 585);
  await page.getByRole('button', { name: 'Crash a worker and watch' }).click();
  await says(page, '#crash-steps .told', 'Completed. Nothing was lost.', 40_000);
  await film();
}, 240_000);

it('looks as in the README', async () => {
  page = await openPage(shop.link, { viewport: { width: 1280, height: 800 } });
  await shop.post('/workers/configure', { work_latency_ms: '1000', fail_rate: '0' });
  const film = await filmOf(page, 'control-page-crash');
  await page.getByRole('button', { name: 'Crash a worker and watch' }).click();
  await shop.enqueue({ kind: 'thumbnail', count: '6', recipient: 'ada@example.com' });
  await page.locator('#workers > [data-state=dead]').waitFor({ timeout: 40_000 });
  if (process.env.SCREENSHOTS) {
    // The job on its way to another process, by the front of the queue.
    await page.locator('.flying').first().waitFor();
    await page.waitForTimeout(700);
    await picture('control-page.png', 'allow');
  }
  await says(page, '#crash-steps .told', 'Completed. Nothing was lost.', 40_000);
  await film();
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violations(page)).toEqual([]);
  }
  await openFirst('completed', 'thumbnail');
  await says(page, '#job-body h3', 'What it made');
  await patiently(() =>
    page
      .locator('#job img')
      .evaluateAll<boolean, { complete: boolean }>((images) => images.every(({ complete }) => complete)),
  );
  await page.evaluate('scrollTo(0, 0)');
  await picture('control-page-job.png');
});

it('on a phone looks as in the README: broken lane and line of the story', async () => {
  page = await openPage(shop.link, { colorScheme: 'dark', viewport: PHONE });
  await shop.post('/workers/crash');
  await page.locator('#workers > [data-state=dead]').waitFor({ timeout: 40_000 });
  await says(page, '#crash-said', /killed with SIGKILL|at the front of the queue|takes it: attempt 2/);
  if (process.env.SCREENSHOTS)
    await page.evaluate(`scrollTo(0, document.querySelector('#crash-said').offsetTop - 90)`);
  await picture('control-page-phone.png');
  expect(await violations(page)).toEqual([]);
  await says(page, '#crash-steps .told', 'Completed. Nothing was lost.', 40_000);
});

it('moves nothing where the user prefers less motion', async () => {
  page = await openPage(shop.link, { reducedMotion: 'reduce' });
  await page.evaluate(`window.moves = 0; Element.prototype.animate = () => {
    window.moves += 1;
    return { finished: Promise.resolve() };
  };`);
  const [id] = await shop.enqueue({ kind: 'invoice' });
  await page.locator(`#done .job[data-job="${id!}"]`).waitFor();
  expect(await page.evaluate('window.moves')).toBe(0);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  const [other] = await shop.enqueue({ kind: 'invoice' });
  await page.locator(`#done .job[data-job="${other!}"]`).waitFor();
  expect(await page.evaluate('window.moves')).toBeGreaterThan(0);
});

it('is used by keyboard alone: Enqueue, Kill and Reset are reached by Tab', async () => {
  page = await openPage(shop.link);
  await workersRun(page, 3);
  await tabTo('Kill worker-1');
  await page.keyboard.press('Enter');
  await says(page, '#answer', 'worker-1 is killed.');
  await tabTo('Enqueue');
  await page.keyboard.press('Enter');
  await says(page, '#answer', '20 jobs enqueued.');
  await tabTo('Reset');
  await page.keyboard.press('Space');
  await tabTo('Delete and stop');
  await page.keyboard.press('Enter');
  await says(page, '#answer', 'All jobs are deleted');
  // An empty shop, with an answer in sight.
  await page.locator('#no-workers').waitFor();
  expect(await violationsInEveryLook(page)).toEqual([]);
});

async function tabTo(name: string) {
  const button = page.getByRole('button', { name });
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    if (await button.evaluate((node) => node === node.ownerDocument.activeElement)) return;
  }
  throw new Error(`Tab does not reach ${name}.`);
}
