import { expect, it } from '@jest/globals';
import { errorFingerprint } from '#queue/errors/error-kind.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

async function bury(q: TestQueue, id: string, message: string): Promise<void> {
  const job = await q.addAndClaim(id);
  await q.fail(job, { error: { name: 'Error', message }, final: true });
}

const counts = async (q: TestQueue) => {
  const { kinds } = await q.run(q.scripts.deadLetters.kinds());
  return Object.fromEntries(kinds.map(({ kind, count }) => [kind, count]));
};
const kindOf = (message: string) => errorFingerprint({ name: 'Error', message }).split(' ')[0]!;
const GONE = kindOf('410 Gone');
const record = (at: number, inHour: number, before: number) => `9 1 2 ${at} ${inHour} ${before} a`;

it('counts each dead letter by the kind of its error, when it dies', async () => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  await bury(q, 'b', 'no user 17');
  await bury(q, 'c', '410  Gone');
  expect(await counts(q)).toEqual({ [GONE]: 2, [kindOf('no user 9')]: 1 });
  const { nowMs, kinds } = await q.run(q.scripts.deadLetters.kinds());
  const gone = kinds.find(({ kind }) => kind === GONE)!;
  expect(gone).toMatchObject({ lastHour: 2, sample: { id: 'c', payloadBytes: expect.any(Number) } });
  expect(nowMs - gone.firstAtMs).toBeLessThan(60_000);
  expect(gone.lastAtMs).toBeGreaterThanOrEqual(gone.firstAtMs);
  expect(await q.run(q.scripts.stats())).toMatchObject({ failed: 3, errorKinds: 2 });
  const again = await expectUnchanged(q, () => q.run(q.scripts.deadLetters.kinds()));
  expect(again.kinds).toEqual(expect.arrayContaining(kinds)); // in any order
  expect(again.kinds).toHaveLength(2);
});

it('joins further kinds by name and place once ten are new within a minute', async () => {
  const q = testQueue();
  const words = [
    'red',
    'blue',
    'green',
    'grey',
    'pink',
    'black',
    'white',
    'brown',
    'violet',
    'orange',
    'cyan',
    'lime',
  ];
  for (const word of words) {
    await bury(q, word, `the ${word} one failed`);
  }
  const joined = errorFingerprint({ name: 'Error', message: '' }).split(' ')[1]!;
  expect(joined).toMatch(/^~/);
  expect(Object.keys(await counts(q))).toHaveLength(11);
  expect(await counts(q)).toMatchObject({ [joined]: 2, [kindOf('the red one failed')]: 1 });
  await bury(q, 'again', 'the red one failed');
  expect(await counts(q)).toMatchObject({ [joined]: 2, [kindOf('the red one failed')]: 2 });
  const [first = '', ...rest] = (await q.redis.hget(q.keys.errorKinds, joined))!.split(' ');
  const before = Date.now() - 11 * 60_000;
  for (const kind of Object.keys(await counts(q))) {
    await q.redis.hset(q.keys.errorKinds, kind, [first, before, before, ...rest.slice(2)].join(' '));
  }
  await bury(q, 'later', 'the golden one failed');
  expect(await counts(q)).toMatchObject({ [kindOf('the golden one failed')]: 1 }); // the flood has ended
});

it.each<[string, (q: TestQueue) => Promise<unknown>]>([
  ['redrive', (q) => q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }))],
  ['discard', (q) => q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'a' }] }))],
  ['removal', (q) => q.run(q.scripts.remove({ id: 'a' }))],
  ['cleaning', (q) => q.run(q.scripts.clean({ place: 'failed', olderThanMs: 0, limit: 1, passed: 0 }))],
])('a %s leaves the count, once', async (_, leave) => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  await bury(q, 'b', '410 Gone');
  await leave(q);
  expect(await counts(q)).toEqual({ [GONE]: 1 });
  expect(await q.field('a', 'error_kind')).toBeNull();
});

it('has no sample once the last job of the kind has left', async () => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  await bury(q, 'b', '410 Gone');
  await q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'b' }] }));
  const { kinds } = await q.run(q.scripts.deadLetters.kinds());
  expect(kinds).toEqual([expect.not.objectContaining({ sample: expect.anything() })]);
});

