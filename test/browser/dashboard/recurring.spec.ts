// Recurring jobs as rows with their runs, and the form that makes, edits and removes one.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { redisAccess } from 'nest-job-queue';
import { JobQueue } from 'nest-job-queue/core';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { patiently } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({ otherQueues: 'operate' });
  await world.fill();
  const digest = { cron: '*/30 8-18 * * 1-5', timeZone: 'America/New_York', jitterMs: 600_000, limit: 100 };
  await world.jobs.schedules.upsert('email', 'digest', digest, { payload: { kind: 'digest' }, priority: 3 });
  const { schedules } = world.jobs.queue('book');
  await schedules.upsert('page-3', { everyMs: 86_400_000 }, { name: 'page', payload: { page: 3 } });
  await schedules.runNow('page-3');
  const isDead = async () => (await schedules.get('page-3'))?.runs[0]?.status === 'failed';
  await patiently(isDead, { timeoutMs: 30_000 });
  page = await openPage(world.url);
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

async function open(hash: string): Promise<void> {
  await page.goto(`${world.url}#${hash}`);
}

it('a row has its times in words, its rules and links to runs; failures come first', async () => {
  await open('/recurring');
  await says(page, 'h1', '3 recurring jobs, the last run of one failed');
  await says(page, '.schedule:first-child', 'page-3');
  const digest = page.locator('.schedule', { hasText: 'digest' });
  await says(page, '.schedule', 'Every 30 minutes from 08:00 to 18:59, Monday to Friday in America/New_York');
  await says(page, '.schedule', '0 of 100 jobs · up to 10 min of jitter');
  expect(await digest.locator('.times li').count()).toBe(3);
  await page.getByRole('button', { name: 'Run now: digest' }).click();
  await says(page, '.toast', 'Its job is enqueued.');
  await says(page, '.schedule', 'Its job waits by hand');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'recurring-rows');
  await digest.locator('.runs-strip a').click();
  await says(page, '.state-line', 'pending');
  await open('/recurring');
  await page.locator('.schedule:first-child .runs-strip a').click();
  await says(page, '.state-line', 'failed');
});

it('the toast of a run leads to its job', async () => {
  await open('/recurring');
  await page.getByRole('button', { name: 'Run now: digest' }).click();
  await page.getByRole('link', { name: 'Look at it' }).last().click();
  await says(page, '.state-line', 'pending');
});

it('the form shows an error beside its field, and the next times of a valid rule', async () => {
  await open('/recurring');
  await page.getByRole('link', { name: 'New schedule' }).click();
  await page.getByLabel('Queue', { exact: true }).selectOption('email');
  await page.getByLabel('Id of the schedule').fill('not an id');
  const cron = page.getByRole('textbox', { name: 'Cron expression' });
  await cron.fill('61 7 * * *');
  await says(page, '#about-cron', 'expected a cron expression');
  expect(await cron.getAttribute('aria-invalid')).toBe('true');
  await cron.fill('30 7 * * *');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await says(page, '.schedule-preview', 'Every day at 07:30 in Europe/Berlin');
  expect(await page.locator('.schedule-preview li', { hasText: ', 07:30' }).count()).toBe(3);
  const create = page.getByRole('button', { name: 'Create the schedule' });
  await create.click();
  await says(page, '#about-id', '1 to 100 of');
  await page.getByLabel('Id of the schedule').fill('digest');
  await create.click();
  await says(page, '#about-id', 'Edit that schedule, or choose another id');
  await page.getByLabel('Id of the schedule').fill('early-digest');
  await page.getByLabel('Payload of its jobs').fill('{"kind": ');
  await create.click();
  await says(page, '#about-payload', 'expected JSON');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'recurring-new');
  await page.getByLabel('Payload of its jobs').fill('{"kind": "early"}');
  await create.click();
  await says(page, '.toast', 'early-digest is created.');
  expect(await world.jobs.schedules.get('email', 'early-digest')).toMatchObject({
    cron: '30 7 * * *',
    timeZone: 'Europe/Berlin',
    payload: { kind: 'early' },
    source: 'call',
  });
  await open('/log');
  await says(page, '.actions tbody tr', 'schedule early-digest: cron 30 7 * * *, timeZone Europe/Berlin');
});

it('the form refuses a number that was typed in half, and stores nothing', async () => {
  await open('/recurring');
  await page.getByRole('link', { name: 'New schedule' }).click();
  await page.getByLabel('Queue', { exact: true }).selectOption('email');
  await page.getByLabel('Id of the schedule').fill('half');
  await page.getByRole('textbox', { name: 'Cron expression' }).fill('30 7 * * *');
  for (const label of ['Priority', 'Jitter']) await page.getByLabel(label).pressSequentially('1e');
  await page.getByRole('button', { name: 'Create the schedule' }).click();
  await says(page, '#about-priority', 'expected a number');
  await says(page, '#about-jitter', 'expected a number');
  expect(await world.jobs.schedules.get('email', 'half')).toBeNull();
  await page.getByLabel('Jitter').fill('');
  await page.getByLabel('Priority').pressSequentially('1');
  await page.getByRole('button', { name: 'Create the schedule' }).click();
  await says(page, '.toast', 'half is created.');
  expect(await world.jobs.schedules.get('email', 'half')).toMatchObject({ options: { priority: 10 } });
  await world.jobs.schedules.remove('email', 'half');
});

