// The verdict on a queue whose jobs wait for a limit that it shares.
import { describe, expect, it } from '@jest/globals';
import { heldBySharedLimit, sharedLimitInWords } from '#inspect/limit-rules.js';
import { verdictOf } from '#inspect/verdict.js';
import type { SharedLimitState } from '#queue/model/shared-limit.js';
import { NO_STATS } from '../support/queue/no-stats.js';

const at = new Date('2026-11-29T12:00:00Z');
const later = new Date('2026-11-29T12:08:00Z');
const limit: SharedLimitState = {
  name: 'openai',
  source: 'configuration',
  maxRunning: 20,
  rateLimit: [{ limit: 500, periodMs: 60_000, burst: 5 }],
  running: 20,
  holders: [
    { queue: 'chat', worker: 'a', permits: 12 },
    { queue: 'chat', worker: 'b', permits: 3 },
    { queue: 'summary', worker: 'a', permits: 5 },
  ],
  waiting: ['email'],
  queues: ['chat', 'email', 'summary'],
};
const stats = { ...NO_STATS, at, pending: 12, oldestPendingAgeMs: 120_000, oldestUnheldAgeMs: 120_000, workers: 1 };
const verdict = (state: Partial<SharedLimitState>) =>
  verdictOf({ queue: 'email', stats, at, sharedLimits: [{ ...limit, ...state }] });

describe('a queue that waits for a shared limit is not stuck, and its verdict names the limit', () => {
  it.each([
    [
      'whose permits others hold',
      {},
      'limited by the shared limit openai: 20 run, as many as may (chat 15, summary 5); 12 waiting for 2 min',
    ],
    [
      'whose rate is used up',
      { running: 3 },
      'limited by the shared limit openai, by its rate; 12 waiting for 2 min',
    ],
    ['that rests', { restsUntil: later }, 'resting: the shared limit openai rests for another 8 min: 12 waiting'],
    [
      'that is paused',
      { pausedAt: new Date('2026-11-29T11:58:00Z'), pausedUntil: later, pausedBy: 'ada', pauseReason: 'new key' },
      'limited: the shared limit openai is paused by ada for 2 min (new key), for another 8 min: 12 waiting',
    ],
  ])('%s', (_, state, summary) => {
    expect(verdict(state)).toMatchObject({ state: 'limited', summary });
  });

  it.each([
    [
      'all of several full ones',
      [limit, { ...limit, name: 'crm', running: 3 }],
      'limited by the shared limit openai: 20 run, as many as may (chat 15, summary 5); the shared limit crm, by its rate; 12 waiting for 2 min',
    ],
    [
      'the rates of the queue itself',
      [{ ...limit, name: '@queue:email', running: 3 }],
      'limited by its rates; 12 waiting for 2 min',
    ],
    [
      'a full one beside a paused one',
      [limit, { ...limit, name: 'crm', pausedAt: new Date('2026-11-29T11:58:00Z') }],
      'limited: the shared limit crm is paused for 2 min: 12 waiting; held by openai too',
    ],
  ])('and %s', (_, sharedLimits, summary) => {
    const several = verdictOf({ queue: 'email', stats, at, sharedLimits });
    expect(several).toMatchObject({ state: 'limited', summary });
  });

  it('but is, where it is not in the line', () => {
    expect(verdict({ waiting: ['chat'] })).toMatchObject({ state: 'stuck' });
    expect(heldBySharedLimit({ queue: 'email', stats, at })).toBeUndefined();
  });
});

const withoutKey = ({ key: _key, ...state }: SharedLimitState): SharedLimitState => state;

