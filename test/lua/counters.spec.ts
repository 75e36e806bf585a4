import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { type TestQueue, claimedJob } from '../support/queue/queue-state.js';

const error = { name: 'Error', message: 'no' };
const COUNTERS = [
  'enqueued',
  'completed',
  'failed',
  'cancelled',
  'retried',
  'released',
  'rate_limited',
  'reclaimed',
];
const MORE = ['crashed', 'broken', 'dropped', 'redriven', 'discarded', 'removed', 'rerun', 'limited'];

type Act = (q: TestQueue, job: ClaimedJob) => Promise<unknown>;

const failing = (final: boolean) => (q: TestQueue, job: ClaimedJob) =>
  q.run(q.scripts.fail([{ ...job, error, final, backoffMs: 0 }]));
const complete: Act = (q, job) => q.complete(job, '1');
const release = (reason: 'interruption' | 'rate_limited') => (q: TestQueue, job: ClaimedJob) =>
  q.run(q.scripts.release([{ ...job, reason, delayMs: 0 }]));
const reclaim: Act = async (q) => {
  await q.expireClaims('job');
  return q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
};
const after =
  (first: Act, then: (q: TestQueue) => Promise<unknown>): Act =>
  async (q, job) => {
    await first(q, job);
    return then(q);
  };

/** Makes every counter of a queue a text. */
async function spoilCounters(q: TestQueue): Promise<void> {
  for (const counter of [...COUNTERS, ...MORE]) await q.redis.hset(q.keys.stats, `${counter}_total`, 'many');
  q.broken = true;
}

it.each<[string, Act, string | null]>([
  ['enqueue', (q) => q.addAll('other'), 'processing'],
  ['enqueue with options', (q) => q.add('other', { priority: 1, group: 'g' }), 'processing'],
  ['complete', complete, 'completed'],
  ['a retry', failing(false), 'pending'],
  ['a last failure', failing(true), 'failed'],
  ['release', release('interruption'), 'pending'],
  ['release for a rate limit', release('rate_limited'), 'pending'],
  ['reclaim', reclaim, 'pending'],
  [
    'a failure of a job to be cancelled',
    after((q) => q.run(q.scripts.cancel({ id: 'job' })), reclaim as never),
    'cancelled',
  ],
  ['cancel', after(release('interruption'), (q) => q.run(q.scripts.cancel({ id: 'job' }))), 'cancelled'],
  ['remove', after(release('interruption'), (q) => q.run(q.scripts.remove({ id: 'job' }))), null],
  [
    'clean',
    after(release('interruption'), (q) =>
      q.run(q.scripts.clean({ place: 'pending', olderThanMs: 0, limit: 10, passed: 0 })),
    ),
    null,
  ],
  ['redrive', after(failing(true), (q) => q.run(q.scripts.deadLetters.redrive({ ids: ['job'] }))), 'pending'],
  [
    'discard',
    after(failing(true), (q) => q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'job' }] }))),
    null,
  ],
  ['run again', after(complete, (q) => q.run(q.scripts.runAgain({ id: 'job', request: 'request' }))), 'pending'],
])('a counter that is not a number holds up no job: %s', async (_verb, act, status) => {
  const { q, job } = await claimedJob('job');
  await spoilCounters(q);
  await act(q, job);
  expect(await q.status('job')).toBe(status);
  expect(new Set(Object.values(await q.redis.hgetall(q.keys.stats)))).toEqual(new Set(['many']));
});

it('every script counts by lib/core/count, but for the plain enqueue', () => {
  const files = readdirSync('lua', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.lua'));
  const counting = files.filter((file) => readFileSync(`lua/${file}`, 'utf8').includes("'HINCRBY', stats"));
  expect(counting.toSorted()).toEqual(['lib/core/count.lua', 'lib/enqueue/line_up.lua']);
});
