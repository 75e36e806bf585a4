// A queue that cannot be read has a row and a page with its verdict, beside queues with their figures.
import { expect, it } from '@jest/globals';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says } from '../../support/browser/browser.js';
import { startWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { connect } from '../../support/redis/redis.js';

it('shows an unreadable queue on the overview and on its page', async () => {
  const world = await startWorld({ queues: ['newer', 'email'] });
  await connect({}, world.redis.url).hset('queue:newer:sweep', 'layout', 9);
  await world.jobs.queue('email').enqueue({ to: 'ada@example.com' });
  const page = await openPage(world.url);
  await says(page, 'tr[data-queue=newer]', 'unreadable: its keys have layout 9');
  await says(page, 'tr[data-queue=email]', '1');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'unreadable-overview');
  await page.locator('tr[data-queue=newer] a').click();
  await says(page, '.verdict-line', 'Upgrade nest-job-queue here.');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'unreadable-queue');
  expect(page.complaints).toEqual([]);
}, 120_000);