describe('a queue whose groups rest for keys of a limit', () => {
  const held = { ...stats, oldestUnheldAgeMs: 0, heldByGroups: 12, awaitingPermit: 12 };
  const key = (name: string, state: Partial<SharedLimitState> = {}): SharedLimitState => {
    return { ...limit, name: 'crm', maxRunning: 2, running: 2, holders: [holder], key: name, ...state };
  };
  const holder = { queue: 'invoice', worker: 'a', permits: 2 };
  const of = (groups: number, keys: readonly SharedLimitState[], jobs = 12) =>
    verdictOf({ queue: 'email', stats: held, at, awaitedKeys: { groups, jobs, keys } });

  it.each([
    ['its only key', 1, [key('acme')], 'keys of the shared limit crm: acme (2 run, as many as may: invoice 2)'],
    [
      'some of its keys',
      5,
      [key('acme'), key('bolt', { running: 0 }), key('cog', { running: 1, maxRunning: 1, restsUntil: later })],
      'keys of the shared limit crm: acme (2 run, as many as may: invoice 2), bolt (its rate is used up), cog (rests for another 8 min) and 2 more',
    ],
    [
      'a paused key',
      1,
      [key('acme', { pausedAt: at, pausedBy: 'ada', pauseReason: 'has not paid' })],
      'keys of the shared limit crm: acme (paused by ada (has not paid))',
    ],
    [
      'the keys of two limits',
      1,
      [key('acme'), key('acme', { name: 'erp', running: 0 })],
      'keys of the shared limits crm: acme (2 run, as many as may: invoice 2); erp: acme (its rate is used up)',
    ],
    ['no hidden key', 3, [withoutKey(key('acme'))], '3 keys of the shared limit crm'],
    [
      'three keys at most',
      4,
      ['a', 'b', 'c', 'd'].map((name) => key(name, { running: 0 })),
      'keys of the shared limit crm: a (its rate is used up), b (its rate is used up), c (its rate is used up) and 1 more',
    ],
  ])('names %s', (_, groups, keys, words) => {
    expect(of(groups, keys)).toMatchObject({
      severity: 'notice',
      state: 'limited',
      summary: `limited by ${words}; 12 waiting for 2 min`,
    });
  });

  it('is no stuck one, also while some of its groups are between two rests', () => {
    const between = { ...stats, awaitingPermit: 9 };
    const verdictOn = (figures: typeof between) =>
      verdictOf({ queue: 'email', stats: figures, at, awaitedKeys: { groups: 1, jobs: 9, keys: [key('acme')] } });
    expect(verdictOn(between)).toMatchObject({ severity: 'notice', state: 'limited' });
    expect(verdictOn(between).cause).toMatch(/free permit$/);
    expect(verdictOn({ ...between, awaitingPermit: 5 }).state).toBe('stuck');
  });

  it('says that other groups wait for something else', () => {
    expect(of(1, [key('acme')], 12).cause).toBe(
      'each group rests until its key of the shared limit `crm` has a free permit',
    );
    expect(of(1, [key('acme')], 11).cause).toMatch(/; the other groups are paused, .* at their limit$/);
    expect(of(1_001, [key('acme')], 11).cause).toMatch(/free permit$/); // the jobs of a thousand were counted
  });
});

describe('a job that costs more than the burst of a rate', () => {
  const flowing = { queue: 'email', stats: NO_STATS, at, limitCosts: { openai: 8 } };

  it.each([
    ['set at run time', 'set' as const, 'has the burst 5, as set at run time, and a job of `email` costs 8'],
    ['of another app', 'configuration' as const, 'has the burst 5, and a job of `email` costs 8'],
  ])('is a warning, because the rate does not hold: values %s', (_, source, cause) => {
    expect(verdictOf({ ...flowing, sharedLimits: [{ ...limit, source }] })).toMatchObject({
      severity: 'warning',
      summary: 'exceeds the shared limit openai: a job costs 8 and counts as 5, its burst',
      cause: expect.stringContaining(cause),
    });
  });

  it('is none with enough burst, or without a rate', () => {
    const rates = [[{ limit: 500, periodMs: 60_000, burst: 8 }], []];
    for (const rateLimit of rates) {
      expect(verdictOf({ ...flowing, sharedLimits: [{ ...limit, rateLimit }] }).severity).toBe('ok');
    }
  });
});

it('says in words what holds a limit', () => {
  expect(sharedLimitInWords({ ...limit, pausedAt: at, pausedBy: 'ada' }, at)).toBe(
    '20 of 20 run (chat 15, summary 5); 500 in 1 min, 5 at once; paused by ada; waiting: email',
  );
});
