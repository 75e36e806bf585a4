// The frame around a script, run with the transitions of one that it wraps.
import { describe, expect, it } from '@jest/globals';
import { audited } from '#queue/scripts/audited-calls.js';
import type { AuditMark } from '#queue/transport/audited-script.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import { testQueue, type TestQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

const framed = <Reply>(q: TestQueue, call: ScriptCall<Reply>, options: Omit<AuditMark, 'keys'>) =>
  q.run(audited(call, { keys: [q.keys.audit, q.keys.outcomesA, q.keys.outcomesB], ...options }));
const run = <Reply>(q: TestQueue, call: ScriptCall<Reply>) => framed(q, call, { maxEntries: 100 });

const AGE_MS = 3_600_000;
const withOutcomes = <Reply>(q: TestQueue, call: ScriptCall<Reply>, cap = 1_000) =>
  framed(q, call, { outcomes: { cap, ageMs: AGE_MS } });
const lines = async (q: TestQueue) => [
  await q.redis.hgetall(q.keys.outcomesA),
  await q.redis.hgetall(q.keys.outcomesB),
];

async function trail(q: TestQueue): Promise<Record<string, string>[]> {
  const entries = await q.redis.xrange(q.keys.audit, '-', '+');
  return entries.map(([, fields]) =>
    Object.fromEntries(Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!])),
  );
}

it("writes an entry for each job whose status changes, and returns the script's reply", async () => {
  const q = testQueue();
  const jobs = ['a', 'b'].map((id) => ({ id, name: 'email', payload: '{}' }));
  expect(await run(q, q.scripts.enqueue(jobs))).toHaveLength(2);
  const shared = {
    name: 'email',
    transition: 'enqueue',
    from: '',
    to: 'pending',
    attempt: '0',
    worker: '',
    error: '',
  };
  expect(await trail(q)).toMatchObject([
    { id: 'a', ...shared },
    { id: 'b', ...shared },
  ]);
});

it('writes nothing for a repeat, and the deletion of a job with an empty state', async () => {
  const q = await queueWith('a');
  await run(q, q.scripts.remove({ id: 'a' }));
  await run(q, q.scripts.remove({ id: 'a' }));
  expect(await trail(q)).toMatchObject([{ id: 'a', transition: 'remove', from: 'pending', to: '' }]);
});

it('notes the error of this transition, at most 200 bytes of it', async () => {
  const { q, job } = await claimedJob('a');
  const error = { name: 'Error', message: 'ä'.repeat(150) };
  await run(q, q.scripts.fail([{ ...job, error, final: true, backoffMs: 0 }]));
  expect(await trail(q)).toMatchObject([
    { from: 'processing', to: 'failed', attempt: '1', worker: 'worker-1', error: 'ä'.repeat(100) },
  ]);
});

describe('outcomes', () => {
  it('keeps a line for each ended job, and no trail', async () => {
    const q = await queueWith('a', 'b', 'c');
    const [a, b] = await q.claim(2);
    await withOutcomes(q, q.scripts.complete([{ ...a!, result: '1' }]));
    const error = { name: 'Error', message: 'no' };
    await withOutcomes(q, q.scripts.fail([{ ...b!, error, final: true, backoffMs: 0 }]));
    await withOutcomes(q, q.scripts.cancel({ id: 'c' }));
    const [first, second] = await lines(q);
    expect(first).toEqual({
      a: expect.stringMatching(new RegExp(`^completed \\d{13} 1 ${q.name}$`)),
      b: expect.stringMatching(/^failed \d{13} 1 /),
      c: expect.stringMatching(/^cancelled \d{13} 0 /),
    });
    expect(second).toEqual({});
    const left = await q.redis.pttl(q.keys.outcomesA);
    expect(left).toBeGreaterThan(AGE_MS);
    expect(left).toBeLessThanOrEqual(2 * AGE_MS);
    expect(await trail(q)).toEqual([]);
  });

  it('writes to the other hash once one is full or old, and empties it before', async () => {
    const q = testQueue();
    const end = async (id: string, cap?: number) => {
      await q.addAll(id);
      await withOutcomes(q, q.scripts.cancel({ id }), cap);
      return (await lines(q)).map((each) => Object.keys(each).toSorted());
    };
    expect(await end('a', 2)).toEqual([['a'], []]);
    expect(await end('b', 2)).toEqual([['a'], ['b']]);
    await q.redis.pexpire(q.keys.outcomesB, 2 * AGE_MS + 5); // so that the order does not hang on a millisecond
    expect(await end('c', 2)).toEqual([['c'], ['b']]);
    await q.redis.pexpire(q.keys.outcomesB, AGE_MS - 1);
    await q.redis.pexpire(q.keys.outcomesA, AGE_MS);
    expect(await end('d')).toEqual([['c'], ['d']]);
  });

  it('deletes the line of a job that somebody deletes, and keeps that of a job that retention deletes', async () => {
    const q = await queueWith('a', 'b');
    const error = { name: 'Error', message: 'no' };
    for (const job of await q.claim(2)) {
      await q.fail(job, { error, final: true }); // before the option was set
    }
    await q.redis.zadd(q.keys.dead, 1, 'a');
    await withOutcomes(q, {
      ...q.scripts.sweep.tidy({ limit: 9 }),
      args: ['9', '1000', '1', '1', '9', '9', '9', '9', '9', '0', '9'],
    });
    expect(await q.status('a')).toBeNull();
    expect((await lines(q))[0]).toEqual({ a: expect.stringMatching(/^failed \d{13} 1 /) });
    await withOutcomes(q, q.scripts.cancel({ id: 'b' }));
    await q.addAll('c', 'd');
    await withOutcomes(q, q.scripts.cancel({ id: 'c' }));
    await withOutcomes(q, q.scripts.cancel({ id: 'd' }));
    await withOutcomes(q, q.scripts.remove({ id: 'c' }));
    expect(Object.keys((await lines(q))[0]!).toSorted()).toEqual(['a', 'd']);
    await withOutcomes(q, q.scripts.purge({ limit: 100 }));
    expect(await lines(q)).toEqual([{}, {}]);
  });

  it.each<[what: string, deletes: (q: TestQueue) => ScriptCall<unknown>]>([
    ['a remove', (q) => q.scripts.remove({ id: 'a' })],
    ['a discard', (q) => q.scripts.deadLetters.discard({ letters: [{ id: 'a' }] })],
    ['a clean', (q) => q.scripts.clean({ place: 'failed', olderThanMs: 0, limit: 9, passed: 0 })],
  ])('deletes the line of a dead letter that %s deletes', async (_, deletes) => {
    const { q, job } = await claimedJob('a');
    const error = { name: 'Error', message: 'no' };
    await withOutcomes(q, q.scripts.fail([{ ...job, error, final: true, backoffMs: 0 }]));
    expect(Object.keys((await lines(q))[0]!)).toEqual(['a']);
    await withOutcomes(q, deletes(q));
    expect([await q.status('a'), await lines(q)]).toEqual([null, [{}, {}]]);
  });
});
