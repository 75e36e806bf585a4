import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { violationsInEveryLook } from '../../../support/browser/axe.js';
import { openPage, says, type ControlPage } from '../../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../../support/browser/dashboard-world.js';
import { inside } from '../../../support/queue/inside.js';

const SCRIPT = '<img src=x onerror="window.hacked = true"><script>window.hacked = true</script>';
/** Turns what follows it around, where nothing isolates it. */
const RIGHT_TO_LEFT = '\u202Egnp.exe';
const ARABIC = 'مرحبا بالعالم';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'fastify');
  const queue = world.jobs.queue('email');
  await queue.enqueueMany([
    { id: 'markup', name: SCRIPT, payload: { [SCRIPT]: SCRIPT, list: [SCRIPT] }, maxAttempts: 1 },
    { id: 'long', payload: { text: 'long '.repeat(200_000), deep: deepValue(150) }, maxAttempts: 1 },
    { id: 'turned', name: ARABIC, payload: { file: RIGHT_TO_LEFT, words: ARABIC }, maxAttempts: 1 },
    { id: 'proto', payload: JSON.parse('{"__proto__":{"x":1},"constructor":1}') as unknown, maxAttempts: 1 },
  ]);
  for (let i = 0; i < 4; i++) {
    const job = await queue.claim({ worker: `${SCRIPT.slice(0, 60)}:1:x` });
    const error = new Error(`${SCRIPT} ${RIGHT_TO_LEFT}\n${'no end '.repeat(5_000)}`);
    error.name = SCRIPT.slice(0, 50);
    await queue.fail(job!, error);
  }
  // As a client in another language may write it.
  const { keys } = await inside(queue).scripts();
  const client = inside(queue).connection.client;
  await client.hset(keys.job('{"a b"}/../%2F#?&'), {
    payload: 'not {json',
    status: 'pending',
    enqueued_at_ms: '1',
  });
  await client.lpush(keys.pending, '{"a b"}/../%2F#?&');
  page = await openPage(world.url);
}, 120_000);

afterEach(async () => {
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect(page.complaints).toEqual([]);
});

function deepValue(depth: number): unknown {
  return depth === 0 ? SCRIPT : { d: deepValue(depth - 1) };
}

it('shows markup in lists, groups and jobs as the text that it is', async () => {
  await page.goto(`${world.url}#/queue/email?state=failed`);
  await says(page, '.job-row[data-job=markup]', '<img src=x');
  await says(page, '.groups', '<img src=x');
  expect(await page.locator('#app img, #app script').count()).toBe(0);
  expect(await violationsInEveryLook(page)).toEqual([]);
  await page.locator('.job-row[data-job=markup] .row-link').press('Enter'); // a row that moves loses no key
  await says(page, 'h1', '<img src=x');
  await says(page, '.tree', '<script>window.hacked');
  expect(await page.locator('#app img, #app script').count()).toBe(0);
  expect(await violationsInEveryLook(page)).toEqual([]);
});

it('cuts a long value, and folds a deep one', async () => {
  await page.goto(`${world.url}#/job/email/long`);
  await says(page, '.part', 'It is too long to show.');
  const saving = page.waitForEvent('download');
  await page.locator('a[href*="part=payload"]').click();
  expect((await saving).suggestedFilename()).toBe('email-long-payload.json');
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await page.goto(`${world.url}#/job/email/proto`);
  await says(page, '.tree', '__proto__');
});

it('keeps text that runs from right to left to itself', async () => {
  await page.goto(`${world.url}#/job/email/turned`);
  await says(page, 'h1', ARABIC);
  await says(page, '.tree', String.raw`\u202egnp.exe`);
  const isolated = await page.evaluate(`getComputedStyle(document.querySelector('.tree-string')).unicodeBidi`);
  expect(isolated).toBe('isolate');
});

it('opens a job of a foreign client whose id has every sign, and whose payload is not JSON', async () => {
  await page.goto(`${world.url}#/queue/email?state=pending`);
  await page.locator('.job-row .row-link').first().click();
  await says(page, '.part', 'The payload is not JSON');
  await says(page, '.text', 'not {json');
  await page.locator('.job-actions').getByRole('button', { name: 'Cancel' }).click();
  await page
    .locator('dialog')
    .getByRole('button', { name: /^Cancel/ })
    .click();
  await says(page, '.state-line', 'cancelled');
});
