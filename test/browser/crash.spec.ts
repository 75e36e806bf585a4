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
  page = await openPage(shop.url, { viewport: { width: 1280, height: 800 } });
  await workersRun(page, 2);
}, 240_000);

afterAll(() => expect(page.complaints).toEqual([]));

it('shows a crash from beginning to end on one screen: killed, the claim runs out, back, completed', async () => {
  // The second attempt takes no time: what happens between two looks of the show is told, too.
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  await page.getByRole('button', { name: 'Crash a worker and watch' }).click();
  // The steps, who was killed, and the job with its claim: all is in sight.
  const claim = /Its claim runs out in \d\.\d s/;
  expect(await seenWhen(claim, '#crash', '#crash-steps li', '#workers li', '.processing .rows li')).toEqual({
    note: expect.stringContaining('claim'),
    outOfSight: [],
  });
  const end = /Completed\. Nothing was lost\./;
  const { outOfSight } = await seenWhen(end, '#crash', '#crash-steps li', '#workers li', '#numbers div');
  expect(outOfSight).toEqual([]);
  const steps = await page.locator('#crash-steps li').allTextContents();
  expect(steps.map((step) => step.replace(/worker-\d+( \(process \d+\))?/, 'W').replace(/email \w+/, 'J'))).toEqual(
    [
      'J is enqueued.',
      'W works on it.',
      'W is killed in the middle of it. Nobody tells Redis.',
      'Its claim ran out.',
      'The job is back at the front of the queue.',
      'W works on it: attempt 2.',
      'Completed. Nothing was lost.',
    ],
  );
  // The newest first.
  const order = /completed after all.*attempt 2.*claim of email \w+ ran out.*killed \(SIGKILL\)/;
  await says(page, '#story', order);
});

interface Seen {
  note: string | null;
  outOfSight: string[];
}

/**
 * Waits for a step; answers what stood beside the claim in that moment, and which of the selectors were not wholly on
 * the screen, where nobody has scrolled.
 */
function seenWhen(step: RegExp, ...selectors: string[]): Promise<Seen> {
  // In one go: the page may change between two questions.
  const look = `(() => {
    const isInSight = ({ left, right, top, bottom, height }) =>
      height > 0 && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    const isMissed = (selector) => {
      const nodes = [...document.querySelectorAll(selector)];
      return nodes.length === 0 || !nodes.every((node) => isInSight(node.getBoundingClientRect()));
    };
    const steps = [...document.querySelectorAll('#crash-steps li')];
    if (!steps.some(({ textContent }) => ${step}.test(textContent))) return null;
    const note = document.querySelector('.processing .note')?.textContent ?? null;
    return { note, outOfSight: ${JSON.stringify(selectors)}.filter(isMissed) };
  })()`;
  return patiently(() => page.evaluate<Seen | null>(look), { timeoutMs: 40_000, what: String(step) });
}

it('kills the process that its button names, with SIGKILL, and a new one takes its place', async () => {
  await slide(page, 'work_latency_ms', 5_000);
  await says(page, 'output[for=work_latency_ms]', '5.0 s');
  await patiently(async () => (await shop.get<{ work_latency_ms: number }>('/stats')).work_latency_ms === 5_000);
  const enqueued = await shop.enqueue({ kind: 'invoice' });
  const row = page.locator('#workers li', { hasText: `invoice ${enqueued[0]!.slice(0, 8)}` });
  await row.waitFor();
  const [, name, pid] = /(worker-\d+) (\d+)/.exec((await row.textContent())!)!;
  await row.getByRole('button', { name: `Kill ${name}` }).click();
  await patiently(() => isGone(Number(pid)));
  await shop.post('/workers/configure', { work_latency_ms: '0' });
  await says(page, '#story li', `${name} was killed (SIGKILL) in the middle of invoice`);
  await patiently(async () => (await job(enqueued[0]!)).status === 'completed', { timeoutMs: 30_000 });
  expect(await job(enqueued[0]!)).toMatchObject({ attempts: 2, errors: [{ attempt: 1, outcome: 'crash' }] });
  expect(await page.locator('#workers li').count()).toBe(2);
  await says(page, '#workers .who', new RegExp(`^${name} (?!${pid}$)\\d+$`));
});

it('hangs for real: a silent process loses its job to another, and is killed and replaced', async () => {
  const taken = await numberOf(page, 'Taken back');
  await shop.post('/workers/configure', { hang_rate: '1', work_latency_ms: '0' });
  const enqueued = await shop.enqueue({ kind: 'email' });
  await page.locator('#workers li[data-state=hanging]').first().waitFor();
  await shop.post('/workers/configure', { hang_rate: '0' });
  await patiently(async () => (await job(enqueued[0]!)).status === 'completed', { timeoutMs: 30_000 });
  expect((await job(enqueued[0]!)).errors[0]).toMatchObject({ outcome: 'crash' });
  await patiently(async () => (await numberOf(page, 'Taken back')) > taken);
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
    await says(page, '#crash-steps li', end, 40_000);
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

it('goes on with the show, and puts everything back as it was, when nobody watches any more', async () => {
  const before = { work_latency_ms: 100, fail_rate: 0.05, hang_rate: 0.05 };
  await shop.post(
    '/workers/configure',
    Object.fromEntries(Object.entries(before).map(([name, value]) => [name, String(value)])),
  );
  await shop.post('/workers/stop');
  const watching = await openPage(shop.url);
  await watching.locator('#workers:empty').waitFor({ state: 'attached' });
  await watching.getByRole('button', { name: 'Crash a worker and watch' }).click();
  // Its worker has to start: the conditions of the show last until that is killed.
  await says(watching, '#crash-steps li', 'is enqueued');
  expect(await shop.get('/stats')).toMatchObject({ fail_rate: 0, hang_rate: 0, work_latency_ms: 2_500 });
  await watching.context().close();
  // Another page sees how it goes on; what somebody sets meanwhile stays.
  await shop.post('/workers/configure', { hang_rate: '0.01' });
  await patiently(() => page.locator('#crash').isDisabled());
  await says(page, '#crash-steps li', 'is killed in the middle of it');
  expect(await shop.get('/stats')).toMatchObject({ ...before, hang_rate: 0.01 });
  await shop.post('/workers/configure', { fail_rate: '0', hang_rate: '0' });
  await says(page, '#crash-steps li', 'Completed. Nothing was lost.', 40_000);
  await page.locator('#workers:empty').waitFor({ state: 'attached' });
  expect((await fetch(`${shop.url}/workers/crash`, { method: 'POST' })).status).toBe(200);
  // One at a time.
  expect((await fetch(`${shop.url}/workers/crash`, { method: 'POST' })).status).toBe(409);
  await shop.post('/reset');
  await says(page, '#crash-steps li', 'The job was deleted.');
  await shop.post('/workers/start', { size: '2' });
  await workersRun(page, 2);
}, 90_000);

it('leaves no process behind when it is stopped', async () => {
  const texts = await page.locator('#workers .who').allTextContents();
  const pids = texts.map((text) => Number(/\d+$/.exec(text)![0]));
  expect(pids).toHaveLength(2);
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
