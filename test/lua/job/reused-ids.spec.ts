// An id whose hash was deleted, and that was enqueued again, has two places. Its job runs once, when it is due.
import { describe, expect, it } from '@jest/globals';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { testQueue } from '../../support/queue/queue-state.js';

type Options = Record<string, unknown>;

/** Adds X in one way, deletes its hash, and adds it again in another way. */
async function addTwice(q: TestQueue, first: Options, second: Options): Promise<void> {
  await q.add('X', { ...first, request: 'r1' });
  await q.redis.del(q.keys.job('X'));
  await q.add('X', { ...second, request: 'r2' }, '{"n":2}');
}

/** Claims and completes until nothing is left to claim. Returns the payloads that ran. */
async function runAll(q: TestQueue, atOnce: number): Promise<string[]> {
  const ran: string[] = [];
  for (let i = 0; i < 4; i++) {
    const { jobs, refused } = await q.run(q.claimCall(atOnce));
    ran.push(...refused.map(({ error }) => error.message), ...jobs.map(({ payload }) => JSON.stringify(payload)));
    await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '' }))));
  }
  return ran;
}

const WAITING: [string, Options][] = [
  ['plain', {}],
  ['with a priority', { priority: 3 }],
  ['in a group', { group: 'g' }],
  ['in another group', { group: 'h' }],
  ['with lifo', { lifo: true }],
];

const PAIRS = WAITING.flatMap(([first, before]) =>
  WAITING.flatMap(([second, after]) => [1, 5].map((atOnce) => ({ first, second, atOnce, before, after }))),
);

describe('an id whose hash is gone, but which is still in a place, and is enqueued again', () => {
  it.each(PAIRS)('runs once: $first, then $second, claimed by $atOnce', async ({ before, after, atOnce }) => {
    const q = testQueue();
    await addTwice(q, before, after);
    expect(await runAll(q, atOnce)).toEqual(['{"n":2}']);
    expect((await q.run(q.scripts.stats())).pending).toBe(0);
  });

  it.each(WAITING)('does not run before its time: %s, then delayed', async (_, before) => {
    const q = testQueue();
    await addTwice(q, before, { delay_ms: 60_000 });
    expect(await runAll(q, 5)).toEqual([]);
    await q.makeDue('X');
    expect(await runAll(q, 5)).toEqual(['{"n":2}']);
  });

  it.each(WAITING)('runs once: delayed, then %s', async (_, after) => {
    const q = testQueue();
    await addTwice(q, { delay_ms: 60_000 }, after);
    expect(await q.ranked(q.keys.scheduled)).toEqual([]);
    expect(await runAll(q, 5)).toEqual(['{"n":2}']);
  });

  it('a claim by names drops the second place too', async () => {
    const q = testQueue();
    await addTwice(q, {}, { delay_ms: 60_000 });
    const only = {
      limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }],
      cursor: -1,
      unhandledAgeMs: 0,
      seenMs: 30_000,
    };
    expect(await q.claim(5, { only })).toEqual([]);
    expect(await q.pending()).toEqual([]);
  });

  it('the claim of the first job ends without the second one', async () => {
    const q = testQueue();
    const first = await q.addAndClaim('X', { request: 'r1' });
    await q.redis.del(q.keys.job('X'));
    await q.add('X', { request: 'r2' });
    await q.expireClaims('X');
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
    expect(await q.redis.zcard(q.keys.claims)).toBe(0);
    expect((await q.complete(first)).lost).toEqual([0]);
    expect(await runAll(q, 5)).toHaveLength(1);
  });
});

async function reuse(q: TestQueue): Promise<void> {
  const job = await q.addAndClaim('X', { request: 'r1' });
  await q.fail(job, { final: true });
  await q.redis.del(q.keys.job('X'));
  await q.add('X', { request: 'r2' });
}

describe('a dead letter whose hash is gone, and whose id is enqueued again', () => {
  it.each<[string, (q: TestQueue) => Promise<unknown>]>([
    ['discarded', (q) => q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'X' }] }))],
    ['redriven', (q) => q.run(q.scripts.deadLetters.redrive({ ids: ['X'] }))],
    ['cleaned', (q) => q.run(q.scripts.clean({ place: 'failed', olderThanMs: 0, limit: 10, passed: 0 }))],
  ])('the second job is not %s with it', async (_, act) => {
    const q = testQueue();
    await reuse(q);
    await act(q);
    expect(await q.ranked(q.keys.dead)).toEqual([]);
    expect(await runAll(q, 5)).toHaveLength(1);
  });

  it('the cap of dead letters does not delete the second job', async () => {
    const q = testQueue({ deadLetterCap: 1 });
    await q.add('X', { request: 'r2' });
    await q.redis.zadd(q.keys.dead, 1, 'X', 2, 'newer');
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await runAll(q, 5)).toHaveLength(1);
  });
});
