// An incident that moves, in virtual time and in memory. Each ten seconds a ledger is held against what people see: verdicts,
// alerts, JSON and command line.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectLedger, refused, Shop, undelivered, type Entry } from './incident/shop.js';

const LEDGER: readonly Entry[] = [
  { from: 0, to: 60, queue: 'search', flow: {}, within: 0, says: /^(idle|flowing)/ },
  { from: 0, to: 30, queue: 'payment', flow: { error: refused }, within: 12, says: /^failing: .* dead letters of one kind/,
    next: /^read the errors of the dead letters/, at: 'jobs', place: 3 },
  { from: 30, to: 60, queue: 'payment', flow: {}, within: 30, says: /./ },
  { from: 0, to: 30, queue: 'webhook', flow: { error: undelivered }, within: 12, says: /^failing: .* dead letters of one kind/,
    next: /^read the errors of the dead letters/, at: 'jobs', place: 3 },
  { from: 30, to: 60, queue: 'webhook', flow: {}, within: 30, says: /./ },
  { from: 6, to: 30, queue: 'email', flow: { comes: 40 }, within: 24, says: /^(falling behind|late): .*40.* waiting|^falling behind/ },
  { from: 30, to: 60, queue: 'email', flow: { comes: 4, ends: 120 }, within: 2, says: /^(draining: |idle|flowing)/ },
  { from: 6, to: 40, queue: 'image', flow: { crashes: true, comes: 1, ends: 1 }, within: 6, says: /^crashing: \d+ workers died in 10 min, all while running `image`/,
    next: /^read the last lines of their processes; redrive a job that killed its workers alone/, at: 'jobs', place: 4 },
  { from: 6, to: 40, queue: 'video', flow: { ends: 1, runMs: 14_000 }, within: 24, says: /^(falling behind|late|slow): /, next: /^look at what/, at: 'jobs', place: 7 },
  { from: 12, to: 14, queue: 'invoice', flow: { served: false }, within: 2, says: /^(idle|flowing|waiting: .* no worker for \d+ s)/ },
  { from: 14, to: 60, queue: 'invoice', flow: {}, within: 2, says: /^(idle|flowing)/ },
  { from: -10, to: 6, queue: 'report', flow: { ends: 6, ticks: true }, within: 10, says: /^(idle|flowing)/ },
  { from: 6, to: 40, queue: 'report', flow: { ends: 6, ticks: false }, within: 14, says: /^late: schedule `sync` should have run .* ago, \d+ runs missed$/,
    next: /^start a process whose maintenance is on$/, at: 'schedules', place: 7 },
  { from: 40, to: 60, queue: 'report', flow: { ends: 6, ticks: true }, within: 1, says: /^(idle|flowing)/ },
]; // prettier-ignore

const shop = new Shop(LEDGER, { comes: 4, ends: 4, runMs: 200 });

beforeAll(() => shop.run(60), 240_000);

expectLedger(shop, LEDGER);

it('names the error of both queues in each look, with its begin and the deploy before it', () => {
  const words =
    /^connect ECONNREFUSED 10\.0\.0\.7:443 in (payment, webhook|webhook, payment) since \d\d:\d\d UTC, 10 s after version 2\.4\.0$/;
  const wrong = shop.shared.filter((look) => look.words.length !== 1 || !words.test(look.words[0]!));
  expect(wrong).toEqual([]);
});

describe('the alerts', () => {
  it('name the refused connection once, whatever ids its errors and whatever queues it has', () => {
    expect(shop.notices.map(({ text }) => text).filter((text) => text.includes('ECONNREFUSED'))).toEqual([
      expect.stringMatching(
        /^connect ECONNREFUSED 10\.0\.0\.7:443 in (payment, webhook|webhook, payment) since .*, 10 s after version 2\.4\.0: \d died$/,
      ),
    ]);
  });

  it('say of a queue that nothing happened to nothing', () => {
    expect(shop.noticesOf('search')).toEqual([]);
    expect(shop.noticesOf('invoice')).toEqual([]);
  });

  it('name the schedule that runs nowhere, once', () => {
    expect(shop.noticesOf('report')).toEqual([
      expect.stringMatching(/^report late: schedule `sync` should have run/),
      expect.stringMatching(/^report is well again/),
    ]);
  });

  it('say when a repaired queue is well again', () => {
    expect(shop.noticesOf('email').at(-1)).toMatch(/^email is well again/);
  });
});
