import { beforeAll, expect, it } from '@jest/globals';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';

let world: DashboardWorld;
let pages: ControlPage[];

beforeAll(async () => {
  world = await startWorld();
  await world.fill();
  pages = await Promise.all(Array.from({ length: 5 }, () => openPage(world.url)));
  await pages[1]!.goto(`${world.url}#/queue/email?state=pending`);
  await pages[2]!.goto(`${world.url}#/workers`);
  await pages[3]!.goto(`${world.url}#/recurring`);
  await pages[4]!.goto(`${world.url}#/queue/video?view=groups`);
  await says(pages[1]!, '.job-row', 'ada0@example.com');
  await says(pages[3]!, 'body', 'Run now');
  await says(pages[4]!, 'body', 'studio-a');
}, 120_000);

/** Notes each sign of the connection from now on. */
const NOTE_SIGNS = `
  const sign = document.querySelector('#connection');
  window.signs = [sign.textContent];
  new MutationObserver(() => signs.push(sign.textContent)).observe(sign, { childList: true, characterData: true, subtree: true });`;

it('shows on every page that Redis is away, keeps the page, and continues afterwards', async () => {
  await world.redis.kill('SIGKILL');
  for (const page of pages) {
    await says(page, '.banner', 'Redis is away');
    await says(page, '#connection', 'Redis is away');
  }
  await says(pages[0]!, 'tr[data-queue=email]', '120');
  await says(pages[1]!, '.job-row', 'ada0@example.com');
  expect(await violationsInEveryLook(pages[0]!)).toEqual([]);
  await pictureOf(pages[0]!, 'away-overview');
  await pictureOf(pages[1]!, 'away-queue');
  expect(await pages[1]!.getByRole('button', { name: 'Pause the queue' }).isDisabled()).toBe(true);
  expect(await pages[3]!.getByRole('button', { name: /^Run now/ }).isDisabled()).toBe(true);
  expect(await pages[4]!.getByRole('button', { name: /^Pause the group studio-a/ }).isDisabled()).toBe(true);
  expect(
    await pages[4]!
      .getByRole('button', { name: /^Limits/ })
      .evaluateAll((all) => all.map((each) => each.matches(':disabled'))),
  ).toEqual([true, true, true]);
  // The server ends a stream after its time, which is no sign of the app.
  await pages[0]!.evaluate(NOTE_SIGNS);
  for (let stream = 0; stream < 3; stream++) await pages[0]!.waitForRequest(/api\/stream/, { timeout: 30_000 });
  expect(new Set(await pages[0]!.evaluate<string[]>('signs'))).toEqual(new Set(['Redis is away']));
  const opened = await openPage(`${world.url}#/job/email/any`).catch(() => undefined);
  await opened?.close();
  await world.redis.restart();
  for (const page of pages) {
    await says(page, '#connection', 'live', 30_000);
    await page.locator('.banner').waitFor({ state: 'detached' });
  }
  await says(pages[0]!, 'tr[data-queue=email]', '120');
}, 120_000);

it('continues by itself when the app was stopped and started again', async () => {
  await world.stop();
  await says(pages[0]!, '#connection', 'not connected');
  await says(pages[0]!, '.banner', 'The app does not answer');
  await pictureOf(pages[0]!, 'lost-overview');
  expect(await violationsInEveryLook(pages[0]!)).toEqual([]);
  await world.start();
  await says(pages[0]!, '#connection', 'live', 30_000);
  await says(pages[0]!, 'tr[data-queue=email]', '120');
}, 120_000);
