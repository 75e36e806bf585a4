// What viewers cost Redis: nothing while the tab is hidden, and the same for three as for one.
import { beforeAll, expect, it } from '@jest/globals';
import { redisAccess } from 'nest-job-queue';
import { openPage, says, type ControlPage } from '../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../support/browser/dashboard-world.js';
import { patiently, sleep } from '../../support/faults/wait.js';

let world: DashboardWorld;
let page: ControlPage;

beforeAll(async () => {
  world = await startWorld({}, 'fastify', { worker: false, maintenance: false });
  await world.fill();
  page = await openQueue();
}, 120_000);

async function openQueue(): Promise<ControlPage> {
  const opened = await openPage(`${world.url}#/queue/email?state=pending`);
  await says(opened, '.job-row', 'example.com');
  return opened;
}

/** Counts the commands that Redis gets in some seconds, without the counting itself. */
async function commands(ms = 2_000): Promise<number> {
  const { client } = await redisAccess(world.jobs.queue('email'));
  const total = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))![1]);
  const before = await total();
  await sleep(ms);
  return (await total()) - before - 1;
}

/** Hides a tab, or shows it again, as the browser tells its page. */
async function hide(tab: ControlPage, hidden: boolean): Promise<void> {
  await tab.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
    document.dispatchEvent(new Event('visibilitychange'))`);
}

it('a hidden tab costs nothing, and is live again once it is seen', async () => {
  expect(await commands()).toBeGreaterThan(5);
  await hide(page, true);
  await patiently(async () => (await commands()) === 0, { timeoutMs: 15_000 });
  expect(await commands()).toBe(0);
  await world.jobs.enqueue('email', { to: 'new@example.com' });
  await hide(page, false);
  await says(page, '#connection', 'live');
  await says(page, '.tabs', 'Pending 121');
});

it('three viewers cost as much as one', async () => {
  const one = Math.max(await commands(), await commands()); // a busy machine may leave a read out
  const others = [await openQueue(), await openQueue()];
  // A page that has just been opened still reads more.
  await patiently(async () => (await commands()) < one * 1.5, { timeoutMs: 15_000 });
  await Promise.all(others.map((each) => each.context().close()));
});

it('a tab without the focus costs a fifth', async () => {
  const focused = Math.max(await commands(10_000), await commands(10_000));
  await page.evaluate(`document.hasFocus = () => false; dispatchEvent(new Event('blur'))`);
  await commands(2_000); // the stream ends
  const unfocused = await commands(10_000);
  await page.evaluate(`document.hasFocus = () => true; dispatchEvent(new Event('focus'))`);
  expect(unfocused).toBeGreaterThan(0);
  expect(unfocused).toBeLessThan(focused / 3); // two or three looks in these ten seconds, instead of ten
});

it('100 queues, of which 30 change in each second, cost less than 5 KB a second', async () => {
  const names = Array.from({ length: 100 }, (_, i) => `of-${i}`);
  const many = await startWorld({ queues: names }, 'express', { worker: false, maintenance: false });
  await many.remember(...names.slice(0, 50));
  const tab = await openPage(`${many.url}#/`);
  await says(tab, '.queues', 'of-0');
  const network = await tab.context().newCDPSession(tab);
  await network.send('Network.enable');
  let bytes = 0;
  network.on('Network.dataReceived', ({ encodedDataLength }) => void (bytes += encodedDataLength));
  network.on('Network.responseReceived', ({ response }) => void (bytes += response.encodedDataLength));
  const since = performance.now();
  for (let second = 0; second < 12; second += 1) {
    const changing = Array.from({ length: 30 }, (_, i) => names[(10 * second + i) % names.length]!);
    await Promise.all(changing.map((name) => many.jobs.enqueue(name, { second })));
    await sleep(1_000);
  }
  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes / ((performance.now() - since) / 1_000)).toBeLessThan(5_000);
}, 120_000); // it first writes three days of fifty queues
