// What a job belongs to: its batch, its group, its schedule, the jobs before and after it.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { redisAccess } from 'nest-job-queue';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { patiently } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'fastify');
  await world.fill();
  const printed = world.jobs.queue('book').findBatch('printed-book');
  await patiently(async () => (await printed.status()).state === 'ended');
  await patiently(async () => (await world.jobs.queue('video').stats()).processing === 2);
  page = await openPage(world.url);
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

async function open(hash: string): Promise<void> {
  await page.goto(`${world.url}#${hash}`);
}

it('a queue links its batches, and a batch its jobs and follow-up', async () => {
  await open('/queue/book');
  await page.locator('.tabs a', { hasText: 'Batches' }).click();
  await says(page, '.batches', 'next-book');
  await says(page, '.batches', 'It waits for its jobs: 5 of 5 jobs have not ended.');
  await says(page, '.list-head', '1 batch ended');
  await says(page, '.batches', /printed-book.*All 5 jobs have ended, and so has what was to follow./s);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'batches');
  await page.locator('.batches a', { hasText: 'next-book' }).click();
  await says(page, 'h1', '5 jobs');
  await says(page, '.part', 'waits for the batch');
  expect(await page.locator('.member .row-link').count()).toBe(5);
  await says(page, '.member', 'page: 1');
  await page.locator('.member .row-link').first().click();
  await says(page, '.ties', 'In the batch');
  await page.locator('.ties a', { hasText: 'next-book' }).click();
  await says(page, 'h1', '5 jobs');
});

it('a batch that ended says how, and leads to its follow-up, which leads back', async () => {
  await open('/batch/book/printed-book');
  await says(page, '.state-line', 'All 5 jobs have ended, and so has what was to follow.');
  await says(page, '.batch-counts', '4 completed');
  await says(page, '.member', 'Page 3 could not be printed');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'batch');
  await page.locator('.part .job-row a.row-link', { hasText: 'bind' }).click();
  await says(page, '.ties', 'Follows the batch');
  await page.locator('.ties a', { hasText: 'printed-book' }).click();
  await says(page, 'h1', '5 jobs');
  await page.locator('.member', { hasText: 'failed' }).locator('a').click();
  await says(page, '.stack .cause', 'The disk is full');
  await says(page, '.stack .cause .cause', 'ENOSPC: no space left on device');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'job-causes');
  await open('/batch/book/never-was');
  await says(page, '.notice', 'This batch is gone.');
  await pictureOf(page, 'batch-gone');
});

it('the last batches that ended are listed, with the command that lists the earlier ones', async () => {
  const queue = world.jobs.queue('email');
  for (let i = 0; i < 21; i++) await queue.batch({ id: `mailing-${i}` }).seal();
  await open('/queue/email?view=batches');
  await says(page, '.list-head', 'The last 20 batches that ended');
  await says(page, '.list-head', 'npx nest-job-queue batches email --ended --limit 1000');
  expect(await page.locator('.batches tbody tr').count()).toBe(20);
});

it('the first batches at work are listed, with the command that lists the next ones', async () => {
  const queue = world.jobs.queue('video');
  for (let i = 0; i < 101; i++)
    await queue.batch({ id: `film-${i}` }).add('page', { page: 1 }, { delayMs: 3_600_000 });
  await open('/queue/video?view=batches');
  await says(page, '.list-head', '100 batches at work');
  await says(page, '.list-head', 'Next ones: npx nest-job-queue batches video --offset 100 --limit 1000');
});

it('a batch is cancelled, with the number of its open jobs typed', async () => {
  await open('/batch/book/next-book');
  await page.getByRole('button', { name: 'Cancel the batch' }).click();
  await page.getByLabel('Type 5 to continue').fill('5');
  await page.getByRole('button', { name: 'Cancel 5 open jobs' }).click();
  await says(page, '.toast', '5 jobs are being cancelled.');
  await says(page, '.batch-counts', '5 cancelled');
  const { client } = await redisAccess(world.jobs.queue('book'));
  const keys = new QueueKeys('book');
  await client.del(keys.batchRecord('next-book'));
  await says(page, '.notice', 'This batch is gone meanwhile. What you see was its last state.');
  await open('/log');
  await says(page, '.actions tr', 'cancel batch');
});

it('a job that starts after another says so, and each leads to the other', async () => {
  await open('/job/book/back');
  await says(page, '.why', 'It starts after job cover');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await page.locator('.ties a', { hasText: 'cover' }).click();
  await says(page, '.ties', 'Followed by');
  await page.locator('.ties a', { hasText: 'back' }).click();
  await says(page, '.ties', 'Starts after');
});

