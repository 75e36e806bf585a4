// What the sweep does for handlers that keep less than their queue: by the limits that the workers announced.
import { describe, expect, it } from '@jest/globals';
import { DeadLetterCalls } from '#queue/scripts/dead-letter-calls.js';
import type { HandlerRetention } from '#queue/store/store-calls.js';
import { expectUnchanged, queueOn, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const HOUR = 3_600_000;
const error = { name: 'Error', message: 'no' };

async function announce(q: TestQueue, retention: HandlerRetention, name = q.name): Promise<void> {
  await q.run(q.scripts.announce('w1', true, [{ name, maxAttempts: 3, maxCrashes: 3, ...retention }]));
}

/** What ends within one ms is in no order. */
async function nextMs(q: TestQueue): Promise<void> {
  const before = await q.now();
  while ((await q.now()) === before);
}

/** Jobs of a name that have ended one after the other, a ms or more apart. */
async function end(q: TestQueue, state: string, ids: string[], name = q.name): Promise<void> {
  for (const id of ids) {
    await nextMs(q);
    await q.run(q.scripts.enqueue([{ id, name, payload: '{}', options: '' }]));
    if (state === 'cancelled') {
      await q.run(q.scripts.cancel(id));
      continue;
    }
    const [job] = await q.claim(1);
    if (state === 'completed') {
      await q.run(q.scripts.complete([{ ...job!, result: '1' }]));
    } else {
      await q.run(q.scripts.fail([{ ...job!, error, final: true, backoffMs: 0 }]));
    }
  }
}

/** The ids of a state, oldest first, as they are counted. */
async function kept(q: TestQueue, state: string): Promise<string[]> {
  if (state === 'failed') {
    return q.ranked(q.keys.dead);
  }
  return (await q.redis.lrange(q.keys[state as 'completed'], 0, -1)).toReversed();
}

async function sweep(q: TestQueue): Promise<void> {
  while (await q.run(q.scripts.tidy(100)));
}

const CAPS: [state: string, option: keyof HandlerRetention][] = [
  ['completed', 'completedHistory'],
  ['failed', 'deadLetterCap'],
  ['cancelled', 'cancelledHistory'],
];

describe.each(CAPS)('of %s jobs tidy.lua keeps as many of a name as', (state, option) => {
  it('its handler says, also of those that ended before it said so, and leaves others alone', async () => {
    const q = testQueue();
    await end(q, state, ['a', 'b']);
    await end(q, state, ['x', 'y', 'z'], 'other');
    await end(q, state, ['c', 'd']);
    await announce(q, { [option]: 2 });
    await sweep(q);
    expect(await kept(q, state)).toEqual(['x', 'y', 'z', 'c', 'd']);
    await end(q, state, ['e']);
    await sweep(q);
    expect(await kept(q, state)).toEqual(['x', 'y', 'z', 'd', 'e']);
    expect(await q.redis.exists(q.keys.job('d'))).toBe(1);
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(state === 'failed' ? -2 : 10_000);
    await expectUnchanged(q, async () => expect(await q.run(q.scripts.tidy(100))).toBe(false));
  });

  it('a lower cap says, without another job that ends', async () => {
    const q = testQueue();
    await announce(q, { [option]: 3 });
    await end(q, state, ['a', 'b', 'c']);
    await sweep(q);
    expect(await kept(q, state)).toEqual(['a', 'b', 'c']);
    await announce(q, { [option]: 1 });
    await sweep(q);
    expect(await kept(q, state)).toEqual(['c']);
  });

  it('its handler said, also once no worker serves it any more', async () => {
    const q = testQueue();
    await announce(q, { [option]: 1 });
    await end(q, state, ['a', 'b']);
    await q.run(q.scripts.announce('w1', false));
    await q.run(q.scripts.announce('w2', true, [{ name: 'other', maxAttempts: 1, maxCrashes: 1 }]));
    await sweep(q);
    expect(await kept(q, state)).toEqual(['b']);
  });

  it('the queue says, once its handler says nothing', async () => {
    const q = testQueue();
    await announce(q, { [option]: 1 });
    await end(q, state, ['a', 'b']);
    await sweep(q);
    expect(await kept(q, state)).toEqual(['b']);
    await announce(q, {});
    await end(q, state, ['c', 'd']);
    await sweep(q);
    expect(await kept(q, state)).toEqual(['b', 'c', 'd']);
  });

  it('counts no job that was removed, nor one that has another life by now', async () => {
    const q = testQueue();
    await announce(q, { [option]: 3 });
    await end(q, state, ['a', 'b', 'c', 'd']);
    await sweep(q);
    await q.run(q.scripts.remove('d'));
    await end(q, state, ['e']);
    await sweep(q);
    expect(await kept(q, state)).toEqual(['b', 'c', 'e']);
    await q.run(q.scripts.remove('c'));
    await q.add('c', { delay_ms: HOUR });
    await announce(q, { [option]: 2 });
    await sweep(q);
    expect(await kept(q, state)).toEqual(['b', 'e']);
    expect(await q.redis.pttl(q.keys.job('c'))).toBe(-1);
  });

  it('its handler says in one sweep, however many there were before it said so', async () => {
    const q = testQueue();
    await end(
      q,
      state,
      Array.from({ length: 60 }, (_, i) => `job-${10 + i}`),
    );
    await announce(q, { [option]: 3 });
    while (await q.run(q.scripts.tidy(16)));
    expect(await kept(q, state)).toEqual(['job-67', 'job-68', 'job-69']);
  });

  it('I4: in slices of what it looks at and of what it drops', async () => {
    const q = testQueue();
    const ids = Array.from({ length: 12 }, (_, i) => `job-${10 + i}`);
    await end(q, state, ids);
    await announce(q, { [option]: 2 });
    let most = 0;
    for (let calls = 0; (await kept(q, state)).length > 2; calls++) {
      const before = (await kept(q, state)).length;
      await q.run(q.scripts.tidy(4));
      most = Math.max(most, before - (await kept(q, state)).length);
      expect(calls).toBeLessThan(20);
    }
    expect(most).toBeLessThanOrEqual(4);
    expect(await kept(q, state)).toEqual(ids.slice(-2));
  });
});

/** Completes so many jobs of a name, a hundred at a time; answers their ids. */
async function completeMany(q: TestQueue, name: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, i) => `${name}-${10_000 + i}`);
  for (let i = 0; i < count; i += 100) {
    const jobs = ids.slice(i, i + 100).map((id) => ({ id, name, payload: '{}', options: '' }));
    await q.run(q.scripts.enqueue(jobs));
    await q.run(q.scripts.complete((await q.claim(100)).map((job) => ({ ...job, result: '' }))));
  }
  return ids;
}

