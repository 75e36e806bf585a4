// The mover beside producers and workers at both places, while it dies after each of its steps. test/long/migrate/queue.spec.ts is
// the long form.
import { expect, it } from '@jest/globals';
import { lastStep, runToDeath } from '../support/migrate/deaths.js';
import { LiveQueue } from '../support/migrate/live-queue.js';
import { queueScene } from '../support/migrate/queue-scene.js';
import { newQueue } from '../support/worker/workers.js';

const JOBS = 1_500;
const KILLS = 35;

it('moves a live queue and back: 0 missing, 0 twice, in the order of each group', async () => {
  const from = newQueue();
  const { to, mover, run, back } = queueScene(from);
  const live = new LiveQueue();
  await live.work(from, 'there', 2);
  const produced = live.add(from, JOBS);
  let deaths = 0;
  for (let tries = 0; deaths < KILLS && tries < 10 * KILLS; tries++) {
    if (await runToDeath(mover, lastStep(deaths))) deaths++;
    else await live.add(from, live.count + 50);
    if (deaths === KILLS / 7) await live.work(to, 'here', 4);
  }
  await produced;
  await run();
  await live.expectEach({ from, to }, 30_000);
  expect(deaths).toBe(KILLS);
  expect(live.ranAt('here')).toBeGreaterThan(JOBS / 10);
  await to.pause();
  await live.add(to, live.count + 100);
  await back();
  await from.resume();
  await live.expectEach({ from: to, to: from }, 30_000);
}, 120_000);
