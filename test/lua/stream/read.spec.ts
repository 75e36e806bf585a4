import { expect, it } from '@jest/globals';
import { testQueue } from '../../support/queue/queue-state.js';

it('returns the state of the job, and the entries from a number on', async () => {
  const q = testQueue();
  const claim = await q.addAndClaim('a');
  expect(await q.run(q.scripts.streams.read({ id: 'a', from: 0 }))).toEqual({
    status: 'processing',
    last: '',
    more: false,
    end: '',
    entries: [],
  });
  const chunks = ['"b"', '{"c":1}', '"AAE="'].map((json, i) => ({
    kind: i === 2 ? ('b' as const) : ('j' as const),
    json,
  }));
  await q.run(q.scripts.streams.write({ writes: [{ claim, first: 1, chunks }] }));
  await q.complete(claim);
  const page = await q.run(q.scripts.streams.read({ id: 'a', from: 2 }));
  expect(page).toEqual({
    status: 'completed',
    last: expect.stringMatching(/^3-\d+$/),
    more: false,
    end: page?.last,
    entries: [
      { id: expect.stringMatching(/^2-\d+$/), attempt: 1, kind: 'j', value: { c: 1 } },
      { id: expect.stringMatching(/^3-\d+$/), attempt: 1, kind: 'b', value: 'AAE=' },
    ],
  });
});

it('returns at most a page, and says that more follows', async () => {
  const q = testQueue({ stream: { maxBytes: 2_000_000 } });
  const claim = await q.addAndClaim('a');
  const chunks = Array.from({ length: 3 }, () => ({
    kind: 'j' as const,
    json: JSON.stringify('x'.repeat(200_000)),
  }));
  await q.run(q.scripts.streams.write({ writes: [{ claim, first: 1, chunks }] }));
  const page = await q.run(q.scripts.streams.read({ id: 'a', from: 0 }));
  expect([page?.entries.length, page?.more]).toEqual([2, true]);
});

it.each([
  ['behind the last', '*', ['by', 'hand']],
  ['of another field', '1-99999999999999', ['by', 'hand']],
  ['with two fields', '1-99999999999999', ['1j', '1', '2j', '2']],
  ['of a time that is too long', '1-9999999999999999', ['1j', '1']],
])('skips an entry that somebody else has added: %s', async (_, at, fields) => {
  const q = testQueue();
  const claim = await q.addAndClaim('a');
  const write = (first: number) =>
    q.run(
      q.scripts.streams.write({ writes: [{ claim, first, chunks: [{ kind: 'j', json: `${first}` as never }] }] }),
    );
  await write(1);
  await q.redis.xadd(q.keys.stream('a'), at, ...fields);
  if (at !== '*') await write(2);
  const page = await q.run(q.scripts.streams.read({ id: 'a', from: 0 }));
  expect(page?.entries.map(({ value }) => value)).toEqual(at === '*' ? [1] : [1, 2]);
});

it('walks past more entries of somebody else than a page has', async () => {
  const q = testQueue();
  const claim = await q.addAndClaim('a');
  const chunks = [{ kind: 'j' as const, json: '1' as never }];
  await q.run(q.scripts.streams.write({ writes: [{ claim, first: 1, chunks }] }));
  for (let i = 0; i < 600; i++) await q.redis.xadd(q.keys.stream('a'), `1-9${10 ** 12 + i}`, 'by', 'hand');
  await q.run(q.scripts.streams.write({ writes: [{ claim, first: 2, chunks }] }));
  const page = await q.run(q.scripts.streams.read({ id: 'a', from: 0 }));
  expect(page).toMatchObject({ more: false, entries: [{ value: 1 }, { value: 1 }] });
});

it('returns null for an unknown job, and nothing of the stream of an earlier one', async () => {
  const q = testQueue();
  expect(await q.run(q.scripts.streams.read({ id: 'a', from: 0 }))).toBeNull();
  await q.redis.xadd(q.keys.stream('a'), '9-1', '1j', '"old"');
  await q.add('a');
  expect((await q.run(q.scripts.streams.read({ id: 'a', from: 0 })))?.entries).toEqual([]);
});