it('a group shows its share, is limited, paused, resumed and cleaned', async () => {
  await open('/queue/video?view=groups');
  const row = page.locator('.group-table tr', { hasText: 'studio-a' });
  await says(page, '.group-table tr', /studio-a.*50\.0 %.*weight 3, at most 1 run at once/s);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'groups');
  await page.setViewportSize({ width: 768, height: 900 });
  const parts = ['.group-limits', '.group-buttons'].map((part) => row.locator(part).boundingBox());
  const [limits, buttons] = await Promise.all(parts);
  expect(buttons!.y).toBeGreaterThanOrEqual(limits!.y + limits!.height);
  await page.setViewportSize({ width: 1360, height: 1000 });
  await row.getByRole('button', { name: /^Limits/ }).click();
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'group-limits');
  await page.getByLabel('Weight').fill('5');
  await page.getByRole('button', { name: 'Set the limits' }).click();
  await says(page, '.group-table tr', 'weight 5, at most 1 run at once');
  await row.getByRole('button', { name: /^Pause/ }).click();
  await page.locator('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await says(page, '.group-table tr', /studio-a.*paused/s);
  const jobs = await world.jobs.queue('video').list('pending');
  await open(`/job/video/${jobs.find(({ group }) => group === 'studio-a')!.id}`);
  await says(page, '.why', 'Its group studio-a has been paused');
  await page.locator('.why a', { hasText: 'Look at the groups' }).click();
  await row.getByRole('button', { name: /^Resume/ }).click();
  await says(page, '.toast', 'The group studio-a continues.');
  const { groups } = world.jobs.queue('video');
  await groups.pause('studio-a', { forMs: 60_000 });
  const { pausedUntil } = await groups.get('studio-a');
  await row.getByRole('button', { name: /^Lengthen/ }).click();
  await page.locator('dialog').getByRole('button', { name: 'Lengthen to an hour' }).click();
  await says(page, '.toast', 'The pause of the group studio-a is longer now.');
  expect((await groups.get('studio-a')).pausedUntil!.getTime() - pausedUntil!.getTime()).toBeGreaterThan(3_500_000);
  await groups.resume('studio-a');
  await row.getByRole('button', { name: /^Clean/ }).click();
  await page.getByLabel('Type 2 to continue').fill('2');
  await page.getByRole('button', { name: 'Delete 2 waiting jobs' }).click();
  await says(page, '.toast', '2 jobs of studio-a deleted.');
  expect((await world.jobs.queue('video').groups.get('studio-a')).pending).toBe(0);
  await open('/log?queue=video');
  await page.getByRole('combobox', { name: /^Action/ }).selectOption('clean-group');
  await says(page, '.actions tbody', /^(?!.*pause).*clean group.*group studio-a/s);
  await page.locator('.actions a', { hasText: 'group studio-a' }).click();
  await says(page, '.group-table', 'studio-b');
});

it('a group leads to the jobs that wait in it, also where its name reads like a term of a search', async () => {
  const video = world.jobs.queue('video');
  await video.groups.pause('tenant:4 2');
  await video.enqueue({ title: 'The moon' }, { group: 'tenant:4 2' });
  await open('/queue/video?view=groups');
  await page.locator('.group-table a', { hasText: 'tenant:4 2' }).click();
  await says(page, '.list-head', '1 match');
  await says(page, '.job-row', 'The moon');
});

it('a completed job is run again, alone and with others', async () => {
  await open('/queue/thumbnail?state=completed');
  await page.locator('.job-row .row-link').first().click();
  await says(page, '.state-line', 'completed');
  await page.getByRole('button', { name: 'Run again' }).click();
  await says(page, '.toast', '1 job run again.');
  await patiently(async () => (await world.jobs.queue('thumbnail').stats()).totals.completed === 41);
  await open('/queue/thumbnail?state=completed');
  await page.locator('.bulk').getByRole('button', { name: 'Run all again' }).click();
  await page.getByRole('button', { name: /^Run again 40/ }).click();
  await says(page, '.run', '40 run again');
  await patiently(async () => (await world.jobs.queue('thumbnail').stats()).totals.completed === 81);
});

it('the job of a schedule leads to it', async () => {
  const { schedules } = world.jobs.queue('report');
  const [schedule] = await schedules.list();
  const { id } = await schedules.runNow(schedule!.id);
  await patiently(async () => (await world.jobs.queue('report').get(id))?.status === 'completed');
  await open(`/job/report/${id}`);
  await page.locator('.ties a', { hasText: 'report' }).click();
  await says(page, '.schedule', 'Every day at 03:00');
  expect(await page.locator('#queue-search').inputValue()).toBe('report');
});
