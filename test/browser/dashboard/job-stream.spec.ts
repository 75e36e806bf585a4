// The page of a job that streams: what it has written, and what comes meanwhile.
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Worker } from 'nest-job-queue/core';
import { violationsInEveryLook } from '../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { gate } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'fastify');
  page = await openPage(world.url);
}, 120_000);

afterEach(() => expect(page.complaints).toEqual([]));

it('shows what a job streams while it runs, and the end of it', async () => {
  const queue = world.jobs.queue('email');
  const [more, end] = [gate(), gate()];
  const handle = async function* () {
    yield 'Dear ';
    await more.promise;
    yield '<b>Ada</b>';
    await end.promise;
    yield { signed: 'Bob' };
    return { words: 3 };
  };
  const worker = new Worker([{ queue, handlers: { email: handle } }]);
  await worker.start();
  const { id } = await queue.enqueue({ to: 'ada@example.com' });
  await page.goto(`${world.url}#/job/email/${id}`);
  const stream = page.locator('.part', { hasText: 'Stream' });
  await says(page, '.part', /Stream, 1 entry.*Dear/s);
  more.open();
  await says(page, '.part', /Stream, 2 entries.*Dear <b>Ada<\/b>/s);
  expect(await stream.locator('pre b').count()).toBe(0); // a chunk is text
  expect(await violationsInEveryLook(page)).toEqual([]);
  end.open();
  await says(page, '.part', /Stream, 3 entries.*"signed":"Bob"/s);
  await says(page, '.part', 'words');
  await worker.stop();
});
