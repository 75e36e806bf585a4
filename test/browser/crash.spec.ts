import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import {
  numberOf,
  openPage,
  says,
  slide,
  startShop,
  workersRun,
  type ControlPage,
  type RunningShop,
} from '../support/browser/browser.js';
import { connect } from '../support/redis/redis.js';
import { patiently } from '../support/faults/wait.js';

let shop: RunningShop;
let page: ControlPage;

interface JobView {
  status: string;
  attempts: number;
  errors: { attempt: number; outcome: string; worker: string | null }[];
}

beforeAll(async () => {
  shop = await startShop(['--workers', '2']);
  page = await openPage(shop.link, { viewport: { width: 1280, height: 800 } });
  await workersRun(page, 2);
}, 240_000);

afterAll(() => expect(page.complaints).toEqual([]));

it('shows a crash from beginning to end on one screen: killed, reclaimed, back, completed', async () => {
  // The second attempt takes no longer than the show needs.
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  const planned = await stepTexts();
  await page.getByRole('button', { name: 'Crash a worker and watch' }).click();
  // Everything is visible: the job in its lane and its claim, the other workers, and the steps.
  const inSight = ['#crash', '#crash-steps li', '#workers > li', '#waiting', '#done'];
  expect(
    await missedWhen(/claims it\. Its heartbeat/, ...inSight, '#workers > [data-state=busy] .job .ring'),
  ).toEqual([]);
  expect(await missedWhen(/^Completed\. Nothing was lost\./, ...inSight)).toEqual([]);
  expect(planned.map((step) => step.replace('A worker process', 'W'))).toEqual([
    'A mail is enqueued.',
    'W claims it. Its heartbeat keeps the claim alive.',
    'The process is killed with SIGKILL in the middle of the job.',
    'The supervisor sees its end. Otherwise the claim expires without heartbeats.',
    'Another process reclaims the job: it is at the front of the queue.',
    'Another process takes it: attempt 2, under the same message id.',
    'Completed. Nothing is lost.',
  ]);
  const steps = await stepTexts();
  expect(
    steps.map((step) => step.replace(/worker-\d+( \(process \d+\))?/, 'W').replace(/order \d+/, 'order N')),
  ).toEqual([
    'Mail to ada@…, order N is enqueued.',
    'W claims it. Its heartbeat keeps the claim alive.',
    'W is killed with SIGKILL in the middle of the job.',
    'The supervisor saw its end, before the claim expired.',
    'Another process reclaimed it: the job is at the front of the queue.',
    'W takes it: attempt 2, under the same message id.',
    'Completed. Nothing was lost.',
  ]);
  // The newest first.
  const order = /completed after all.*attempt 2.*Mail to ada@…, order \d+ was reclaimed.*killed \(SIGKILL\)/;
  await says(page, '#story', order);
});

it('draws the job where it is: in a lane, then in another beside the broken lane of its dead process, done', async () => {
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  const { job: id } = await shop.post<{ job: string }>('/workers/crash');
  const card = `.job[data-job="${id}"]`;
  const lane = page.locator(`#workers > [data-state=busy]:has(${card})`);
  await lane.waitFor();
  const pid = (await lane.locator('.pid').textContent())!;
  const broken = page.locator('#workers > [data-state=dead]', { hasText: pid });
  await broken.locator('.crack').waitFor();
  expect(await broken.getByRole('button', { name: /Kill/ }).count()).toBe(0);
  await page.locator(`#workers > [data-state=busy]:has(${card})`, { hasText: 'attempt 2' }).waitFor();
  expect(await lane.locator('.pid').textContent()).not.toBe(pid);
  await page.locator(`#done ${card}[data-status=completed]`).waitFor();
  await broken.waitFor({ state: 'detached' });
});

it('shows a process that died with nothing to do as broken for a moment, and its successor beside it', async () => {
  await workersRun(page, 2);
  const pids = await page.locator('#workers .pid').allTextContents();
  await page.getByRole('button', { name: 'Kill worker-1' }).click();
  const broken = page.locator('#workers > [data-state=dead]');
  await broken.waitFor();
  expect(pids).toContain(await broken.locator('.pid').textContent());
  expect(await broken.locator('.job').count()).toBe(0);
  await broken.waitFor({ state: 'detached' });
  await workersRun(page, 2);
});

