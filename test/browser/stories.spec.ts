// The stories of the shop's page: the first by itself, then a deploy and two tenants on the same stage.
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { violations } from '../support/browser/axe.js';
import {
  openPage,
  says,
  startShop,
  workersRun,
  type ControlPage,
  type RunningShop,
} from '../support/browser/browser.js';
import { patiently } from '../support/faults/wait.js';

// Processes start while the story is told, on a machine that also runs other tests.
jest.setTimeout(180_000);

let shop: RunningShop;
let page: ControlPage;

interface JobView {
  status: string;
  attempts: number;
}

beforeAll(async () => {
  shop = await startShop(['--workers', '3', '--story']);
}, 240_000);

afterAll(() => expect(page.complaints).toEqual([]));

it('does not begin by itself where the user prefers less motion', async () => {
  const calm = await openPage(shop.link, { reducedMotion: 'reduce' });
  await workersRun(calm, 3);
  await says(calm, '.completed .range', 'of 4', 40_000); // the first jobs
  expect(await calm.locator('#crash-steps .told').count()).toBe(0);
  await calm.context().close();
});

it('names itself, plays the crash once, then offers it again beside the code', async () => {
  page = await openPage(shop.link, { viewport: { width: 1280, height: 800 } });
  await says(page, '.brand', /^\s*nest-job-queue\s+background jobs for NestJS on Redis/);
  await says(page, '#install', 'npm i nest-job-queue ioredis');
  await page.evaluate(FLIGHTS);
  await says(page, '#crash-steps .told', 'claims it', 60_000);
  expect(await page.locator('#behind').isVisible()).toBe(false);
  await says(page, '#crash-steps .told', 'Completed. Nothing was lost.', 60_000);
  await page.getByRole('button', { name: 'Again: crash a worker and watch' }).waitFor();
  await says(page, '#behind', "@JobHandler('email', { maxAttempts: 3 })");
  // Reloaded, it does not begin again.
  const other = await openPage(shop.link);
  await workersRun(other, 3);
  expect(await shop.get('/stats')).toMatchObject({ processing_depth: 0 });
  await other.context().close();
});

/** Counts the frames in which the card in flight rests in Waiting, and those in which a lane covers it. */
const FLIGHTS = `(() => {
  window.rests = 0;
  window.covered = 0;
  const look = () => {
    for (const copy of document.querySelectorAll('.flying')) {
      const { x, y, width, height } = copy.getBoundingClientRect();
      const zone = document.querySelector('#waiting').closest('.zone').getBoundingClientRect();
      if (x >= zone.left && x + width <= zone.right) window.rests += 1;
      copy.inert = false;
      const top = document.elementFromPoint(x + width / 2, y + height / 2);
      if (top && !copy.contains(top) && !top.closest('.flying')) window.covered += 1;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()`;

it('stopped the card of the reclaimed job in Waiting on its way, above every lane', async () => {
  expect(await page.evaluate('window.rests')).toBeGreaterThan(5);
  expect(await page.evaluate('window.covered')).toBe(0);
});

it('replaces every process while jobs run, and each job has one attempt', async () => {
  await workersRun(page, 3);
  const pidsOf = () => page.locator('#workers .pid').allTextContents();
  const before = await pidsOf();
  const { jobs } = await shop.post<{ jobs: string[] }>('/workers/deploy');
  await page.getByRole('heading', { name: 'A deploy replaces every process.' }).waitFor();
  await says(page, '#deploy-steps .told', 'gets SIGTERM: it takes no other job', 40_000);
  await says(page, '#deploy-steps .told', /is new, and takes the next mail/, 60_000);
  await says(page, '#deploy-steps .told', 'All 15 mails are sent, each at its first attempt.', 120_000);
  const ended = await Promise.all(jobs.map((id) => shop.get<JobView>(`/jobs/${id}`)));
  expect(ended.map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(jobs.map(() => 'completed 1'));
  const after = await pidsOf();
  expect(after).toHaveLength(3);
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  expect(await violations(page)).toEqual([]);
});

it('lets a small tenant have its jobs beside ten thousand of another, and deletes the rest', async () => {
  const { jobs } = await shop.post<{ jobs: string[] }>('/workers/tenants');
  await says(
    page,
    '#tenants-steps .told',
    /The small tenant has all its reports, while 9,9\d\d of the big one wait/,
    120_000,
  );
  const ended = await Promise.all(jobs.map((id) => shop.get<JobView>(`/jobs/${id}`)));
  expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['completed']));
  await patiently(async () => {
    const { pending_depth } = await shop.get<{ pending_depth: number }>('/stats');
    return pending_depth === 0;
  });
  expect(await violations(page)).toEqual([]);
  await shop.post('/workers/crash');
  await says(page, '#crash-steps .told', 'is enqueued');
  expect((await fetch(`${shop.url}/workers/tenants`, { method: 'POST' })).status).toBe(409);
});
