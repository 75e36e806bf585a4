// The page of a job that waits for signals, and the dialog that sends one.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { type Job, Worker } from 'nest-job-queue/core';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { eventually } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'fastify');
  page = await openPage(world.url);
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

const LONG = 'approved by the head of the department for purchases and equipment';

it('shows what a job waits for, and sends a signal from there', async () => {
  const queue = world.jobs.queue('email');
  const handle = async (job: Job) => {
    await job.waitFor('asked', { timeoutMs: 0, timeoutValue: null });
    const [, answer] = await Promise.all([job.waitFor(LONG, { timeoutMs: 86_400_000 }), job.waitFor('approved')]);
    return answer;
  };
  const worker = new Worker([{ queue, handlers: { email: handle } }]);
  await worker.start();
  const job = await queue.enqueue({ to: 'ada@example.com' });
  const { id } = job;
  await queue.signal(id, 'known before', { by: 'bob' });
  await eventually(async () => (await queue.stats()).parked === 1);
  await page.goto(`${world.url}#/job/email/${id}`);
  await says(page, '.part', /waits for approved/);
  expect(await page.getByRole('button', { name: 'Promote' }).count()).toBe(0); // it would be refused
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'signal-page');

  await page.getByRole('button', { name: 'Send the signal approved', exact: true }).click();
  const dialog = page.locator('dialog[open]');
  await says(page, 'dialog[open] h2', 'Send the signal approved');
  await pictureOf(page, 'signal-dialog');
  await dialog.locator('textarea').fill('{"by": ');
  await dialog.getByRole('button', { name: 'Send the signal' }).click();
  await says(page, 'dialog[open] [role=alert]', 'This is not JSON');
  expect(await violationsInEveryLook(page)).toEqual([]);
  await pictureOf(page, 'signal-problem');
  await dialog.locator('textarea').fill('{"by": "ada"}');
  await dialog.getByRole('button', { name: 'Send the signal' }).click();
  await says(page, '.toast', 'The job got the signal, and goes on.');
  await says(page, '.part', /got approved/);
  await pictureOf(page, 'signal-sent');
  await queue.signal(id, LONG);
  expect(await job.result({ timeoutMs: 10_000 })).toEqual({ by: 'ada' });
  await worker.stop();
});