it('shows a claim that drains, and is full again at a heartbeat', async () => {
  await shop.post('/workers/configure', { work_latency_ms: '4000' });
  const [id] = await shop.enqueue({ kind: 'email' });
  const ring = `#workers .job[data-job="${id!}"] .ring .left`;
  await page.locator(ring).waitFor();
  // The offset of the line around: 0 is full. The claim lasts 2 s, and is extended every 0.67 s. The page itself looks,
  // because a busy machine takes long for many questions.
  const offsets = await page.evaluate<number[]>(`new Promise((resolve) => {
    const seen = [];
    const timer = setInterval(() => {
      const line = document.querySelector(${JSON.stringify(ring)});
      if (line) seen.push(Number.parseFloat(line.style.strokeDashoffset));
      if (line && seen.length < 40) return;
      clearInterval(timer);
      resolve(seen);
    }, 50);
  })`);
  const steps = offsets.slice(1).map((offset, i) => offset - offsets[i]!);
  expect(steps.some((step) => step > 0)).toBe(true);
  expect(steps.some((step) => step < -1)).toBe(true);
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  await page.locator(`#done .job[data-job="${id!}"]`).waitFor();
});

function stepTexts(): Promise<string[]> {
  return page.locator('#crash-steps li p').allTextContents();
}

/** Waits for a step. Returns the selectors that were not wholly on the unscrolled screen then. */
function missedWhen(step: RegExp, ...selectors: string[]): Promise<string[]> {
  // In one go: the page may change between two questions.
  const look = `(() => {
    const isInSight = ({ left, right, top, bottom }) =>
      left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    const isMissed = (selector) => {
      const nodes = [...document.querySelectorAll(selector)];
      return nodes.length === 0 || !nodes.every((node) => isInSight(node.getBoundingClientRect()));
    };
    const steps = [...document.querySelectorAll('#crash-steps .told p')];
    if (!steps.some(({ textContent }) => ${step}.test(textContent))) return null;
    return ${JSON.stringify(selectors)}.filter(isMissed);
  })()`;
  return patiently(() => page.evaluate<string[] | null>(look), { timeoutMs: 40_000, what: String(step) });
}

it('kills the process that its button names, with SIGKILL, and a new one takes its place', async () => {
  await slide(page, 'work_latency_ms', 5_000);
  await says(page, 'output[for=work_latency_ms]', '5.0 s');
  await patiently(async () => (await shop.get<{ work_latency_ms: number }>('/stats')).work_latency_ms === 5_000);
  const enqueued = await shop.enqueue({ kind: 'invoice' });
  const row = page.locator(`#workers > li:has(.job[data-job="${enqueued[0]!}"])`);
  await row.waitFor();
  const [, name, pid] = /(worker-\d+)pid (\d+)/.exec((await row.textContent())!)!;
  await row.getByRole('button', { name: `Kill ${name}` }).click();
  await patiently(() => isGone(Number(pid)));
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  await says(page, '#story li', `${name} was killed (SIGKILL) in the middle of Invoice for user@…`);
  await patiently(async () => (await job(enqueued[0]!)).status === 'completed', { timeoutMs: 30_000 });
  expect(await job(enqueued[0]!)).toMatchObject({ attempts: 2, errors: [{ attempt: 1, outcome: 'crash' }] });
  await workersRun(page, 2);
  await says(page, `#workers > li:has(.kill[aria-label="Kill ${name}"]) .pid`, new RegExp(`^pid (?!${pid}$)\\d+$`));
});

it('hangs for real: a silent process loses its job to another, and is killed and replaced', async () => {
  const taken = await numberOf(page, 'Reclaimed');
  await shop.post('/workers/configure', { hang_rate: '1', work_latency_ms: '0' });
  const enqueued = await shop.enqueue({ kind: 'email' });
  await page.locator('#workers > [data-state=hanging]').first().waitFor();
  await shop.post('/workers/configure', { hang_rate: '0' });
  await patiently(async () => (await job(enqueued[0]!)).status === 'completed', { timeoutMs: 30_000 });
  expect((await job(enqueued[0]!)).errors[0]).toMatchObject({ outcome: 'crash' });
  await patiently(async () => (await numberOf(page, 'Reclaimed')) > taken);
  await says(page, '#story li', /was killed by its supervisor: its event loop gave no answer for 5000 ms/, 30_000);
  await workersRun(page, 2);
});

