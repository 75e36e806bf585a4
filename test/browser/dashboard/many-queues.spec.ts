// The overview of 500 queues. It has only the rows near the window, and the others once they are scrolled to.
import { beforeAll, expect, it } from '@jest/globals';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';

const names = Array.from({ length: 500 }, (_, i) => `of-${String(i).padStart(3, '0')}`);
let page: ControlPage;

beforeAll(async () => {
  const world = await startWorld({ queues: names }, 'express', { worker: false, maintenance: false });
  await world.remember(...names.slice(0, 20));
  page = await openPage(`${world.url}#/`);
  await says(page, '.queues', 'of-000');
}, 120_000);

const nodes = () => page.evaluate<number>(`document.querySelectorAll('*').length`);
const last = () => page.locator('tr[data-queue]').last().getAttribute('data-queue');

it.each([1440, 390])(
  'has fewer than 2,500 nodes at %i px, and each queue when it is scrolled to',
  async (width) => {
    await page.setViewportSize({ width, height: 900 });
    await page.evaluate('scrollTo(0, 0)');
    await says(page, 'tr[data-queue=of-000]', 'of-000');
    expect(await nodes()).toBeLessThan(2_500);
    await pictureOf(page, `many-queues-${width}`);
    await page.evaluate('scrollTo(0, document.body.scrollHeight / 2)');
    await says(page, 'tr[data-queue=of-250]', 'of-250');
    expect(await nodes()).toBeLessThan(2_500);
    await page.locator('.workers-strip').scrollIntoViewIfNeeded();
    await says(page, 'tr[data-queue=webhook]', 'webhook');
    expect(await nodes()).toBeLessThan(2_500);
    expect(page.complaints).toEqual([]);
  },
);

it('finds a queue far down by its name', async () => {
  await page.getByLabel('Filter the queues by name').fill('of-499');
  await says(page, 'tr[data-queue=of-499]', 'of-499');
  expect(await last()).toBe('of-499');
});
