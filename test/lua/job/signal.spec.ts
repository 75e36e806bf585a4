import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, type TestQueue, testQueue, claimedJob } from '../../support/queue/queue-state.js';

const call = (q: TestQueue, request = 'r1', given: { signal?: string; data?: string; name?: string } = {}) =>
  q.scripts.signal({ id: 'a', signal: 'ok', data: '1', request, ...given });

async function parked(options = {}) {
  const { q, job } = await claimedJob('a', options);
  await q.run(q.scripts.wait({ claim: job, name: 'ok', kind: 'signal' }));
  await q.run(q.scripts.release([{ ...job, reason: 'wait', delayMs: 0 }]));
  await q.takeWake();
  return q;
}

describe('job/signal.lua', () => {
  it('starts the job that waits for it, at the back, and wakes a worker', async () => {
    const q = await parked();
    await q.addAll('b');
    await q.takeWake();
    expect(await q.run(call(q))).toBe('delivered');
    expect([await q.pending(), await q.takeWake()]).toEqual([['b', 'a'], true]);
    expect(await q.ranked(q.keys.scheduled)).toEqual([]);
    expect(await q.total('signalled')).toBe(1);
    expect(Number(await q.field('a', 'ready_at_ms'))).toBeGreaterThan(0);
  });

  it('I3: is one, however often it is sent: a repeat gets the first outcome, another sender learns that it is known', async () => {
    const q = await parked();
    expect(await q.run(call(q))).toBe('delivered');
    expect(await expectUnchanged(q, () => q.run(call(q)))).toBe('delivered');
    expect(await expectUnchanged(q, () => q.run(call(q, 'r2', { data: '2' })))).toBe('known');
    const [job] = await q.claim(1);
    await q.complete(job!);
    expect(await expectUnchanged(q, () => q.run(call(q)))).toBe('delivered');
  });

  it('is kept for a job that does not wait for it yet: pending, delayed, running or parked for another', async () => {
    const q = await parked();
    expect(await q.run(call(q, 'r1', { signal: 'o' }))).toBe('kept');
    expect(await q.ranked(q.keys.scheduled)).toEqual(['a']);
    const other = testQueue();
    await other.add('a', { delay_ms: 60_000 });
    expect(await other.run(call(other))).toBe('kept');
    await other.run(other.scripts.promote({ id: 'a' }));
    expect(await other.run(call(other, 'r2', { signal: '2' }))).toBe('kept');
    await other.claim(1);
    expect(await other.run(call(other, 'r3', { signal: '3' }))).toBe('kept');
    expect((await other.field('a', 'signals'))!.split('\n')).toHaveLength(4);
  });

  it('starts no retry whose backoff is not over', async () => {
    const q = await parked();
    await q.run(call(q, 'r1', { signal: 'o' }));
    for (const key of [q.keys.scheduled, q.keys.awaitingSignals]) await q.redis.zadd(key, 'XX', 1, 'a');
    const [job] = await q.claim(1);
    await q.fail(job!, { backoffMs: 60_000 });
    expect(await q.run(call(q, 'r2'))).toBe('kept');
    expect(await q.status('a')).toBe('scheduled');
  });

  it('is refused to a job that is unknown, has ended or has another name', async () => {
    const q = testQueue();
    await expectUnchanged(q, async () => expect(await q.run(call(q))).toBe('missing'));
    await q.add('a');
    await expectUnchanged(q, async () => expect(await q.run(call(q, 'r', { name: 'x' }))).toBe('other-name'));
    const [job] = await q.claim(1);
    await q.fail(job!, { final: true });
    await expectUnchanged(q, async () => expect(await q.run(call(q))).toBe('failed'));
    await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
    await q.run(q.scripts.cancel({ id: 'a' }));
    await expectUnchanged(q, async () => expect(await q.run(call(q))).toBe('cancelled'));
    await q.run(q.scripts.runAgain({ id: 'a', request: 'r' }));
    await q.complete((await q.claim(1))[0]!);
    await expectUnchanged(q, async () => expect(await q.run(call(q))).toBe('completed'));
  });

  it('bounds the number and the bytes of the signals of a job', async () => {
    const q = testQueue();
    await q.add('a');
    const lines = Array.from({ length: 256 }, (_, i) => `s${i}\t1\tr\tkept\t\n`);
    await q.redis.hset(q.keys.job('a'), 'signals', lines.join(''));
    await expectUnchanged(q, async () => expect(await q.run(call(q))).toBe('signals'));
    await q.redis.hset(q.keys.job('a'), 'signals', `s\t1\tr\tkept\t"${'x'.repeat(1_048_500)}"\n`);
    const data = `"${'x'.repeat(100)}"`;
    await expectUnchanged(q, async () => expect(await q.run(call(q, 'r', { data }))).toBe('bytes'));
  });

  it('keeps the priority, the group and lifo of a job', async () => {
    const q = await parked({ priority: 5 });
    await q.run(call(q));
    expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
    const lifo = await parked({ lifo: true, delay_ms: 0 });
    await lifo.addAll('b');
    await lifo.run(call(lifo));
    expect(await lifo.pending()).toHaveLength(2);
  });
});