interface Spoilt {
  what: string;
  end: string;
  /** While its job waits or is worked on. */
  spoil?: () => Promise<unknown>;
}

it.each<Spoilt>([
  { what: 'its job is deleted', end: 'The job was deleted.', spoil: deleteJobs },
  { what: 'the workers are stopped', end: 'The workers were stopped', spoil: () => shop.post('/workers/stop') },
  { what: 'its job is given up', end: 'Given up: it is a dead letter now.' },
])(
  'ends the show where $what, and works as before it',
  async ({ end, spoil }) => {
    // With a rate of 1 the job fails for good after the show has killed its first worker.
    const before = { work_latency_ms: '100', fail_rate: '1', hang_rate: '0' };
    await shop.post('/workers/configure', before);
    const show = page.getByRole('button', { name: 'Crash a worker and watch' });
    await show.click();
    await patiently(() => show.isDisabled());
    await spoil?.();
    await says(page, '#crash-steps .told', end, 40_000);
    await patiently(() => show.isEnabled());
    expect(await shop.get('/stats')).toMatchObject({ work_latency_ms: 100, fail_rate: 1, hang_rate: 0 });
    await shop.post('/workers/start', { size: '2', ...before });
    await workersRun(page, 2);
  },
  90_000,
);

async function deleteJobs(): Promise<void> {
  await new JobQueue(connect({}, shop.redis.url), 'jobs').purge({ confirm: 'jobs' });
}

it('continues the show, and stops its workers, when the last viewer leaves', async () => {
  const before = { work_latency_ms: 100, fail_rate: 0.05, hang_rate: 0.05 };
  await shop.post(
    '/workers/configure',
    Object.fromEntries(Object.entries(before).map(([name, value]) => [name, String(value)])),
  );
  await shop.post('/workers/stop');
  const watching = await openPage(shop.link);
  await watching.locator('#workers:empty').waitFor({ state: 'attached' });
  await watching.getByRole('button', { name: 'Crash a worker and watch' }).click();
  await says(watching, '#crash-steps li', 'is enqueued');
  await watching.context().close();
  // Another page sees the next steps; settings of others stay.
  await patiently(() => page.locator('#crash').isDisabled());
  await says(page, '#crash-steps .told', 'is killed with SIGKILL', 40_000);
  expect(await shop.get('/stats')).toMatchObject(before);
  await shop.post('/workers/configure', { fail_rate: '0', hang_rate: '0' });
  await says(page, '#crash-steps .told', 'Completed. Nothing was lost.', 40_000);
  await page.locator('#workers:empty').waitFor({ state: 'attached' });
  expect((await fetch(`${shop.url}/workers/crash`, { method: 'POST' })).status).toBe(200);
  // One at a time.
  expect((await fetch(`${shop.url}/workers/crash`, { method: 'POST' })).status).toBe(409);
  await shop.post('/reset');
  await says(page, '#crash-steps .told', 'The job was deleted.');
  await shop.post('/workers/start', { size: '2' });
  await workersRun(page, 2);
}, 90_000);

it('leaves no process behind when it is stopped', async () => {
  const shown = page.locator('#workers .pid');
  // Those that the reset stopped are in the picture for a moment.
  await patiently(async () => (await shown.count()) === 2);
  const pids = (await shown.allTextContents()).map((text) => Number(/\d+$/.exec(text)![0]));
  expect(await shop.process.kill('SIGTERM')).toBe(0);
  for (const pid of pids) await patiently(() => isGone(pid));
  await says(page, '#away', 'The shop does not answer.');
  page.complaints.length = 0;
});

function job(id: string): Promise<JobView> {
  return shop.get<JobView>(`/jobs/${id}`);
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
