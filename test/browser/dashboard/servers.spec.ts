// Several servers in one page: a switch that keeps the page. A server that is away leaves the others alone.
import { beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { serveDashboard } from '#dashboard/serve-dashboard.js';
import { JobQueue } from '#queue/job-queue.js';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says } from '../../support/browser/browser.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { closeFirst, startOwnRedis, type OwnRedis } from '../../support/redis/own-redis.js';

let redis: OwnRedis;
let away: OwnRedis;
let served: Awaited<ReturnType<typeof serveDashboard>>;
const clients: Redis[] = [];

beforeAll(async () => {
  [redis, away] = await Promise.all([startOwnRedis(), startOwnRedis()]);
  const servers = ['eu', 'us', 'asia'].map((name) => {
    const client = new Redis((name === 'asia' ? away : redis).url).on('error', () => undefined);
    clients.push(client);
    const queues = { eu: ['email', 'report'], us: ['email'], asia: ['email'] }[name]!;
    return { name, client, prefix: name, findQueues: () => Promise.resolve(queues) };
  });
  await new JobQueue(clients[0]!, 'email', { prefix: 'eu' }).enqueue({ to: 'ada' }, { id: 'a' });
  const american = new JobQueue(clients[1]!, 'email', { prefix: 'us' });
  await american.enqueue({ to: 'bob' }, { id: 'b', maxAttempts: 1 });
  await american.fail((await american.claim())!, new Error('410 Gone'), { final: true });
  served = await serveDashboard({ servers, host: '127.0.0.1', port: 0, readOnly: true, user: '' });
  closeFirst(async () => {
    await served.close();
    clients.forEach((client) => client.disconnect());
  });
  await away.stop();
}, 60_000);

it('switches to the same page of another server, and marks one that is away', async () => {
  const page = await openPage(served.link);
  const links = page.locator('.servers a');
  await says(page, '.servers a[aria-current]', 'eu');
  await page.locator('.server-away').waitFor();
  expect(await links.allInnerTexts()).toEqual(['eu', 'us', expect.stringMatching(/^\?\s*asia$/)]);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'servers');
  await page.goto(`${page.url().split('#')[0]}#/queue/email?state=failed`);
  await links.nth(1).click();
  await says(page, '.servers a[aria-current]', 'us');
  await page.locator('.job-row[data-job=b]').waitFor();
  expect(new URL(page.url())).toMatchObject({ pathname: '/queues/us', hash: '#/queue/email?state=failed' });
  expect(await page.title()).toBe('email · us · Queues');
  await page.goto(`${page.url().split('#')[0]}#/job/email/b`);
  expect(await links.first().getAttribute('href')).toMatch(/\/queues\/eu#\/queue\/email$/);
}, 180_000);
