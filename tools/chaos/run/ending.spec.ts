// Failures of a run beside the histories: late or missing processes, early exits, and faults that were left out.
import { expect, it } from '@jest/globals';
import { coreQueue } from '../../../test/support/queue/core-queue.js';
import { allowedMs, documentedMs, overdue } from './recovery-bounds.js';
import { drain, unplanned } from './ending.js';
import { Facts } from '../histories/facts.js';
import { wedged } from './inject-faults.js';
import type { Entry } from '../histories/history.js';
import { passes } from './report.js';
import type { Growth } from '../watch/resources.js';
import { kindsMissing, type Outcome } from './run.js';
import type { KindRecovery } from './recovery.js';
import { recoveryByKind } from './recovery-by-kind.js';

const recovery = (kind: string, workersMs: number, producersMs = 10): KindRecovery => {
  return { kind, count: 1, hits: 1, stallMs: 0, unacknowledgedMs: 0, workersMs, producersMs };
};

/** Returns an outcome with the parts that the report reads. */
const outcome = (violations: string[], verdict: Growth['verdict']) => {
  return { violations, growth: [{ verdict }] } as unknown as Outcome;
};

it('finds processes that never recovered', () => {
  const recovered = [recovery('cut', 10), recovery('cut', Infinity), recovery('cut', 10, Infinity)];
  expect(wedged(recovered)).toEqual([
    expect.stringMatching(/^fault 2: a worker had no answer/),
    expect.stringMatching(/^fault 3: a producer had none/),
  ]);
});

it('finds processes that recovered later than stated for that kind of fault, with room for a slow machine', () => {
  expect(
    overdue([recovery('cut', 8_000, 8_000), recovery('half-open', 10_000), recovery('redis-kill', Infinity)]),
  ).toEqual([]);
  expect(overdue([recovery('cut', 8_001), recovery('slot-move', 10, 9_000)])).toEqual([
    'cut: all workers were back after 8001 ms, expected at most 2000 ms, and 8000 ms on a slow machine',
    'slot-move: all producers were back after 9000 ms, expected at most 2000 ms, and 8000 ms on a slow machine',
  ]);
  expect([documentedMs('half-open'), allowedMs('half-open')]).toEqual([5_000, 10_000]);
});

it('finds a failover that was not planned', () => {
  const sentinel = { failovers: 2 } as NonNullable<Parameters<typeof unplanned>[0]['sentinel']>;
  expect(unplanned({ sentinel }, 2)).toEqual([]);
  expect(unplanned({ sentinel }, 1)).toEqual([
    expect.stringMatching(/^Sentinel replaced the master 2 times, expected 1/),
  ]);
});

it('finds unfinished jobs at the end, except jobs that are due in an hour', async () => {
  const { queue } = coreQueue();
  await queue.enqueue({}, { delayMs: 3_600_000 });
  expect(await drain([queue], 100)).toEqual([]);
  await queue.enqueue({});
  expect(await drain([queue], 100)).toEqual(['I1: 1 jobs were not done 100 ms after the last enqueue']);
});

it('finds a job that moves on while it is looked for', async () => {
  const { queue } = coreQueue();
  const { id } = await queue.enqueue({}, { delayMs: 60_000 });
  const stats = queue.stats.bind(queue);
  queue.stats = async () => {
    queue.stats = stats;
    const answer = await stats();
    await queue.reschedule(id, { delayMs: 0 });
    return answer;
  };
  expect(await drain([queue], 100)).toEqual(['I1: 1 jobs were not done 100 ms after the last enqueue']);
});

it('asks again for unfinished jobs where a slow server did not answer in time', async () => {
  const { queue } = coreQueue();
  const stats = queue.stats.bind(queue);
  const answers = [() => Promise.reject(new Error('no answer')), stats];
  queue.stats = () => (answers.shift() ?? stats)();
  expect(await drain([queue], 1_000)).toEqual([]);
});

it('fails a run with a violation, and a long one in which something grows', () => {
  expect(passes(outcome([], 'steady'), true)).toBe(true);
  expect(passes(outcome(['I1'], 'steady'), false)).toBe(false);
  expect(passes(outcome([], 'grows'), true)).toBe(false);
  expect(passes(outcome([], 'not seen'), true)).toBe(false);
  expect(passes(outcome([], 'grows'), false)).toBe(true);
});

it('names the kinds of faults that were not done', () => {
  const recovered = { recoveries: [recovery('cluster-kill', 1)] } as unknown as Outcome;
  const missing = kindsMissing(recovered, 'cluster', true);
  expect(missing).toContain('slot-move');
  expect(missing).not.toContain('cluster-kill');
});

it('takes the worst of each kind of fault', () => {
  const facts = new Facts();
  const entries: Entry[] = [
    ['time', 1_000],
    ['fault', 'cut'],
    ['time', 2_000],
    ['fault', 'slow'],
    ['time', 3_000],
    ['fault', 'cut'],
  ];
  entries.forEach(facts.add);
  const recovered = [recovery('', 10, 700), recovery('', 20, 20), { ...recovery('', 900, 30), hits: 4 }];
  expect(recoveryByKind(facts, 4_500, recovered)).toEqual([
    { kind: 'cut', count: 2, hits: 5, stallMs: 1_500, unacknowledgedMs: 0, workersMs: 900, producersMs: 700 },
    { kind: 'slow', count: 1, hits: 1, stallMs: 1_000, unacknowledgedMs: 0, workersMs: 20, producersMs: 20 },
  ]);
});