describe('a parked job', () => {
  it.each<[string, (q: TestQueue) => Promise<unknown>]>([
    ['cancelled', (q) => q.run(q.scripts.cancel({ id: 'a' }))],
    ['removed', (q) => q.run(q.scripts.remove({ id: 'a' }))],
    ['cleaned', (q) => q.run(q.scripts.clean({ place: 'scheduled', olderThanMs: 0, limit: 10, passed: 0 }))],
    ['purged', (q) => q.run(q.scripts.purge({ limit: 10 }))],
  ])('leaves no trace where it is %s', async (_, act) => {
    const q = await parked();
    await act(q);
    expect(await q.redis.exists(q.keys.awaitingSignals, q.keys.scheduled)).toBe(0);
  });

  it('is not promoted and not rescheduled by hand', async () => {
    const q = await parked();
    await expectUnchanged(q, async () => {
      expect(await q.run(q.scripts.promote({ id: 'a' }))).toBe('refused');
      expect(await q.run(q.scripts.reschedule({ id: 'a', delayMs: 1_000 }))).toBe('refused');
    });
  });

  it('starts over with another payload, and forgets its signals', async () => {
    const q = await parked();
    await q.run(call(q, 'r', { signal: 'other' }));
    expect(await q.run(q.scripts.update({ id: 'a', payload: '2' }))).toBe('updated');
    expect(await q.pending()).toEqual(['a']);
    expect(await q.redis.hmget(q.keys.job('a'), 'waits', 'signals', 'status')).toEqual([null, null, 'pending']);
    expect(await q.ranked(q.keys.awaitingSignals)).toEqual([]);
  });

  it.each<[string, (q: TestQueue) => Promise<unknown>]>([
    ['the signal', (q) => q.run(call(q))],
    ['the new payload', (q) => q.run(q.scripts.update({ id: 'a', payload: '2' }))],
  ])('is still parked if the step of %s breaks off, and a repeat starts it', async (_, act) => {
    const q = await parked();
    await q.redis.set(q.keys.pending, 'of another type');
    await expect(act(q)).rejects.toThrow();
    await q.redis.del(q.keys.pending);
    expect((await q.ranked(q.keys.scheduled)).length).toBe(1);
    expect(await q.redis.hmget(q.keys.job('a'), 'status', 'payload', 'signals')).toEqual(['scheduled', '{}', null]);
    expect(await q.field('a', 'waits')).toContain('ok\tsignal');
    await act(q);
    expect([await q.pending(), await q.ranked(q.keys.scheduled)]).toEqual([['a'], []]);
  });

  it('is counted apart, by the time of now', async () => {
    const q = await parked();
    await q.add('b', { delay_ms: 60_000 });
    const count = async () => {
      const { scheduled, parked: waits, oldestPendingAgeMs } = await q.run(q.scripts.stats());
      return { scheduled, waits, oldestPendingAgeMs };
    };
    expect(await count()).toEqual({ scheduled: 2, waits: 1, oldestPendingAgeMs: 0 });
    await q.run(call(q));
    expect(await count()).toMatchObject({ scheduled: 1, waits: undefined });
  });

  it('is dropped by the sweep where another program took it out of its place', async () => {
    const q = await parked();
    q.broken = true;
    await q.redis.zrem(q.keys.scheduled, 'a');
    await q.redis.zadd(q.keys.awaitingSignals, 1, 'over');
    await q.run(q.scripts.sweep.tidy({ limit: 100, paceMs: 0 }));
    expect(await q.ranked(q.keys.awaitingSignals)).toEqual([]);
  });
});
