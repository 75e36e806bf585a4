import { describe, expect, it } from '@jest/globals';
import { testQueue, type TestQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';
import { foreignFailure } from './foreign-failure.js';

/** Claims the next job as a client of the Redis pattern does. */
async function foreignClaim(q: TestQueue, token = '0123456789abcdef'): Promise<string> {
  const id = await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  await q.redis.hset(q.keys.job(id), { status: 'processing', claimed_at_ms: 1, claim_token: token });
  await q.redis.hincrby(q.keys.job(id), 'attempts', 1);
  return id;
}

/** Ages the sightings of foreign claims by their timeout. */
async function ageSightings(q: TestQueue): Promise<void> {
  for (const seen of await q.ranked(q.keys.foreignClaims)) {
    await q.redis.zadd(q.keys.foreignClaims, 'XX', 1, seen);
  }
}

async function adopt(q: TestQueue, limit = 100) {
  const { reclaimed, deadLetters } = await q.run(q.scripts.sweep.adoptForeign({ limit }));
  return { reclaimed, deadLetters };
}

describe('sweep/adopt-foreign.lua: claims of clients of the Redis pattern', () => {
  it('I5: their clock starts when a sweep first sees them, whatever their own clock says', async () => {
    const q = await queueWith('a');
    await foreignClaim(q);
    expect(await adopt(q)).toEqual({ reclaimed: [], deadLetters: 0 });
    expect(await adopt(q)).toEqual({ reclaimed: [], deadLetters: 0 });
    expect(await q.redis.lrange(q.keys.processing, 0, -1)).toEqual(['a']);
  });

  it('takes a dead one back to the front of the queue, its token cleared', async () => {
    const q = await queueWith('a', 'b');
    await foreignClaim(q);
    await adopt(q);
    await ageSightings(q);
    await q.takeWake();
    expect(await adopt(q)).toEqual({ reclaimed: [{ id: 'a', status: 'pending' }], deadLetters: 0 });
    expect(await q.pending()).toEqual(['a', 'b']);
    expect(await q.job('a')).toMatchObject({ status: 'pending', claim_token: '', crashes: '1', attempts: '1' });
    expect(await q.redis.llen(q.keys.processing)).toBe(0);
    expect(await q.total('reclaimed')).toBe(1);
    expect(await q.takeWake()).toBe(true);
  });

  it('loses none where the key of its place has another type: the next sweep takes it back', async () => {
    const q = await queueWith('a');
    await foreignClaim(q);
    await adopt(q);
    await ageSightings(q);
    await q.redis.set(q.keys.pending, 'not a list');
    for (let i = 0; i < 4; i++) await expect(adopt(q)).rejects.toThrow(/WRONGTYPE/);
    await q.redis.del(q.keys.pending);
    expect((await adopt(q)).reclaimed).toEqual([{ id: 'a', status: 'pending' }]);
    expect(await q.pending()).toEqual(['a']);
    expect(await q.redis.llen(q.keys.processing)).toBe(0);
  });

  it('takes one back that died between the move and the metadata', async () => {
    const q = await queueWith('a');
    await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
    await adopt(q);
    await ageSightings(q);
    expect((await adopt(q)).reclaimed).toEqual([{ id: 'a', status: 'pending' }]);
    expect(await q.pending()).toEqual(['a']);
  });

  it('starts the clock again for another claim of the same job', async () => {
    const q = await queueWith('a');
    await foreignClaim(q, '1111');
    await adopt(q);
    await ageSightings(q);
    await q.redis.hset(q.keys.job('a'), { claim_token: '2222' });
    expect((await adopt(q)).reclaimed).toEqual([]);
    expect(await q.redis.lrange(q.keys.processing, 0, -1)).toEqual(['a']);
    expect(await q.ranked(q.keys.foreignClaims)).toEqual(['1:2222:a']);
  });

  it('forgets a claim that its client has settled', async () => {
    const q = await queueWith('a');
    await foreignClaim(q);
    await adopt(q);
    await q.redis.lrem(q.keys.processing, 1, 'a');
    await q.redis.hset(q.keys.job('a'), { status: 'completed' });
    await ageSightings(q);
    expect((await adopt(q)).reclaimed).toEqual([]);
    expect(await q.redis.exists(q.keys.foreignClaims)).toBe(0);
    q.broken = true; // the pattern leaves the token in a completed job
  });

  it('I6: a job that keeps crashing its foreign workers ends as a dead letter, by the policy of the queue', async () => {
    const q = testQueue({ maxAttempts: 2 });
    await q.addAll('a');
    for (let i = 0; i < 2; i++) {
      await foreignClaim(q);
      await adopt(q);
      await ageSightings(q);
      await adopt(q);
    }
    expect(await q.status('a')).toBe('failed');
    expect(await q.ranked(q.keys.dead)).toEqual(['a']);
  });

  it('names no worker of ours in the record of a foreign crash', async () => {
    const { q, job } = await claimedJob('a');
    await q.run(q.scripts.release([{ ...job, reason: 'interruption', delayMs: 0 }]));
    await foreignClaim(q);
    await adopt(q);
    await ageSightings(q);
    await adopt(q);
    expect((await q.attemptLog('a')).at(-1)).toMatchObject({ outcome: 'crash', worker: null });
  });

  it('I7: a hash that is gone becomes a dead letter', async () => {
    const q = testQueue();
    await q.redis.lpush(q.keys.processing, 'gone');
    await adopt(q);
    await ageSightings(q);
    expect((await adopt(q)).reclaimed).toEqual([{ id: 'gone', status: 'failed' }]);
    expect(await q.ranked(q.keys.dead)).toEqual(['gone']);
  });

  it('I4: sees a long list in slices, one a run, then begins again', async () => {
    const q = testQueue();
    q.broken = true; // the list alone
    await q.redis.rpush(q.keys.processing, 'a', 'b', 'c', 'd', 'e');
    const seen: number[] = [];
    for (let i = 0; i < 4; i++) {
      await adopt(q, 2);
      seen.push(await q.redis.zcard(q.keys.foreignClaims));
    }
    expect(seen).toEqual([2, 4, 5, 5]);
  });

  it('never touches our own claims', async () => {
    const { q, job } = await claimedJob('a');
    await adopt(q);
    await adopt(q);
    expect(await q.field('a', 'claim_token')).toBe(job.token);
  });
});

describe('sweep/adopt-foreign.lua: dead letters of clients of the Redis pattern', () => {
  it('are kept: in dead, without a TTL', async () => {
    const q = testQueue();
    await foreignFailure(q, 'a');
    expect(await adopt(q)).toEqual({ reclaimed: [], deadLetters: 1 });
    expect(await adopt(q)).toEqual({ reclaimed: [], deadLetters: 0 });
    expect(await q.ranked(q.keys.dead)).toEqual(['a']);
    expect(await q.redis.pttl(q.keys.job('a'))).toBe(-1);
    expect(await q.job('a')).toMatchObject({ claim_token: '', last_error: 'no' });
  });

  it('are looked for by one of the calls in a pace, while each takes dead claims back', async () => {
    const q = testQueue();
    const inTurn = () => q.run(q.scripts.sweep.adoptForeign({ limit: 100, paceMs: 3_600_000 }));
    await foreignFailure(q, 'first');
    expect(await inTurn()).toMatchObject({ deadLetters: 1 });
    await foreignFailure(q, 'second');
    await q.addAll('a');
    await foreignClaim(q);
    await inTurn();
    await ageSightings(q);
    expect(await inTurn()).toMatchObject({ deadLetters: 0, reclaimed: [{ id: 'a', status: 'pending' }] });
    await q.redis.hset(q.keys.sweep, 'adopted_at_ms', (await q.now()) - 3_600_000);
    expect(await inTurn()).toMatchObject({ deadLetters: 1 });
  });

  it('are held to the cap of dead letters', async () => {
    const q = testQueue({ deadLetterCap: 2 });
    for (const id of ['a', 'b', 'c']) await foreignFailure(q, id);
    await adopt(q);
    expect(await q.redis.zcard(q.keys.dead)).toBe(2);
  });

  it('leave ids alone that are in the list and failed no more', async () => {
    const q = await queueWith('again');
    await q.redis.lpush(q.keys.failed, 'again', 'gone');
    expect((await adopt(q)).deadLetters).toBe(0);
  });
});

const look = (q: TestQueue) => q.run(q.scripts.sweep.adoptForeign({ limit: 100 }));

describe('sweep/adopt-foreign.lua: signs of clients of the Redis pattern', () => {
  it('reports them at work for ten minutes after their last claim or failure', async () => {
    const q = testQueue();
    expect(await look(q)).toMatchObject({ clientsAtWork: false });
    await q.addAll('a');
    await foreignClaim(q);
    expect(await look(q)).toMatchObject({ clientsAtWork: true });
    const seenAt = Number(await q.redis.hget(q.keys.sweep, 'foreign_seen_at_ms'));
    await q.redis.lrem(q.keys.processing, 1, 'a');
    await q.redis.hset(q.keys.sweep, 'foreign_seen_at_ms', seenAt - 600_000);
    expect(await look(q)).toMatchObject({ clientsAtWork: false });
    await foreignFailure(q, 'b');
    expect(await look(q)).toMatchObject({ clientsAtWork: true, deadLetters: 1 });
    q.broken = true; // the claim was taken out of its list only
  });

  it('counts claims that their sweep reclaimed, and not those of ours', async () => {
    const q = await queueWith('ours', 'theirs');
    await foreignClaim(q);
    await look(q);
    await ageSightings(q);
    expect(await look(q)).toMatchObject({ sweptByClients: 0, reclaimed: [{ id: 'ours' }] });
    for (const id of ['ours', 'theirs']) {
      expect(await foreignClaim(q, id)).toBe(id);
    }
    await look(q);
    // What the sweep of the pattern does.
    for (const id of ['ours', 'theirs']) {
      await q.redis.lrem(q.keys.processing, 1, id);
      await q.redis.rpush(q.keys.pending, id);
      await q.redis.hset(q.keys.job(id), { status: 'pending', claim_token: '', claimed_at_ms: 0 });
    }
    await q.redis.hset(q.keys.job('theirs'), { reclaimed_at_ms: 12_345 });
    await ageSightings(q);
    expect(await look(q)).toMatchObject({ sweptByClients: 1, reclaimed: [] });
  });

  it("says the name of a job that it buries, also of a foreign producer's", async () => {
    const q = testQueue({ maxCrashes: 1 });
    await q.run(q.scripts.enqueue([{ id: 'a', name: '', payload: '{"kind":"fax"}' }]));
    await q.redis.hdel(q.keys.job('a'), 'name');
    await foreignClaim(q);
    await look(q);
    await ageSightings(q);
    expect(await look(q)).toMatchObject({ reclaimed: [{ id: 'a', status: 'failed' }] });
    expect(await q.field('a', 'last_error')).toContain('its name is "fax"');
  });
});
