import { describe, expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue-state.js';

const error = { name: 'Error', message: 'no' };

/** The key of the job holds a string, as a stray SET would leave it. */
async function corrupt(q: TestQueue, id: string): Promise<void> {
  await q.redis.del(q.keys.job(id));
  await q.redis.set(q.keys.job(id), 'not a hash');
  q.broken = true;
}

describe('I7: a job key that is no hash stops no batch', () => {
  it('claim refuses it and hands out the rest', async () => {
    const q = testQueue();
    await q.addAll('bad', 'good');
    await corrupt(q, 'bad');
    const { jobs, refused } = await q.run(q.claimCall(2));
    expect(jobs.map((job) => job.id)).toEqual(['good']);
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    expect(await q.ranked(q.keys.dead)).toEqual(['bad']);
    expect(await q.field('bad', 'last_error')).toMatch(/hash is missing/);
  });

  it('promote moves it along with the rest', async () => {
    const q = testQueue();
    await q.add('bad', { delay_ms: 60_000 });
    await q.add('good', { delay_ms: 60_000 });
    await q.makeDue('bad', 'good');
    await corrupt(q, 'bad');
    expect(await q.run(q.scripts.promote(10))).toBe(2);
    expect(await q.pending()).toEqual(['bad', 'good']);
  });

  it.each(['complete', 'fail', 'release'] as const)('%s settles the rest', async (verb) => {
    const q = testQueue();
    await q.addAll('bad', 'good');
    const claims = await q.claim(2);
    await corrupt(q, 'bad');
    if (verb === 'complete') {
      expect(await q.run(q.scripts.complete(claims.map((job) => ({ ...job, result: '1' }))))).toEqual([0]);
      expect(await q.status('good')).toBe('completed');
    } else if (verb === 'fail') {
      const failures = claims.map((job) => ({ ...job, error, final: true, backoffMs: 0 }));
      expect(await q.run(q.scripts.fail(failures))).toEqual(['lost', 'failed']);
    } else {
      const releases = claims.map((job) => ({ ...job, reason: 'interruption' as const, delayMs: 0 }));
      expect(await q.run(q.scripts.release(releases))).toEqual(['lost', 'released']);
    }
  });

  it('extend lengthens the rest', async () => {
    const q = testQueue();
    await q.addAll('bad', 'good');
    const claims = await q.claim(2);
    await corrupt(q, 'bad');
    expect(await q.run(q.scripts.extend(claims))).toEqual({ lost: ['bad'], cancelRequested: [] });
  });

  it('reclaim leaves a dead letter that says so, and takes back the rest', async () => {
    const q = testQueue();
    await q.addAll('bad', 'good');
    await q.claim(2);
    await q.expireClaims('bad', 'good');
    await corrupt(q, 'bad');
    const { reclaimed } = await q.run(q.scripts.reclaim(10, 1_000_000, 0));
    expect(reclaimed).toContainEqual({ id: 'bad', status: 'failed' });
    expect(reclaimed).toContainEqual({ id: 'good', status: 'pending' });
  });
});