it('an edit sets the fields of the form alone; a removal wants the id typed', async () => {
  await open('/recurring');
  await page.getByRole('link', { name: 'Edit digest' }).click();
  await says(page, 'h1', 'Edit the schedule digest');
  await page.getByLabel('At an interval').check();
  await page.getByLabel('Every', { exact: true }).fill('90');
  await page.getByLabel('Unit').selectOption('minutes');
  await page.getByLabel('Jitter').fill('30');
  await page.getByLabel('Enqueue nothing while').check();
  expect(await page.getByLabel('Priority').inputValue()).toBe('3');
  await page.getByLabel('Priority').fill('');
  await page.getByLabel('Attempts in all').fill('4');
  await says(page, '.schedule-preview', 'Every 90 minutes in UTC');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'recurring-edit');
  await page.getByRole('button', { name: 'Change the schedule' }).click();
  await says(page, '.toast', 'digest is changed.');
  expect(await world.jobs.schedules.get('email', 'digest')).toMatchObject({
    everyMs: 5_400_000,
    jitterMs: 30_000,
    limit: 100,
    overlap: false,
    payload: { kind: 'digest' },
    options: { maxAttempts: 4 },
  });
  await page.getByRole('link', { name: 'Edit digest' }).click();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByLabel('Type digest to continue').fill('digest');
  await page.getByRole('button', { name: 'Remove the schedule' }).click();
  await says(page, '.toast', 'digest is removed.');
  expect(await world.jobs.schedules.get('email', 'digest')).toBeNull();
});

it('a queue of another app has no form, because this one does not know its codec; its schedules are removed as rows', async () => {
  const { client } = await redisAccess(world.jobs.queue('book'));
  const stranger = new JobQueue(client, 'stranger');
  await stranger.enqueue(1);
  await stranger.schedules.upsert('foreign', { everyMs: 3_600_000 });
  await open('/recurring');
  await says(page, '.schedule', 'foreign');
  expect(await page.getByRole('button', { name: 'Run now: foreign' }).count()).toBe(1);
  expect(await page.getByRole('link', { name: 'Edit foreign' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Remove foreign' }).click();
  await page.getByLabel('Type foreign to continue').fill('foreign');
  await page.getByRole('button', { name: 'Remove the schedule' }).click();
  await says(page, '.toast', 'foreign is removed.');
  await page.locator('.schedule', { hasText: 'foreign' }).waitFor({ state: 'detached' });
  expect(await stranger.schedules.get('foreign')).toBeNull();
  await page.getByRole('link', { name: 'New schedule' }).click();
  expect(await page.getByLabel('Queue', { exact: true }).locator('option').allTextContents()).not.toContain(
    'stranger',
  );
});

it('a paused schedule whose code runs nowhere is edited and removed as one of a call', async () => {
  const { client } = await redisAccess(world.jobs.queue('book'));
  await world.jobs.schedules.upsert('email', 'gone', { everyMs: 3_600_000 });
  const keys = new QueueKeys('email');
  await client.hset(keys.schedule('gone'), 'source', 'code');
  await client.zadd(keys.scheduleOwners, Date.now() - 40_000, 'gone'); // its last worker has stopped
  await world.jobs.schedules.pause('email', 'gone');
  await open('/recurring?q=gone');
  await says(page, '.schedule', /paused.*its code runs nowhere/s);
  await page.getByRole('link', { name: 'Edit gone' }).click();
  await says(page, 'h1', 'Edit the schedule gone');
  await page.getByRole('button', { name: 'Change the schedule' }).waitFor();
});

it('a viewer sees the rows, and no way to change one', async () => {
  const viewer = await openPage(world.url);
  await viewer.context().addCookies([{ name: 'user', value: 'viewer', url: new URL(world.url).origin }]);
  await viewer.goto(`${world.url}#/recurring`);
  await viewer.reload();
  await says(viewer, '.schedule', 'page-3');
  expect(await viewer.getByRole('link', { name: /New schedule|Edit/ }).count()).toBe(0);
  expect(await viewer.getByRole('button', { name: /Run now|Pause/ }).count()).toBe(0);
  expect(viewer.complaints).toEqual([]);
});

it('in the hour that a clock shows twice, times say which one they are, and an edit moves none', async () => {
  const second = Date.UTC(2027, 9, 31, 1, 30); // 02:30 for the second time
  const { schedules } = world.jobs.queue('email');
  await schedules.upsert('twice', { cron: '*/30 * * * *', timeZone: 'Europe/Berlin', startAt: second });
  const berlin = await openPage(`${world.url}#/recurring/edit/email/twice`, { timezoneId: 'Europe/Berlin' });
  await says(berlin, '.schedule-preview', 'Sun 31 Oct 2027, 02:30 GMT+1');
  await berlin.getByLabel('Ends after').fill('7');
  await berlin.getByRole('button', { name: 'Change the schedule' }).click();
  await says(berlin, '.toast', 'twice is changed.');
  expect(await schedules.get('twice')).toMatchObject({ limit: 7, startAt: new Date(second) });
  await berlin.goto(`${world.url}#/recurring/edit/email/twice`);
  await berlin.getByLabel('Not before').fill('2027-10-31T02:00');
  await says(berlin, '.schedule-preview', /02:00 GMT\+2.*02:30 GMT\+2.*02:00 GMT\+1/s);
  expect(berlin.complaints).toEqual([]);
});

it('an unknown zone is refused beside its own field', async () => {
  await open('/recurring/new?queue=email');
  await page.getByRole('textbox', { name: 'Cron expression' }).fill('0 3 * * *');
  await page.getByLabel('Time zone').fill('Europe/Berln');
  await says(page, '#about-timeZone', 'expected a time zone');
  expect(await page.locator('[aria-invalid=true]').count()).toBe(1);
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await says(page, '.schedule-preview', 'in Europe/Berlin');
  expect(await page.locator('[aria-invalid=true]').count()).toBe(0);
});
