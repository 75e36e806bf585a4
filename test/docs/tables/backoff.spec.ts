// Compares the defaults of a backoff in the docs with the delays.
import { expect, it } from '@jest/globals';
import { backoffDelay, type StoredBackoff } from '#queue/model/backoff.js';
import { resolveQueueOptions } from '#queue/model/queue-options.js';
import { rowsOf } from '../table.js';

const told = new Map(
  rowsOf('backoff', 'docs/jobs.md')
    .slice(2)
    .map(([option, said]) => [option, said!]),
);
const delay = (backoff: StoredBackoff | undefined, attempt: number, random: number) =>
  backoffDelay(backoff, attempt, new Error('no'), random, {
    id: '1',
    name: 'email',
    queue: 'email',
    payload: null,
    maxAttempts: 10,
  });

it('the default, whose ten attempts span 8.5 minutes', () => {
  const { backoff, maxAttempts } = resolveQueueOptions('a queue');
  const row = rowsOf('queue options', 'docs/options.md').find(([option]) => option === '`backoff`');
  expect(row![1]).toBe("`{ type: 'exponential', delayMs: 1_000, jitter: 0.2 }`");
  expect(backoff).toEqual({ type: 'exponential', delayMs: 1_000, jitter: 0.2 });
  const waits = Array.from({ length: maxAttempts - 1 }, (_, i) => delay(backoff as StoredBackoff, i + 1, 0));
  expect(waits.reduce((sum, ms) => sum + ms) / 60_000).toBeCloseTo(8.5, 1);
});

it('0 is a next attempt at once', () => {
  expect(delay(0, 1, 0)).toBe(0);
});

it('the cap', () => {
  const cap = Number(told.get('`maxDelayMs`')!.replaceAll(',', ''));
  expect(delay({ type: 'exponential', delayMs: 1_000 }, 30, 0)).toBe(cap);
  expect(delay({ type: 'exponential', delayMs: 2 * cap }, 30, 0)).toBe(2 * cap);
});

it('the jitter', () => {
  const [, exponential, fixed] = /^([\d.]+); fixed: ([\d.]+)$/.exec(told.get('`jitter`')!)!;
  expect(delay({ type: 'exponential', delayMs: 1_000 }, 1, 1)).toBe(1_000 * (1 - Number(exponential)));
  expect(delay({ type: 'fixed', delayMs: 1_000 }, 1, 1)).toBe(1_000 * (1 - Number(fixed)));
  expect(delay(1_000, 1, 1)).toBe(1_000);
});

it('type and delayMs have none', () => {
  expect([told.get('`type`'), told.get('`delayMs`')]).toEqual(['none', 'none']);
});
