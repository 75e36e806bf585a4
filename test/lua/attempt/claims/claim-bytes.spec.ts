// A claim that is bounded by the bytes of what it brings.
import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue } from '../../../support/queue/queue-state.js';

const payload = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));

async function addSized(q: TestQueue, sizes: Record<string, number>, options = {}): Promise<void> {
  for (const [id, bytes] of Object.entries(sizes)) {
    await q.add(id, options, payload(bytes));
  }
}

function idsOf({ jobs }: { jobs: readonly { id: string }[] }): string[] {
  return jobs.map(({ id }) => id);
}

describe('attempt/claim.lua: bounded by bytes', () => {
  it('brings as many jobs as fit, and leaves the others in their order', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400, c: 400, d: 100, e: 100 });
    const answer = await q.run(q.claimCall(4, { mostBytes: 1_000 }));
    expect([idsOf(answer), answer.isFull]).toEqual([['a', 'b'], true]);
    expect(await q.pending()).toEqual(['c', 'd', 'e']);
    expect(await q.status('c')).toBe('pending');
    expect(await q.takeWake()).toBe(true);
    const rest = await q.run(q.claimCall(4, { mostBytes: 1_000 }));
    expect([idsOf(rest), rest.isFull]).toEqual([['c', 'd', 'e'], false]);
  });

  it('brings the first job however large it is', async () => {
    const q = testQueue();
    await addSized(q, { large: 5_000, small: 10 });
    expect(idsOf(await q.run(q.claimCall(2, { mostBytes: 100 })))).toEqual(['large']);
    expect(idsOf(await q.run(q.claimCall(2, { mostBytes: 100 })))).toEqual(['small']);
  });

  it('is not full where the last job that waits just fits', async () => {
    const q = testQueue();
    await addSized(q, { a: 500, b: 500 });
    const answer = await q.run(q.claimCall(2, { mostBytes: 1_000 }));
    expect([idsOf(answer), answer.isFull]).toEqual([['a', 'b'], false]);
  });

  it('has no bound where none is given', async () => {
    const q = testQueue();
    await addSized(q, { a: 500_000, b: 500_000, c: 500_000 });
    expect(await q.claim(3)).toHaveLength(3);
  });

  it('leaves jobs of a priority at their rank, and plain ones in their line', async () => {
    const q = testQueue();
    await addSized(q, { plain: 400, 'plain-2': 400 });
    await addSized(q, { low: 400, 'low-2': 400 }, { priority: 1 });
    await addSized(q, { high: 400, 'high-2': 400 }, { priority: 9 });
    const places = async () => [
      await q.redis.zrange(q.keys.prioritized, 0, '-1', 'WITHSCORES'),
      await q.redis.lrange(q.keys.pending, 0, -1),
    ];
    const claimed = await q.claim(6, { mostBytes: 400, token: 't' });
    expect(claimed).toHaveLength(1);
    const [ranked, pending] = await places();
    const all = ['high', 'high-2', 'low', 'low-2', 'plain', 'plain-2'];
    expect(ranked!.filter((_, i) => i % 2 === 0)).toEqual(all.slice(0, 4).filter((id) => id !== claimed[0]!.id));
    expect(pending!.toReversed()).toEqual(all.slice(4).filter((id) => id !== claimed[0]!.id));
    for (const [i, id] of ranked!.entries()) {
      if (i % 2 === 0) expect(await q.field(id, 'rank')).toBe(ranked![i + 1]);
    }
  });

  it.each(['another one', 'one whose hash is gone'])(
    'leaves jobs of a group in their line behind %s',
    async (first) => {
      const q = testQueue();
      await addSized(q, { first: 400, large: 800, last: 100 }, { group: 'g' });
      q.broken = first !== 'another one';
      if (q.broken) await q.redis.del(q.keys.job('first'));
      const answer = await q.run(q.claimCall(3, { mostBytes: 500 }));
      expect([idsOf(answer), answer.isFull]).toEqual([q.broken ? [] : ['first'], true]);
      expect(await q.ranked(`${q.keys.groupsPrefix}waiting:g`)).toEqual(['large', 'last']);
      expect((await q.claim(3)).map(({ id }) => id)).toEqual(['large', 'last']);
    },
  );

  it('does not charge the rate of the queue for the jobs that it leaves', async () => {
    const q = testQueue();
    await q.redis.hset(q.keys.settings, { rate_limit: 1, rate_period_ms: 60_000, rate_burst: 3 });
    await addSized(q, { a: 400, b: 400, c: 400 });
    for (const id of ['a', 'b', 'c']) {
      const answer = await q.run(q.claimCall(3, { mostBytes: 400, slots: 3 }));
      expect([idsOf(answer), answer.isFull]).toEqual([[id], id !== 'c']);
    }
  });

  it('gives no fence to the jobs that it leaves', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400, c: 400 });
    const fences = [];
    for (let i = 0; i < 3; i++) {
      const [job] = await q.claim(3, { mostBytes: 400 });
      fences.push(job!.fence);
    }
    expect(fences).toEqual([1, 2, 3]);
  });
});