it('counts the last hour by a share of the hour before', async () => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  const hour = Math.floor(Date.now() / 3_600_000);
  const lastHour = async (text: string) => {
    await q.redis.hset(q.keys.errorKinds, GONE, text);
    const { nowMs, kinds } = await q.run(q.scripts.deadLetters.kinds());
    return [kinds[0]!.lastHour, 1 - (nowMs % 3_600_000) / 3_600_000] as const;
  };
  const [now, left] = await lastHour(record(hour, 3, 4));
  expect(now).toBe(Math.round(3 + 4 * left));
  expect((await lastHour(record(hour - 1, 8, 4)))[0]).toBe(Math.round(8 * left));
  expect((await lastHour(record(hour - 2, 8, 4)))[0]).toBe(0);
  await q.redis.hset(q.keys.errorKinds, GONE, '1 1 2 3 1 0 a');
});

it('counts more than a hundred kinds as one', async () => {
  const q = testQueue();
  const records = Array.from({ length: 100 }, (_, i) => [`k${i}`, '1 1 1 1 1 0 x'] as const);
  await q.redis.hset(q.keys.errorKinds, Object.fromEntries(records));
  await bury(q, 'a', 'one');
  await bury(q, 'b', 'two');
  expect(await counts(q)).toMatchObject({ '@other': 2, k0: 1 });
  expect(await q.field('a', 'error_kind')).toBe('@other');
  await q.redis.hdel(q.keys.errorKinds, ...records.map(([kind]) => kind));
});

it('counts again where hashes were lost, at the next tidy', async () => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  await bury(q, 'b', '410 Gone');
  await bury(q, 'c', 'no user 17');
  await q.redis.del(q.keys.job('a'), q.keys.job('c'));
  await q.run(q.scripts.sweep.tidy({ limit: 10 }));
  await q.run(q.scripts.sweep.tidy({ limit: 10 }));
  expect(await q.ranked(q.keys.dead)).toEqual(['b']);
  expect(await counts(q)).toEqual({ [GONE]: 1 });
});

it('drops what another program wrote there, at the next tidy', async () => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  await q.redis.hset(q.keys.errorKinds, 'long', '1'.repeat(5_000));
  await q.run(q.scripts.sweep.tidy({ limit: 10 }));
  expect(await counts(q)).toEqual({ [GONE]: 1 });
  const many = Array.from({ length: 1_001 }, (_, i) => [`k${i}`, '1']);
  await q.redis.hset(q.keys.errorKinds, Object.fromEntries(many) as Record<string, string>);
  await q.run(q.scripts.sweep.tidy({ limit: 10 }));
  expect(await q.redis.exists(q.keys.errorKinds)).toBe(0);
  q.broken = true; // the dead letter is no more counted
});

it('moves the count of a job that an earlier version has redriven', async () => {
  const q = testQueue();
  await bury(q, 'a', '410 Gone');
  await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }));
  await q.redis.hset(q.keys.job('a'), 'error_kind', GONE);
  await q.redis.hset(q.keys.errorKinds, GONE, '1 1 1 1 1 0 a');
  const [job] = await q.claim(1);
  await q.run(q.scripts.fail([{ ...job!, error: { name: 'Error', message: 'other' }, final: true, backoffMs: 0 }]));
  expect(await counts(q)).toEqual({ [kindOf('other')]: 1 });
});

it('stops no end of a job where the key has another type, and costs a completed job nothing', async () => {
  const q = testQueue();
  await q.redis.set(q.keys.errorKinds, 'of another program');
  await bury(q, 'a', '410 Gone');
  expect(await q.ranked(q.keys.dead)).toEqual(['a']);
  await q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'a' }] }));
  await q.redis.del(q.keys.errorKinds);
  const job = await q.addAndClaim('b');
  await q.run(q.scripts.complete([{ ...job, result: '1', plain: true }]));
  expect(await q.redis.exists(q.keys.errorKinds)).toBe(0);
});
