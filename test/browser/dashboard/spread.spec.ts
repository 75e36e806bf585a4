// A queue with shards: one row with the sums, and a row for each shard behind its chevron.
import { afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { DEFAULT_CONNECTION, partToken } from '#nest/connection/connection-tokens.js';
import type { QueueRegistry } from '#nest/connection/queue-registry.js';
import { shardNames } from '#queue/model/spread.js';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { patiently } from '../../support/faults/wait.js';

const NAMES = shardNames('ingest', 4);
let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({ queues: ['email'] }, 'express', { queues: { ingest: { spread: 4 } } });
  await world.fill();
  const jobs = Array.from({ length: 12 }, (_, i) => ({ payload: { sensor: i }, group: `sensor-${i}` }));
  await world.jobs.enqueueMany('ingest', jobs);
  await world.jobs.pause('ingest'); // so that the rows stand still
  page = await openPage(world.url);
  await page.setViewportSize({ width: 1360, height: 900 });
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

const rows = () =>
  page.locator('tr[data-queue^=ingest]').evaluateAll((all) => all.map((row) => row.getAttribute('data-queue')));

it('opens and closes the rows of the shards by the keyboard, and keeps them open on the way back', async () => {
  await page.goto(`${world.url}#/`);
  const chevron = page.getByRole('button', { name: 'ingest' });
  await patiently(async () => (await chevron.getAttribute('aria-expanded')) === 'false');
  expect(await rows()).toEqual(['ingest']);
  await says(page, 'tr[data-queue=ingest] td[data-label=Waiting]', '12');
  await pictureOf(page, 'spread-closed');
  await chevron.focus();
  await page.keyboard.press('Enter');
  await patiently(async () => (await rows()).length === 5);
  expect(await chevron.getAttribute('aria-expanded')).toBe('true');
  expect(new Set((await rows()).slice(1))).toEqual(new Set(NAMES));
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'spread-open');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await says(page, 'h1', 'ingest');
  await says(page, '.page-head', 'One of the 4 shards of ingest. An action here leaves the others alone.');
  await page.goBack();
  await patiently(async () => (await rows()).length === 5);
  await chevron.focus();
  await page.keyboard.press(' ');
  await patiently(async () => (await rows()).length === 1);
}, 60_000);

it('has a page of all shards, which searches the jobs of all and leads to each', async () => {
  await page.goto(`${world.url}#/`);
  await page.getByRole('link', { name: 'All 4 shards of ingest' }).click();
  await says(page, 'h1', 'ingest');
  await says(page, '.page-head', '4 shards.');
  await says(page, '.verdict-line', 'paused');
  await patiently(async () => (await rows()).length === 4);
  expect(new Set(await rows())).toEqual(new Set(NAMES));
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'spread-page');
  await page.locator('.tabs a[data-state=pending]').click();
  await says(page, 'h1', 'Search all queues');
  await says(page, 'main', '12 matches');
  await page.goBack();
  await page.locator(`tr[data-queue="${NAMES[2]!}"] a.row-link`).click();
  await says(page, '.page-head', 'One of the 4 shards of ingest');
  await page.locator('.page-head').getByRole('link', { name: 'ingest', exact: true }).click();
  await says(page, '.page-head', '4 shards.');
  await page.goto(`${world.url}#/spread/email`);
  await says(page, 'main', 'No queue with shards is called email here.');
  await page.mouse.move(0, 0); // rows below the pointer stand still
}, 60_000);

it('keeps the focus of the keyboard in its row, although another row gets worse', async () => {
  await page.goto(`${world.url}#/`);
  const chevron = page.getByRole('button', { name: 'ingest' });
  await chevron.waitFor();
  const names = () =>
    page.locator('tr[data-queue]').evaluateAll((all) => all.map((row) => row.getAttribute('data-queue')));
  const before = await names();
  await page.keyboard.press('Tab');
  await chevron.focus();
  await world.jobs.resume('ingest'); // no worker takes its jobs
  await says(page, 'tr[data-queue=ingest]', 'no worker');
  expect(await names()).toEqual(before);
  expect(await page.locator('tr[data-queue=ingest] button:focus').count()).toBe(1);
  await chevron.blur();
  await patiently(async () => (await names()).join() !== before.join());
  await world.jobs.pause('ingest');
}, 60_000);

it('names a shard that gives no reply in the one row', async () => {
  const registry = world.app.get<QueueRegistry>(partToken('queues', DEFAULT_CONNECTION), { strict: false });
  jest.spyOn(registry.requested(NAMES[2]!), 'stats').mockRejectedValue(new Error('no reply'));
  await page.goto(`${world.url}#/?shards=ingest`);
  await says(page, 'tr[data-queue=ingest]', '3 of 4 shards, such as ingest: paused');
  await says(page, 'tr[data-queue=ingest]', `Shard ${NAMES[2]!} is unreadable.`);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'spread-away');
  await page.locator(`tr[data-queue="${NAMES[2]!}"] a`).click();
  await says(page, '.verdict-line', 'unreadable');
}, 60_000);

it('acts on all shards from their page, and says so in its questions', async () => {
  jest.restoreAllMocks();
  await page.goto(`${world.url}#/spread/ingest`);
  const paused = () =>
    Promise.all(world.jobs.shards('ingest').map(async (shard) => (await shard.stats()).pausedAt !== null));
  await page.getByRole('button', { name: 'Resume all shards' }).click();
  await says(page, 'dialog', 'Resume all 4 shards of ingest?');
  await page.locator('dialog').getByRole('button', { name: 'Resume', exact: true }).click();
  await patiently(async () => !(await paused()).includes(true));
  await says(page, 'body', '4 of 4 shards of ingest were resumed.');
  await page.getByRole('button', { name: 'Pause all shards' }).click();
  await says(page, 'dialog', 'Pause all 4 shards of ingest?');
  await page.locator('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await patiently(async () => !(await paused()).includes(false));
  for (const shard of world.jobs.shards('ingest').slice(1, 3)) {
    await shard.resume();
    const [job] = await shard.claimMany(1);
    await shard.fail(job!, new Error('no'), { final: true });
    await shard.pause();
  }
  await page.getByRole('button', { name: 'Redrive all' }).click();
  await says(page, 'dialog', 'Redrive 2 dead letters in all 4 shards of ingest?');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'spread-redrive');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Discard all' }).click();
  await says(page, 'dialog', 'Discard 2 dead letters in all 4 shards of ingest?');
  await page.keyboard.press('Escape');
}, 60_000);
