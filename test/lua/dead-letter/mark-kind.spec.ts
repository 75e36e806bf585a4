import { expect, it } from '@jest/globals';
import { MOST_MARKS } from '#queue/runtime/lifetimes.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

/** Makes a dead letter, and returns its kind. */
async function buried(q: TestQueue): Promise<string> {
  const job = await q.addAndClaim('a');
  await q.fail(job, { error: { name: 'Error', message: '410 Gone' }, final: true });
  return (await q.run(q.scripts.deadLetters.kinds())).kinds[0]!.kind;
}

const markOf = async (q: TestQueue) => (await q.run(q.scripts.deadLetters.kinds())).kinds[0]!.mark;

it('keeps what was said last, with the times of the server, and forgets it', async () => {
  const q = testQueue();
  const kind = await buried(q);
  const { markKind } = q.scripts.deadLetters;
  expect(await markOf(q)).toBeUndefined();
  expect(await q.run(markKind({ kind, words: { known: true, by: 'ada' }, quietForMs: 0 }))).toBe(true);
  expect(await q.run(markKind({ kind, words: { note: 'ticket "7"\nsoon' }, quietForMs: 60_000 }))).toBe(true);
  const now = await q.now();
  const mark = await markOf(q);
  expect(mark).toMatchObject({ note: 'ticket "7"\nsoon', quietUntilMs: mark!.atMs + 60_000 });
  expect(mark).not.toHaveProperty('known');
  expect(Math.abs(mark!.atMs - now)).toBeLessThan(30_000);
  expect(await q.redis.pttl(q.keys.errorMarks)).toBeGreaterThan(86_400_000);
  expect(await q.run(markKind({ kind, words: null, quietForMs: 0 }))).toBe(true);
  expect(await expectUnchanged(q, () => q.run(markKind({ kind, words: null, quietForMs: 0 })))).toBe(false);
  expect(await markOf(q)).toBeUndefined();
});

it('keeps a bounded number of kinds, and forgets the first', async () => {
  const q = testQueue();
  const texts = Array.from({ length: MOST_MARKS }, (_, i) => [`k${i}`, `${1_000 + i} 0 {}`] as const);
  await q.redis.hset(q.keys.errorMarks, Object.fromEntries(texts));
  await q.run(q.scripts.deadLetters.markKind({ kind: 'new', words: { known: true }, quietForMs: 0 }));
  const kept = Object.keys(await q.redis.hgetall(q.keys.errorMarks));
  expect(kept).toHaveLength(MOST_MARKS);
  expect(kept).toContain('new');
  expect(kept).not.toContain('k0');
});

it('takes the text of another program for none', async () => {
  const q = testQueue();
  const kind = await buried(q);
  for (const text of ['', 'x', '1 2 {', '1 0 {"known":"yes"}', '1 0 [] ']) {
    await q.redis.hset(q.keys.errorMarks, kind, text);
    expect(await markOf(q)).toBeUndefined();
  }
});
