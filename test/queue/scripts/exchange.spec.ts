import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue-state.js';

function request(count: number, token = 't2') {
  return { count, token, worker: 'w', stream: 'trip' };
}

/** Completes `claimed` with the result 1 and claims `count` others. */
function exchange(q: TestQueue, claimed: readonly { id: string; token: string; fence: number }[], count: number) {
  return q.run(
    q.scripts.exchange(
      claimed.map((job) => ({ ...job, result: '1' })),
      request(count),
    ),
  );
}

describe('exchange.lua', () => {
  it('completes and claims in one step', async () => {
    const q = testQueue();
    await q.addAll('a', 'b', 'c');
    const { lost, claimed } = await exchange(q, await q.claim(1), 1);
    expect(lost).toEqual([]);
    expect(claimed.jobs.map((job) => [job.id, job.attempt, job.token])).toEqual([['b', 1, 't2']]);
    expect(await q.job('a')).toMatchObject({ status: 'completed', result: '1', claim_token: '' });
    expect(await q.status('b')).toBe('processing');
    expect(await q.redis.zrange(q.keys.claims, 0, '-1')).toEqual(['b']);
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['a']);
    expect(await q.total('completed')).toBe(1);
  });

  it('leaves no claim when nothing is left to claim', async () => {
    const q = testQueue();
    const job = await q.addAndClaim('a');
    expect(await exchange(q, [job], 5)).toEqual({
      lost: [],
      claimed: { jobs: [], refused: [], nextDueInMs: undefined },
    });
    expect(await q.redis.exists(q.keys.claims)).toBe(0);
  });

  it('I2: names the completions whose claim was lost, completes the others, and claims', async () => {
    const q = testQueue();
    await q.addAll('a', 'b', 'c');
    const [a, b] = await q.claim(2);
    const { lost, claimed } = await exchange(q, [{ ...a!, token: 'stale' }, b!], 1);
    expect(lost).toEqual([0]);
    expect(claimed.jobs.map((job) => job.id)).toEqual(['c']);
    expect(await q.status('a')).toBe('processing');
    expect(await q.status('b')).toBe('completed');
  });

  it('I3: repeated with the same token it changes nothing and gets the first answer', async () => {
    const q = testQueue();
    await q.addAll('a', 'b', 'c');
    const claimed = await q.claim(1);
    const { claimed: first } = await exchange(q, claimed, 1);
    const repeated = await expectUnchanged(q, () => exchange(q, claimed, 1));
    expect(repeated.lost).toEqual([]);
    expect(repeated.claimed.jobs.map(({ id, fence }) => [id, fence])).toEqual(
      first.jobs.map(({ id, fence }) => [id, fence]),
    );
  });

  it('tells the limits by name from the completions that follow them', async () => {
    const q = testQueue();
    await q.addAll('a', 'used-up', 'c');
    await q.redis.hset(q.keys.job('used-up'), 'attempts', 2);
    const [a] = await q.claim(1);
    const policies = [
      { name: 'other', maxAttempts: 9, maxCrashes: 9 },
      { name: q.name, maxAttempts: 2, maxCrashes: 2 },
    ];
    const { lost, claimed } = await q.run(q.scripts.exchange([{ ...a!, result: '' }], { ...request(2), policies }));
    expect(lost).toEqual([]);
    expect(await q.status('a')).toBe('completed');
    expect(claimed.refused.map((job) => [job.id, job.error.name])).toEqual([['used-up', 'AttemptsExhausted']]);
    expect(claimed.jobs.map((job) => [job.id, job.maxAttempts])).toEqual([['c', 2]]);
  });

  it('completes also while the queue is paused, and claims nothing', async () => {
    const q = testQueue();
    await q.addAll('a', 'b');
    const claimed = await q.claim(1);
    await q.run(q.scripts.pause());
    const answer = await exchange(q, claimed, 1);
    expect(answer.claimed.jobs).toEqual([]);
    expect(await q.status('a')).toBe('completed');
    expect(await q.pending()).toEqual(['b']);
  });
});
