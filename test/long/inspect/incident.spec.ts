// Plays twenty minutes of an incident over eleven queues, in virtual time and in memory. A service is down twice, jobs kill
// their workers, and a schedule runs nowhere. In the middle comes a deploy of all queues. See test/inspect/incident.spec.ts.
import { beforeAll, expect, it } from '@jest/globals';
import { expectLedger, refused, Shop, type Entry } from '../../inspect/incident/shop.js';

const CALM = ['search', 'invoice', 'audit', 'sms', 'push', 'export'];
/** The deploy: no worker runs for twenty seconds. */
const DEPLOY = { from: 58, to: 60 };
const WELL = /^(idle|flowing|waiting: .* no worker for \d+ s)/;

/** Returns the time of a queue without a fault, around the deploy. */
function calm(queue: string, from: number, to: number, says = WELL): Entry[] {
  const before = { from, to: Math.min(to, DEPLOY.from), queue, flow: {}, within: 0, says };
  const deploy = { ...DEPLOY, queue, flow: { served: false }, within: 0, says: /./ };
  const after = { from: Math.max(from, DEPLOY.to), to, queue, flow: {}, within: 6, says };
  return [before, deploy, after].filter((each) => each.from < each.to && each.from >= from && each.to <= to);
}

const LEDGER: readonly Entry[] = [
  ...CALM.flatMap((queue) => calm(queue, 0, 120)),
  { from: 0, to: 30, queue: 'payment', flow: { error: refused }, within: 12, says: /^failing: .* dead letters of one kind/, next: /^read the errors/, at: 'jobs', place: 2 },
  ...calm('payment', 30, 80, /./),
  { from: 80, to: 110, queue: 'payment', flow: { error: refused }, within: 18, says: /^failing: .* dead letters of one kind/, next: /^read the errors/, at: 'jobs', place: 2 },
  ...calm('payment', 110, 120, /./),
  { from: 6, to: 30, queue: 'email', flow: { comes: 280 }, within: 24, says: /./ },
  { from: 30, to: 58, queue: 'email', flow: { ends: 840 }, within: 2, says: /^(draining: |idle|flowing)/ },
  ...calm('email', 58, 120),
  { from: 6, to: 40, queue: 'image', flow: { crashes: true, comes: 1, ends: 1 }, within: 6, says: /^crashing: \d+ workers died in 10 min, all while running `image`/, next: /redrive a job that killed its workers alone/, at: 'jobs', place: 3 },
  ...calm('image', 40, 120, /./),
  { from: 6, to: 50, queue: 'video', flow: { ends: 7, runMs: 14_000 }, within: 24, says: /^(falling behind|late|slow): /, next: /^look at what/, at: 'jobs', place: 6 },
  { from: 50, to: 58, queue: 'video', flow: { ends: 840 }, within: 2, says: /^(draining: |idle|flowing)/ },
  ...calm('video', 58, 120),
  { from: 0, to: 62, queue: 'report', flow: { ticks: true }, within: 0, says: /./ },
  { from: 62, to: 100, queue: 'report', flow: { ticks: false }, within: 14, says: /^late: schedule `sync` should have run .* ago, \d+ runs missed$/, next: /^start a process/, at: 'schedules', place: 6 },
  { from: 100, to: 120, queue: 'report', flow: { ticks: true }, within: 1, says: /^(idle|flowing)/ },
]; // prettier-ignore

const shop = new Shop(LEDGER, { comes: 28, ends: 84, runMs: 200 });

beforeAll(() => shop.run(120), 900_000);

expectLedger(shop, LEDGER);

it('a queue that nothing happened to has no notice, also in the deploy', () => {
  expect(CALM.flatMap((queue) => shop.noticesOf(queue))).toEqual([]);
});

it('the refused connection is a new error once, although it comes again', () => {
  expect(shop.noticesOf('payment').filter((text) => text.includes('a new error'))).toHaveLength(1);
});