/** As one sweep does; answers its slices, of which it makes at most 500. */
async function sweepOnce(q: TestQueue): Promise<number> {
  let slices = 1;
  while (await q.run(q.scripts.tidy(200))) slices++;
  return slices;
}

it.each([50, 300, 5_500])(
  'tidy.lua keeps up with 5,000 completions between two sweeps: cursor %d',
  async (cursor) => {
    const q = testQueue({ completedHistory: 10_000 });
    await announce(q, { completedHistory: 10 }, 'login');
    const others = await completeMany(q, 'order', 1_000);
    await sweepOnce(q);
    await q.redis.hset(q.keys.sweep, 'ended_completed', cursor); // where the last sweep left off
    const logins = await completeMany(q, 'login', 5_000);
    expect(await sweepOnce(q)).toBeLessThan(500);
    expect(await kept(q, 'completed')).toEqual([...others, ...logins.slice(-10)]);
    expect(await sweepOnce(q)).toBeLessThan(5);
  },
);

it('I4: tidy.lua searches long lists for so many entries in one call, whatever the number of handlers', async () => {
  const q = testQueue({ completedHistory: 1_000_000 });
  q.broken = true; // ids without a job
  const names = ['a', 'b', 'c', 'd'];
  const ended = (await q.now()) - HOUR;
  const gone = Array.from({ length: 50_000 }, (_, i) => `gone-${i}`);
  for (const ids of [['newest'], gone, names, gone, ['oldest']]) {
    await q.redis.rpush(q.keys.completed, ...ids);
  }
  for (const id of ['newest', 'oldest', ...names]) {
    await q.redis.hset(q.keys.job(id), { name: id, status: 'completed', completed_at_ms: ended });
  }
  for (const name of names) {
    await announce(q, { completedHistory: 0 }, name);
    await q.redis.zadd(q.keys.histories, 0, `"${name}" ${ended} ${name}`);
  }
  // A search passes over 10,000 from both ends, then over half the list: it is counted as 120,000.
  expect(await q.run(q.scripts.tidy(100))).toBe(true);
  expect(await q.redis.zcard(q.keys.histories)).toBe(2);
  await sweep(q);
  expect(await q.redis.zcard(q.keys.histories)).toBe(0);
  expect(await q.redis.llen(q.keys.completed)).toBe(100_002);
});

