import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JobQueue } from 'nest-job-queue';
import type { Route } from 'playwright-core';
import { PHONE, violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld, type Platform } from '../../support/browser/dashboard-world.js';
import { pictureOf, stillOf } from '../../support/browser/pictures.js';
import { patiently, sleep } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

async function open(hash: string): Promise<void> {
  await page.goto(`${world.url}#${hash}`);
}

/** Replies later than from one reading of the queues to the next. */
async function continueLate(route: Route): Promise<void> {
  await sleep(3_000);
  await route.continue();
}

describe.each<Platform>(['express', 'fastify'])('every page, on %s', (platform) => {
  beforeAll(async () => {
    world = await startWorld({}, platform);
    await world.fill();
    await patiently(async () => (await world.jobs.queue('webhook').stats()).failed === 18, { timeoutMs: 30_000 });
    await patiently(async () => (await world.jobs.queue('thumbnail').stats()).completed === 40);
    await world.remember('thumbnail', 'webhook', 'email');
    page = await openPage(world.url);
  }, 120_000);

  beforeEach(() => page.goto(`${world.url}#/`));
  afterEach(() => expect(page.complaints).toEqual([]));

  /** Takes a picture on one platform only, because every page looks the same on both. */
  async function picture(name: string): Promise<void> {
    if (platform === 'express') await pictureOf(page, name);
  }

  async function still(name: string, height: number, width = 1360): Promise<void> {
    if (platform === 'express') await stillOf(page, name, { width, height });
  }

  it('the overview begins with the problem, and shows each queue', async () => {
    await says(page, 'h1', '`email` is stuck'.replaceAll('`', ''));
    await says(page, 'tr[data-queue=email]', '120');
    await says(page, 'tr[data-queue=archive]', 'paused');
    await says(page, 'tr[data-queue=webhook]', '18');
    await says(page, '.lane', 'video');
    await says(page, '.card', 'The sea');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('overview');
    await still('overview', 540);
    await still('phone', PHONE.height, PHONE.width);
  });

  it('a queue has tabs by state, dead letters by error, and a list', async () => {
    await page.locator('tr[data-queue=webhook] a.row-link').click();
    await says(page, '.tabs a[aria-current]', 'Dead letters 18');
    await says(page, '.groups li', '502 Bad Gateway');
    expect(await page.locator('.groups li').count()).toBe(3);
    await says(page, '.job-row', 'webhook');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('queue-dead');
    await still('queue', 900);
    await page.locator('.groups a', { hasText: 'ECONNREFUSED' }).click();
    await says(page, '.list-head', '6 matches; searched 18 of 18');
    await picture('queue-group');
  });

  it('a job shows its way, its attempts, why it failed, payload and log', async () => {
    await open('/queue/webhook?state=failed');
    await page.locator('.job-row .row-link').first().click();
    await says(page, '.state-line', /failed .*attempt 3/);
    expect(await page.locator('.attempt').count()).toBe(3);
    await says(page, '.part', 'Why it failed');
    await says(page, '.tree', 'https://shop.example/hook');
    await says(page, '.log', 'Sends order');
    await page.getByTitle('Copy: Payload').click();
    await says(page, '[title="Copy: Payload"][data-copied]', 'Copy');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('job-failed');
    await page.getByRole('button', { name: 'Redrive as a new job' }).click();
    await says(page, '.ties', 'Redriven as the job');
    await page.locator('.ties a').last().click();
    await says(page, '.ties', 'Redrives the dead letter');
    await picture('job-redriven');
  });

  it.each(['1', '24', '72'])('the charts show %s h, with marks and a table', async (hours) => {
    await open(`/queue/webhook?view=charts&hours=${hours}`);
    await says(page, '.ranges a[aria-current]', `${hours} h`);
    await says(page, 'figcaption', 'Jobs per second');
    expect(await page.locator('.plot canvas').count()).toBe(4);
    await says(page, '.marks', 'version 1.5.0');
    await page.locator('.chart-table summary').first().click();
    expect(await page.locator('.chart-table tbody tr').count()).toBeGreaterThan(50);
    expect(await violationsInEveryLook(page)).toEqual([]);
    await page.locator('.chart-table summary').first().click();
    await picture(`charts-${hours}`);
    if (hours === '24') await still('charts', 900);
  });

  it('limits are set in a dialog, and said in words', async () => {
    await open('/queue/email');
    await page.getByRole('button', { name: 'Limits' }).click();
    await page.getByLabel('Jobs at once').fill('5');
    await page.getByLabel('Starts').fill('100');
    await page.getByLabel('per seconds').fill('60');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('limits');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await says(page, '.toast', 'The limits of email are set');
    await says(page, '.figures', 'at most 5 run at once, 100 start in 1 min');
    await page.getByRole('button', { name: 'Limits' }).click();
    await page.getByRole('button', { name: 'Clear what was set here' }).click();
    await says(page, '.toast', 'those of its configuration');
  });

  it('a pause has a reason and an end', async () => {
    await open('/queue/thumbnail');
    await page.getByRole('button', { name: 'Pause the queue' }).click();
    await page.getByLabel('For 2 hours').check();
    await page.getByLabel('Why?').fill('the provider is down');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('pause');
    await page.getByRole('button', { name: 'Pause for 2 hours' }).click();
    await says(page, '.verdict-line', 'the provider is down');
    await says(page, '.verdict-line', 'It resumes by itself at');
    await page.getByRole('button', { name: 'Resume the queue' }).click();
    await says(page, 'dialog', /Paused .*: “the provider is down”\. No job waits\./);
    expect(await page.locator('dialog input').count()).toBe(0);
    await page.locator('dialog').getByRole('button', { name: 'Resume', exact: true }).click();
    await says(page, '.toast', 'thumbnail hands out jobs again.');
  });

  it('a resume says how many jobs start, and can start a few first', async () => {
    await world.jobs.pause('email', { by: 'ada', reason: 'wrong template in the order mails' });
    await open('/queue/email');
    await page.getByRole('button', { name: 'Resume the queue' }).click();
    await says(page, 'dialog', /Paused by ada .*: “wrong template in the order mails”\. 120 jobs will start\./);
    await page.getByLabel('Start only 10 jobs').check();
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('resume');
    await page.getByRole('button', { name: 'Start 10 jobs' }).click();
    await says(page, '.toast', 'email starts 10 jobs.');
    const email = world.jobs.queue('email');
    expect((await email.limits.get()).source).not.toBe('none');
    await email.limits.clear();
  });

  it('a running job is live', async () => {
    await open('/queue/video?state=processing');
    await page.locator('.job-row .row-link').first().click();
    await says(page, '.state-line', 'processing');
    await says(page, '.part', '65');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('job-running');
  });

  it('recurring jobs are said in words and in their time zone', async () => {
    await open('/recurring');
    await says(page, '.schedule', 'Every day at 03:00 in Europe/Berlin');
    await says(page, '.schedule .times', /\w{3} \d+ \w{3}, 03:00 in/);
    await page.getByRole('button', { name: /^Pause / }).click();
    await page.getByRole('button', { name: 'Pause the schedule' }).click();
    await says(page, '.schedule', 'paused');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('recurring');
    await page.getByRole('button', { name: /^Resume / }).click();
    await says(page, '.toast', 'continues');
  });

  it('workers are shown with the jobs that they run', async () => {
    await open('/workers');
    await says(page, 'h1', '1 worker, 2 jobs running');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('workers');
  });

  it('a limit that queues share is shown, paused with a reason, and resumed', async () => {
    const [email, archive] = ['email', 'archive'].map((name) => world.jobs.queue(name)) as [JobQueue, JobQueue];
    for (const queue of [email, archive]) {
      const details = { host: 'host', pid: 1, slots: 5, limits: ['openai'] };
      await queue.exec((calls) => calls.workers.register({ worker: 'host:1:w', serves: true }));
      await queue.exec((calls) => calls.workers.describe({ worker: 'host:1:w', details, ageMs: 0 }));
    }
    const values = { maxRunning: 20, rateLimit: { limit: 500, periodMs: 60_000, burst: 20 } };
    await email.exec((calls) => calls.sharedLimits.declare({ limit: 'openai', values }));
    const lease = { limit: 'openai', worker: 'host:1:w', token: 't', count: 3, lifeMs: 60_000, declares: true };
    await email.exec((calls) => calls.sharedLimits.lease(lease));
    await page.getByRole('link', { name: 'Limits', exact: true }).click();
    await says(page, '.worker', '3 of 20');
    await says(page, '.worker', 'email 3 on 1 worker');
    await page.getByRole('button', { name: 'Pause the limit openai' }).click();
    await page.getByLabel('Why?').fill('new key');
    await page.locator('dialog[open]').getByRole('button', { name: 'Pause', exact: true }).click();
    await says(page, '.worker', 'new key');
    await email.exec((calls) => calls.sharedLimits.noteKeys({ limit: 'openai', used: ['acme', 'bolt'] }));
    await page.getByRole('button', { name: 'Values of the limit openai of acme' }).click();
    await page.getByLabel('Jobs at once').fill('50');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await says(page, 'tr', '0 of 50');
    await page.getByRole('button', { name: 'Pause the limit openai of bolt' }).click();
    await page.getByLabel('Why?').fill('they asked');
    await page.locator('dialog[open]').getByRole('button', { name: 'Pause', exact: true }).click();
    await says(page, 'tr', 'they asked');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('shared-limits');
    await page.getByRole('button', { name: 'Values of the limit openai', exact: true }).click();
    await page.getByLabel('Jobs at once').fill('7');
    await page.getByRole('button', { name: 'Set the limits' }).click();
    await says(page, '.worker', '3 of 7');
    await page.getByRole('button', { name: 'Resume the limit openai', exact: true }).click();
    await page.locator('dialog[open]').getByRole('button', { name: 'Resume' }).click();
    await says(page, '.toast', 'The limit openai continues.');
    for (const queue of [email, archive]) {
      await queue.exec((calls) => calls.workers.describe({ worker: 'host:1:w', details: undefined, ageMs: 0 }));
      await queue.exec((calls) => calls.workers.register({ worker: 'host:1:w', serves: false }));
    }
  });

  it('the profile of the next job is asked for in a dialog, and downloaded', async () => {
    const email = world.jobs.queue('email');
    await open('/queue/email');
    await page.getByRole('button', { name: 'Profile' }).click();
    await page.getByRole('button', { name: 'Measure time' }).click();
    await says(page, '.toast', 'no worker serves the queue');
    const worker = 'host:1:p';
    await email.exec((calls) => calls.workers.register({ worker, serves: true }));
    await page.getByRole('button', { name: 'Measure time' }).click();
    await says(page, 'dialog[open]', 'Workers learn of it within 20 s');
    expect(await page.getByRole('button', { name: 'Measure memory' }).isDisabled()).toBe(true);
    const { id } = (await email.profiles.get())!;
    await email.exec((calls) => calls.profiles.take({ id, worker, job: 'j-1', attempt: 2, mostMs: 60_000 }));
    await says(page, 'dialog[open]', 'Job j-1 is measured.');
    const content = gzipSync('{"nodes":[]}').toString('base64');
    await email.exec((calls) => calls.profiles.store({ id, worker, content }));
    await says(page, 'dialog[open]', 'Job j-1, attempt 2');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('profile');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    expect((await download).suggestedFilename()).toBe('email.cpuprofile');
    expect(readFileSync(await (await download).path(), 'utf8')).toBe('{"nodes":[]}');
    await page.getByRole('button', { name: 'Close' }).click();
    await email.exec((calls) => calls.workers.register({ worker, serves: false }));
  });

  it('the subscriptions of topics are listed, and one whose code is gone is removed', async () => {
    const email = world.jobs.queue('email');
    const handlers = [{ name: 'order.paid/receipts', maxAttempts: 1, maxCrashes: 1 }];
    await email.exec((calls) => calls.workers.register({ worker: 'host:1:t', serves: true, handlers }));
    const subscriptions = [
      { topic: 'order.paid', name: 'receipts', queue: 'email' },
      { topic: 'order.paid', name: 'Statistics.countTheOrdersOfEachDay', queue: 'archive' },
      { topic: 'order.shipped', name: 'letters', queue: 'order.shipped/letters' },
    ];
    await email.exec((calls) => calls.topics.declare({ subscriptions }));
    await page.getByRole('link', { name: 'Topics', exact: true }).click();
    await says(page, 'h1', '2 topics, 3 subscriptions, 2 without a live worker');
    await says(page, 'tr', /receipts.*order.paid.*email.*handled/);
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('topics');
    await page.getByRole('button', { name: 'Remove the subscription Statistics' }).click();
    const sure = page.getByRole('button', { name: 'Remove the subscription', exact: true });
    expect(await sure.isDisabled()).toBe(true);
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('topics-remove');
    await page.getByLabel('Type').fill('Statistics.countTheOrdersOfEachDay');
    await sure.click();
    await says(page, '.toast', 'of order.paid is removed.');
    await says(page, 'h1', '2 topics, 2 subscriptions, one without a live worker');
    expect(await world.jobs.queue('archive').actionLog.latest({ action: 'remove-subscription' })).toHaveLength(1);
    await email.exec((calls) => calls.workers.register({ worker: 'host:1:t', serves: false }));
    for (const { topic, name } of subscriptions) {
      await email.exec((calls) => calls.topics.remove({ topic, name }));
    }
  });

  it('an action asks, is done, and leaves a line in the log', async () => {
    await open('/queue/email?state=scheduled');
    await says(page, '.job-row', 'late');
    await page.locator('.job-row input').nth(0).check();
    await page.locator('.job-row input').nth(1).check();
    await says(page, '.bulk', '2 jobs selected');
    await page.locator('.bulk').getByRole('button', { name: 'Cancel' }).click();
    const sure = page.getByRole('button', { name: 'Cancel 2 jobs' });
    expect(await sure.isDisabled()).toBe(true);
    await picture('confirm');
    await page.getByLabel('Type 2 to continue').fill('2');
    await patiently(() => sure.isEnabled());
    expect(await violationsInEveryLook(page)).toEqual([]);
    await sure.click();
    await says(page, '.toast', '2 jobs cancelled');
    await says(page, '.bulk', 'All 6');
    await page.locator('.bulk').getByRole('button', { name: 'Promote all' }).click();
    await page.getByRole('button', { name: /^Promote 6/ }).click();
    await says(page, '.run', '6 promoted');
    expect((await world.jobs.queue('email').stats()).scheduled).toBe(0);
    await picture('run');
    await open('/log');
    await says(page, '.actions', '2 chosen scheduled jobs');
    await says(page, '.actions', 'all scheduled jobs');
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('log');
  });

  it('empty lists and missing jobs have words', async () => {
    await open('/queue/archive?state=failed');
    await says(page, '.notice', 'No dead letters');
    await picture('empty');
    await open('/job/archive/nobody');
    await says(page, '.notice', 'There is no record of this job now.');
    await picture('job-gone');
    await open('/queue/nothing');
    await says(page, '.notice', 'There is no such queue');
    await open('/elsewhere');
    await says(page, '.notice', 'There is no such page');
  });

  it('a job that goes while somebody looks stays to be read, without actions', async () => {
    const { id } = await world.jobs.enqueue('email', { to: 'leaving@example.com' }, { delayMs: 3_600_000 });
    await open(`/job/email/${id}`);
    await says(page, '.job-actions', 'Cancel');
    await world.jobs.queue('email').remove(id);
    await says(page, '.notice', 'This job is gone meanwhile. What you see was its last state.');
    await says(page, '.tree', 'leaving@example.com');
    expect(await page.locator('.job-actions, .why').count()).toBe(0);
    expect(await violationsInEveryLook(page)).toEqual([]);
    await picture('job-gone-meanwhile');
  });

  it('shows that it loads, and a late answer also after a reading of the queues', async () => {
    const [job] = await world.jobs.queue('email').list('pending', { limit: 1 });
    await page.route('**/api/job?*', continueLate);
    await open(`/job/email/${job!.id}`);
    await says(page, '.notice', 'Loading the job');
    await picture('job-loading');
    await says(page, '.tree', 'ada');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('is found and walked by keys', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('no-such-id');
    await page.keyboard.press('Enter');
    await says(page, '.notice', 'No job matches');
    await page.locator('h1').first().click();
    await page.keyboard.press('?');
    await says(page, 'dialog', 'Previous and next queue');
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await says(page, 'h1', 'worker');
    await open('/queue/webhook?state=failed');
    await says(page, '.job-row', 'webhook');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await says(page, '.bulk', '1 job selected');
    await page.keyboard.press('Enter');
    await says(page, '.state-line', 'failed');
  });
});
