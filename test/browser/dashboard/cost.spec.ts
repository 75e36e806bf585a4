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

/** Counts the commands that Redis gets in two seconds, without the counting itself. */
async function commands(): Promise<number> {
  const { client } = await redisAccess(world.jobs.queue('email'));
  const total = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))![1]);
  const before = await total();
  await sleep(2_000);
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

it('three viewers cost what one costs', async () => {
  const one = Math.max(await commands(), await commands()); // a busy machine may leave a read out
  const others = [await openQueue(), await openQueue()];
  // A page that has just been opened still reads more.
  await patiently(async () => (await commands()) < one * 1.5, { timeoutMs: 15_000 });
  await Promise.all(others.map((each) => each.context().close()));
});