describe('attempt/claim.lua: bounded by bytes, repeated after a lost reply', () => {
  it('I3: changes nothing, and gets the first answer', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400, c: 400 });
    const request = { token: 't', mostBytes: 1_000 };
    const first = await q.claim(3, request);
    const again = await expectUnchanged(q, () => q.claim(3, request));
    expect(again.map(({ id, fence, attempt }) => [id, fence, attempt])).toEqual(
      first.map(({ id, fence, attempt }) => [id, fence, attempt]),
    );
  });

  it('with fewer bytes gets fewer jobs; the others go back to the front, their attempt uncounted', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400, c: 400, d: 400 });
    expect(await q.claim(3, { token: 't', mostBytes: 2_000 })).toHaveLength(3);
    const again = await q.run(q.claimCall(3, { token: 't', mostBytes: 500 }));
    expect([idsOf(again), again.isFull]).toEqual([['a'], true]);
    expect(await q.pending()).toEqual(['b', 'c', 'd']);
    expect(await q.job('b')).toMatchObject({ status: 'pending', attempts: '0', claim_token: '' });
    expect(await q.ranked(q.keys.claims)).toEqual(['a']);
    expect(await q.takeWake()).toBe(true);
    const third = await expectUnchanged(q, () => q.claim(3, { token: 't', mostBytes: 500 }));
    expect(third.map(({ id }) => id)).toEqual(['a']);
    const [next] = await q.claim(1);
    expect(next).toMatchObject({ id: 'b', attempt: 1 });
  });

  it('with fewer bytes gets as many jobs as fill them to the last one', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400, c: 400 });
    await q.claim(3, { token: 't', mostBytes: 2_000 });
    expect((await q.claim(3, { token: 't', mostBytes: 800 })).map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('with fewer bytes gets fewer jobs; the others keep the attempts that they had before', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400 });
    for (const job of await q.claim(2)) await q.fail(job);
    expect(await q.claim(2, { token: 't', mostBytes: 2_000 })).toHaveLength(2);
    const [kept] = await q.claim(2, { token: 't', mostBytes: 500 });
    expect(await q.field(kept!.id, 'attempts')).toBe('2');
    expect(await q.field(kept!.id === 'a' ? 'b' : 'a', 'attempts')).toBe('1');
  });

  it('takes a first job without a group however large it is, beside groups', async () => {
    const q = testQueue();
    await addSized(q, { plain: 400 });
    await addSized(q, { grouped: 400 }, { group: 'g' });
    const one = async () => (await q.claim(2, { mostBytes: 100 })).map(({ id }) => id).join();
    expect(new Set([await one(), await one()])).toEqual(new Set(['grouped', 'plain']));
  });

  it('with fewer bytes leaves a job of a priority at its rank', async () => {
    const q = testQueue();
    await addSized(q, { a: 400, b: 400 }, { priority: 5 });
    const rank = await q.field('b', 'rank');
    expect(await q.claim(2, { token: 't', mostBytes: 2_000 })).toHaveLength(2);
    const [kept] = await q.claim(2, { token: 't', mostBytes: 500 });
    const left = kept!.id === 'a' ? 'b' : 'a';
    expect(await q.ranked(q.keys.prioritized)).toEqual([left]);
    if (left === 'b') expect(await q.redis.zscore(q.keys.prioritized, 'b')).toBe(rank);
  });
});

// Such a payload can only come from another client.
const LARGE = 33 * 1024 * 1024;

/** Makes a giant of a small job within Redis. */
async function addGiant(q: TestQueue): Promise<void> {
  await q.add('giant');
  const script = "return redis.call('HSET', KEYS[1], 'payload', '\"' .. string.rep('x', ARGV[1] - 2) .. '\"')";
  await q.redis.eval(script, 1, q.keys.job('giant'), LARGE);
}

describe('attempt/claim.lua: a giant payload', () => {
  it('is refused without being loaded, beside a job that runs', async () => {
    const q = testQueue();
    await addGiant(q);
    await q.add('small');
    const { jobs, refused } = await q.run(q.claimCall(2, { mostBytes: 1_000_000 }));
    expect(jobs.map(({ id }) => id)).toEqual(['small']);
    expect(refused).toMatchObject([
      {
        id: 'giant',
        error: {
          name: 'JobOversized',
          message:
            `The payload has ${LARGE} bytes, too many to load. ` +
            'Raise maxPayloadBytes and redrive the job, or discard it.',
        },
        job: { payload: undefined },
      },
    ]);
  });

  it('I3: is refused without being loaded in a repeated claim too', async () => {
    const q = testQueue();
    await addGiant(q);
    const call = q.claimCall(1);
    const first = await q.run(call);
    const second = await expectUnchanged(q, () => q.run(call));
    expect(second.refused.map(({ error }) => error)).toEqual(first.refused.map(({ error }) => error));
    expect(second.jobs).toEqual([]);
  });

  it('is loaded by a claimer by hand whose maxPayloadBytes is half as large, which it notes for others', async () => {
    const q = testQueue({ maxPayloadBytes: LARGE / 2 });
    await addGiant(q);
    expect((await q.run(q.claimCall(1))).jobs.map(({ id }) => id)).toEqual(['giant']);
    expect(await q.redis.hget(q.keys.sweep, 'largest_payload_bytes')).toBe(String(LARGE / 2));
  });

  it('is loaded where another process announced half as much, in a repeated claim too', async () => {
    const q = testQueue();
    await q.redis.hset(q.keys.sweep, 'largest_payload_bytes', LARGE / 2);
    await addGiant(q);
    const call = q.claimCall(1, { slots: 1 });
    expect(idsOf(await q.run(call))).toEqual(['giant']);
    expect((await q.run(call)).jobs[0]!.payload).toHaveLength(LARGE - 2);
  });

  it('is refused, and not lost, where the key of the announcement has a wrong type', async () => {
    const q = testQueue();
    await q.redis.set(q.keys.sweep, 'spoilt');
    await addGiant(q);
    expect((await q.run(q.claimCall(1))).refused.map(({ id }) => id)).toEqual(['giant']);
    await q.redis.del(q.keys.sweep);
  });
});
