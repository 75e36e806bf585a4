// The dashboard beside 100,000 jobs in each state, and payloads of a megabyte.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from 'nest-job-queue/core';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { pictureOf } from '../../support/browser/pictures.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';

const MANY = 100_000;

/** Returns the jobs of one call. */
function slice(delayMs?: number) {
  return Array.from({ length: 500 }, (_, i) => ({ payload: { order: i }, ...(delayMs && { delayMs }) }));
}

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  const kept = { completedHistory: 2 * MANY, cancelledHistory: 2 * MANY, deadLetterCap: 2 * MANY };
  const long = { visibilityMs: 3_600_000, resultTtlMs: 3_600_000 };
  world = await startWorld({ queues: ['many', 'heavy'] }, 'express', { ...kept, ...long });
  const queue = world.jobs.queue('many');
  const fill = async (delayMs?: number) => {
    for (let sent = 0; sent < MANY; sent += 5_000) {
      await Promise.all(Array.from({ length: 10 }, () => queue.enqueueMany(slice(delayMs))));
    }
  };
  const claimAll = async (end?: (job: ClaimedJob, i: number) => Promise<unknown>) => {
    await fill();
    for (let claimed = 0; claimed < MANY; claimed += 500) {
      const jobs = await queue.claimMany(500);
      await Promise.all(end ? jobs.map(end) : []);
    }
  };
  await claimAll((job, i) => queue.fail(job, new Error(i % 2 === 0 ? 'Timeout' : 'Refused'), { final: true }));
  await claimAll((job) => queue.complete(job, null));
  await claimAll();
  await fill(3_600_000);
  for (let cancelled = 0; cancelled < MANY; cancelled += 500) {
    const jobs = await queue.list('scheduled', { limit: 500 });
    await Promise.all(jobs.map(({ id }) => queue.cancel(id)));
  }
  await fill();
  await fill(3_600_000);
  const heavy = Array.from({ length: 60 }, () => ({ payload: { text: 'x'.repeat(1_000_000) } }));
  for (let i = 0; i < heavy.length; i += 10) await world.jobs.queue('heavy').enqueueMany(heavy.slice(i, i + 10));
  page = await openPage(world.url);
}, 600_000);

async function timed(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return performance.now() - started;
}

describe('with 100,000 jobs in each state', () => {
  it.each([
    ['pending', 'Pending 100,000'],
    ['scheduled', 'Scheduled 100,000'],
    ['failed', 'Dead letters 100,000'],
    ['processing', 'Processing 100,000'],
    ['completed', 'Completed 100,000'],
    ['cancelled', 'Cancelled 100,000'],
  ])('%s: is shown at once, and scrolled to its end', async (state, tab) => {
    const took = await timed(async () => {
      await page.goto(`${world.url}#/queue/many?state=${state}`);
      await says(page, '.tabs a[aria-current]', tab);
      await says(page, '.job-row', 'many');
    });
    expect(took).toBeLessThan(10_000);
    expect(await page.locator('.job-row').count()).toBeLessThan(200);
    await page.locator('.job-list').evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await says(page, '.job-row:not(.job-row-empty)', 'many');
    await pictureOf(page, `large-${state}`);
    expect(page.complaints).toEqual([]);
  });

  it('a search says how far it is, and can be stopped', async () => {
    await page.goto(`${world.url}#/queue/many?state=pending&q=no-such-text`);
    await says(page, '.list-head', /searched [\d,]+ of 100,000/);
    await page.getByRole('button', { name: /^Stop/ }).click();
    await says(page, '.list-head', 'Search on');
  });
});

it('a list of jobs with a megabyte each is quick, and shows their size', async () => {
  const took = await timed(async () => {
    await page.goto(`${world.url}#/queue/heavy?state=pending`);
    await says(page, '.job-row', /payload of 9\d\d KB/);
  });
  expect(took).toBeLessThan(5_000);
  const answer = await page.request.get(`${world.url}/api/jobs?queue=heavy&state=pending`);
  expect((await answer.body()).length).toBeLessThan(100_000);
});
