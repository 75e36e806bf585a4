// An action on all takes the jobs that the field, the chips and the question name. Large deletions are counted first.
import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Locator, Route } from 'playwright-core';
import { violationsInEveryLook } from '../../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../../support/browser/dashboard-world.js';
import { pictureOf } from '../../../support/browser/pictures.js';
import { eventually, patiently } from '../../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'express');
  await world.fill();
  await patiently(async () => (await world.jobs.queue('webhook').stats()).failed === 18, { timeoutMs: 30_000 });
  page = await openPage(world.url);
}, 120_000);
beforeEach(async () => {
  await page.goto(`${world.url}#/`);
  await page.goto(`${world.url}#/queue/webhook?state=failed`);
});
afterEach(() => expect(page.complaints).toEqual([]));

const field = (): Locator => page.locator('#queue-search');

it('the field and the chips show each filter of the list', async () => {
  await says(page, '.bulk-what', 'All 18 dead letters of webhook');
  await field().fill('502');
  await field().press('Enter');
  await says(page, '.bulk-what', /All \d+ dead letters of webhook with “502” ✕/);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'queue-restricted');
  await page.locator('.groups a', { hasText: 'ECONNREFUSED' }).click();
  await says(page, '.bulk-what', /All 6 dead letters of webhook that died of “.*ECONNREFUSED.*” ✕/);
  expect(await field().inputValue()).toBe('');
  await page.locator('.chip-restriction').click();
  await says(page, '.bulk-what', 'All 18 dead letters of webhook');
});

it('a text that is typed and left restricts the list', async () => {
  await field().fill('ECONNREFUSED');
  await page.locator('h1').click();
  await says(page, '.bulk-what', 'All 6 dead letters of webhook with “ECONNREFUSED”');
  await page.locator('.tabs a', { hasText: 'Completed' }).click();
  await eventually(async () => (await field().inputValue()) === '');
});

it('a deletion of an unknown number is counted first, and the number typed', async () => {
  let hold = true;
  const later: Route[] = [];
  await page.route('**/api/search?*', (route) => (hold ? void later.push(route) : route.continue()));
  await field().fill('ECONNREFUSED');
  await field().press('Enter');
  await says(page, '.bulk-what', 'All dead letters of webhook with “ECONNREFUSED”');
  await page.locator('.bulk button', { hasText: 'Discard all' }).click();
  await says(page, 'dialog h2', 'Discard 6 dead letters of webhook with “ECONNREFUSED”?');
  const sure = page.locator('dialog button.danger');
  expect(await sure.isDisabled()).toBe(true);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await page.locator('dialog input').fill('5');
  expect(await sure.isDisabled()).toBe(true);
  await page.locator('dialog input').fill('6');
  expect(await sure.isDisabled()).toBe(false);
  await page.locator('dialog button', { hasText: 'Keep as it is' }).click();
  hold = false;
  await Promise.all(later.map((route) => route.continue().catch(() => undefined)));
  await page.unroute('**/api/search?*');
});

it('without the number the name of the queue is typed', async () => {
  const held: Route[] = [];
  await page.route('**/api/search?*', (route) => void held.push(route));
  await page.route('**/api/search/count?*', (route) => void held.push(route));
  await field().fill('ECONNREFUSED');
  await field().press('Enter');
  await page.locator('.bulk button', { hasText: 'Discard all' }).click();
  await says(page, 'dialog h2', 'Counting dead letters of webhook with “ECONNREFUSED”');
  await page.locator('dialog button', { hasText: 'Go on without the number' }).click();
  await page.locator('dialog input').fill('6');
  expect(await page.locator('dialog button.danger').isDisabled()).toBe(true);
  await page.locator('dialog input').fill('webhook');
  expect(await page.locator('dialog button.danger').isDisabled()).toBe(false);
  await page.locator('dialog button', { hasText: 'Keep as it is' }).click();
  await Promise.all(held.map((route) => route.continue().catch(() => undefined)));
  await page.unroute('**/api/search**');
});

it('a redrive of many begins with ten', async () => {
  await page.locator('.bulk button', { hasText: 'Redrive all' }).click();
  await says(page, 'dialog h2', 'Redrive 18 dead letters of webhook?');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'redrive-pace');
  const { totals: before } = await world.jobs.queue('webhook').stats();
  await page.locator('dialog button', { hasText: 'Redrive the first 10' }).click();
  await patiently(async () => {
    const { totals } = await world.jobs.queue('webhook').stats();
    return (totals['redriven'] ?? 0) - (before['redriven'] ?? 0) === 10;
  });
  await says(page, '.runs', '10 redriven');
});

it.each([1360, 760, 390])('the panel of runs is above the bar of actions in a window of %i px', async (width) => {
  await page.setViewportSize({ width, height: 800 });
  const more = page.locator('.bulk-more');
  if (await more.isVisible()) await more.click();
  await patiently(async () => {
    const [panel, bar] = [await page.locator('.runs').boundingBox(), await page.locator('.bulk').boundingBox()];
    return panel!.y + panel!.height <= bar!.y && panel!.y + panel!.height > bar!.y - 24;
  });
});
