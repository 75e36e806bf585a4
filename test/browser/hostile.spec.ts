import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import { openPage, says, startShop, type ControlPage, type RunningShop } from '../support/browser/browser.js';
import { connect } from '../support/redis/redis.js';

const HOSTILE = `"><img src=x onerror="window.taken=1"><script>window.taken=1</script><b>bold</b>\u202e{{7*7}}`;

/** The dialog's text about the product of each kind of job. */
const MADE = { email: '.mail', webhook: '.made', thumbnail: '.pictures', invoice: '.pdf' };

/** The beginnings of the rows of that recipient's jobs: the first jobs are others. */
const LABELS: Record<string, string> = {
  email: 'Mail to ">',
  webhook: 'Webhook order.paid',
  thumbnail: '240 px',
  invoice: 'Invoice for ">',
};

let shop: RunningShop;
let page: ControlPage;
let jobs: JobQueue;

beforeAll(async () => {
  shop = await startShop(['--workers', '2']);
  jobs = new JobQueue(connect({}, shop.redis.url), 'jobs');
  page = await openPage(shop.link);
}, 240_000);

afterAll(() => jobs.close());

/** Expects that the page took no hostile text for HTML. */
async function expectUnharmed() {
  expect(await page.evaluate('window.taken')).toBeUndefined();
  expect(await page.locator('img[src=x], main b, dialog b, main script').count()).toBe(0);
  expect(page.complaints).toEqual([]);
}

it('shows hostile recipients, payloads, names, results and errors as text', async () => {
  await says(page, '.completed .range', 'of 4'); // the first jobs
  await page.getByLabel('How many jobs').fill('1');
  await page.getByLabel('For whom').fill(HOSTILE);
  await page.getByRole('button', { name: 'Enqueue' }).click();
  await says(page, '.completed .label', '"><img src=x');
  await says(page, '.completed .range', 'of 8'); // each that comes moves the rows
  for (const [kind, shown] of Object.entries(MADE)) {
    await openMade(kind);
    await page.locator(`#job-body ${shown}`).waitFor();
    await expectUnharmed();
    await page.getByRole('button', { name: 'Close' }).click();
  }
  await shop.post('/workers/stop');
  await page.locator('#workers:empty').waitFor({ state: 'attached' });
  await jobs.purge({ confirm: 'jobs' });
  const completed = await jobs.enqueue({ [HOSTILE]: 1 }, { name: 'email' });
  const claim = await jobs.claim();
  expect(claim!.id).toBe(completed.id);
  await jobs.complete(claim!, { html: HOSTILE });
  const failing = await jobs.enqueue({ kind: HOSTILE }, { name: 'webhook' });
  await jobs.fail((await jobs.claim())!, new Error(HOSTILE), { final: true });
  const named = await jobs.enqueue({}, { name: HOSTILE.slice(0, 90) });
  await says(page, '.failed .outcome', '<img src=x');
  await says(page, `.pending li[data-job="${named.id}"] .label`, '<img src=x');
  await expectUnharmed();
  for (const [list, id] of [
    ['completed', completed.id],
    ['failed', failing.id],
    ['pending', named.id],
  ] as const) {
    await page.locator(`.${list} li[data-job="${id}"] .open`).click();
    await says(page, '#job', '<script>');
    await expectUnharmed();
    await page.getByRole('button', { name: 'Close' }).click();
  }
});

async function openMade(kind: string) {
  await page.locator('.completed .rows li', { hasText: LABELS[kind]! }).locator('.open').click();
  await says(page, '#job-body h3', 'What it made');
}

it('shows a job whose payload is not JSON, and one of a megabyte, in a bounded row', async () => {
  const redis = connect({}, shop.redis.url);
  await redis.hset('queue:jobs:job:broken', {
    id: 'broken',
    name: 'email',
    payload: `{"x":${HOSTILE}`,
    status: 'pending',
  });
  await redis.lpush('queue:jobs:pending', 'broken');
  const big = await jobs.enqueue({ text: 'x'.repeat(1_000_000) }, { name: 'email' });
  await says(page, '.pending li[data-job=broken]', '<img src=x');
  const row = page.locator(`.pending li[data-job="${big.id}"]`);
  await row.waitFor();
  expect((await row.textContent())!.length).toBeLessThan(400);
  await page.locator('.pending li[data-job=broken] .open').click();
  await says(page, '#job-body pre', '{"x":"><img src=x');
  await expectUnharmed();
  await page.keyboard.press('Escape');
});

it('refuses requests of another site, and foreign names of a loopback server', async () => {
  const { port } = new URL(shop.url);
  const status = (method: string, headers: Record<string, string>, path = method === 'GET' ? '/jobs' : '/reset') =>
    new Promise<number | undefined>((resolve, reject) => {
      const asked = request({
        port,
        host: '127.0.0.1',
        path,
        method,
        headers,
      });
      asked.once('response', (response) => resolve(response.resume().statusCode)).once('error', reject);
      asked.end();
    });
  expect(await status('POST', { origin: 'https://evil.example' })).toBe(403);
  expect(await status('POST', { origin: 'null' })).toBe(403);
  expect(await status('POST', { origin: 'http://evil.example', host: 'evil.example' })).toBe(403);
  expect(await status('GET', { host: `evil.example:${port}` })).toBe(403);
  expect(await status('GET', { host: `evil.example:${port}` }, '/queues')).toBe(403);
  expect(await status('GET', { host: `127.0.0.1.evil.example:${port}` })).toBe(403);
  for (const name of ['localhost', 'LOCALHOST', '127.0.0.1', '127.0.0.2', '127.255.0.3', '[::1]']) {
    const host = `${name}:${port}`;
    expect([name, await status('GET', { host })]).toEqual([name, 200]);
    expect([name, await status('POST', { host, origin: `http://${host}` })]).toEqual([name, 200]);
  }
  expect(await status('POST', { host: `localhost:${port}`, origin: `http://127.0.0.1:${port}` })).toBe(403);
  expect(await status('POST', { origin: shop.url, host: new URL(shop.url).host })).toBe(200);
});

it('lets no script in but its own', async () => {
  for (const path of ['/', '/index.html', '/page/app.js', '/queues', '/stats', '/jobs', '/mails', '/nowhere']) {
    const { headers } = await fetch(shop.url + path);
    const policy = headers.get('content-security-policy')!;
    expect([path, policy]).toEqual([
      path,
      expect.stringMatching(/^default-src 'none'; .*frame-ancestors '(none|self)'/),
    ]);
    expect(policy).not.toContain('unsafe');
    expect([path, headers.get('x-content-type-options')]).toEqual([path, 'nosniff']);
  }
  for (const path of ['/page/..%2fsrc%2fmain.ts', '/page/main.ts', '/page/constructor', '/page/package.json']) {
    expect([path, (await fetch(shop.url + path)).status]).toEqual([path, 404]);
  }
});