describe('tidy.lua', () => {
  it('deletes the dead letters of a name past the age that its handler says', async () => {
    const q = testQueue({ deadLetterAgeMs: 10 * HOUR });
    await announce(q, { deadLetterAgeMs: HOUR });
    await end(q, 'failed', ['old', 'new']);
    await end(q, 'failed', ['other'], 'other');
    for (const id of ['old', 'other']) {
      const past = (await q.now()) - 2 * HOUR;
      await q.redis.zadd(q.keys.dead, past, id);
      await q.redis.hset(q.keys.job(id), 'failed_at_ms', past);
    }
    await sweep(q);
    expect(await kept(q, 'failed')).toEqual(['other', 'new']);
    expect(await q.redis.exists(q.keys.job('old'))).toBe(0);
  });

  it.each(['redrive', 'deadLetters.discard'] as const)('counts no dead letter after a %s', async (verb) => {
    const q = testQueue();
    await announce(q, { deadLetterCap: 2 });
    await end(q, 'failed', ['a', 'b']);
    await sweep(q);
    const letters = new DeadLetterCalls(q.keys);
    await q.run(verb === 'redrive' ? q.scripts.redrive(['b']) : letters.discard([{ id: 'b' }]));
    await q.claim(1);
    await end(q, 'failed', ['c']);
    await sweep(q);
    expect(await kept(q, 'failed')).toEqual(['a', 'c']);
  });

  it('knows a dead letter that fails again after a redrive as the newest', async () => {
    const q = testQueue();
    await announce(q, { deadLetterCap: 2 });
    await end(q, 'failed', ['a', 'b']);
    await sweep(q);
    await q.run(q.scripts.redrive(['a']));
    const [a] = await q.claim(1);
    await nextMs(q);
    await q.run(q.scripts.fail([{ ...a!, error, final: true, backoffMs: 0 }]));
    await end(q, 'failed', ['c']);
    await sweep(q);
    expect(await kept(q, 'failed')).toEqual(['a', 'c']);
  });

  it('applies the limits of a handler to what a client of the pattern has ended', async () => {
    const q = testQueue();
    await announce(q, { completedHistory: 1, deadLetterCap: 1 });
    for (const id of ['c1', 'c2', 'f1', 'f2']) {
      const job = await q.addAndClaim(id);
      await q.redis.zrem(q.keys.claims, id);
      const status = id.startsWith('c') ? 'completed' : 'failed';
      const at = (await q.now()) - HOUR + Number(id.slice(1));
      await q.redis.hset(q.keys.job(job.id), { status, claim_token: '', [`${status}_at_ms`]: at });
      await q.redis.lpush(q.keys[status], id);
      await q.redis.pexpire(q.keys.job(id), HOUR / 60);
      const before = await q.now();
      while ((await q.now()) === before);
      await q.run(q.scripts.adopt(10));
    }
    await sweep(q);
    expect(await kept(q, 'completed')).toEqual(['c2']);
    expect(await kept(q, 'failed')).toEqual(['f2']);
  });

  const LESS = { resultTtlMs: 1_000 };
  it.each<[string, HandlerRetention, HandlerRetention]>([
    ['completed', { resultTtlMs: 60_000, cancelledTtlMs: 1_000 }, { resultTtlMs: 120_000, cancelledTtlMs: 1_000 }],
    ['cancelled', { resultTtlMs: 60_000 }, { resultTtlMs: 120_000 }],
    ['cancelled', { ...LESS, cancelledTtlMs: 60_000 }, { ...LESS, cancelledTtlMs: 120_000 }],
  ])(
    'cuts the life of %s jobs that is longer than holds now: %j, of a handler %j',
    async (state, all, ofHandler) => {
      const before = testQueue({ resultTtlMs: HOUR });
      await end(before, state, ['plain', 'own']);
      await before.redis.hset(before.keys.job('own'), 'options', '{"resultTtlMs":3000000}');
      await end(before, state, ['handled'], 'handled');
      const q = queueOn(before.redis, all, before.name);
      await announce(q, ofHandler, 'handled');
      await sweep(q);
      const lives = ['plain', 'own', 'handled'].map((id) => q.redis.pttl(q.keys.job(id)));
      const [plain, own, handled] = await Promise.all(lives);
      expect(plain).toBeLessThanOrEqual(60_000);
      expect(own).toBeGreaterThan(120_000);
      expect(handled).toBeGreaterThan(60_000);
      expect(handled).toBeLessThanOrEqual(120_000);
    },
  );

  it('goes by an announcement of a version that knew no life of cancelled jobs', async () => {
    const before = testQueue({ resultTtlMs: HOUR });
    await end(before, 'cancelled', ['plain']);
    await end(before, 'cancelled', ['handled'], 'handled');
    const q = queueOn(before.redis, { cancelledTtlMs: 1_000 }, before.name);
    await q.redis.hset(q.keys.retention, { '': 'result_ttl=120000', handled: '::::60000 "handled"' });
    await sweep(q);
    const [plain, handled] = await Promise.all(['plain', 'handled'].map((id) => q.redis.pttl(q.keys.job(id))));
    expect(plain).toBeGreaterThan(60_000);
    expect(plain).toBeLessThanOrEqual(120_000);
    expect(handled).toBeGreaterThan(1_000);
    expect(handled).toBeLessThanOrEqual(60_000);
  });

  it('cuts the lives of many in one sweep, in slices', async () => {
    const before = testQueue({ resultTtlMs: HOUR });
    const ids = await completeMany(before, 'order', 1_000);
    const q = queueOn(before.redis, { resultTtlMs: 60_000 }, before.name);
    expect(await sweepOnce(q)).toBeGreaterThan(10);
    const lives = await Promise.all(ids.map((id) => q.redis.pttl(q.keys.job(id))));
    expect(Math.max(...lives)).toBeLessThanOrEqual(60_000);
    await expectUnchanged(q, async () => expect(await q.run(q.scripts.tidy(5_000))).toBe(false));
  });

  it.each([
    ['a', 'a b'],
    ['a', 'a" 1760000000000 x'],
    ['ü/"', 'ü'],
    ['failed', 'failed "x"'],
  ])('takes the names %j and %j for two', async (one, other) => {
    const q = testQueue();
    await announce(q, { deadLetterCap: 1, cancelledHistory: 1 }, one);
    await end(q, 'failed', ['f1', 'f2'], one);
    await end(q, 'failed', ['f3', 'f4'], other);
    await end(q, 'cancelled', ['c1', 'c2'], one);
    await end(q, 'cancelled', ['c3', 'c4'], other);
    await sweep(q);
    expect(await kept(q, 'failed')).toEqual(['f2', 'f3', 'f4']);
    expect(await kept(q, 'cancelled')).toEqual(['c2', 'c3', 'c4']);
  });

  it.each(['', 'nonsense', '1:2:3', '::1:: x', '-1:::: "x"'])('passes over an announcement of %j', async (text) => {
    const q = testQueue();
    await end(q, 'failed', ['a', 'b']);
    await q.redis.hset(q.keys.retention, q.name, text);
    await sweep(q);
    expect(await kept(q, 'failed')).toEqual(['a', 'b']);
  });

  it('passes over ids and times as only clients of the pattern write them', async () => {
    const q = testQueue();
    await announce(q, { completedHistory: 0 });
    q.broken = true; // ids that ours would refuse
    for (const [id, at] of [
      ['with a blank', '1760000000000'],
      ['seconds', '1760000000.25'],
    ]) {
      await q.redis.hset(q.keys.job(id!), { name: q.name, status: 'completed', completed_at_ms: at! });
      await q.redis.lpush(q.keys.completed, id!);
    }
    await sweep(q);
    expect(await kept(q, 'completed')).toEqual(['with a blank', 'seconds']);
  });
});
