import { describe, expect, it } from '@jest/globals';
import { type TestQueue, queueWith } from '../../support/queue/queue-state.js';

/** Makes jobs that have streamed. */
async function streamed(...ids: string[]): Promise<TestQueue> {
  const q = await queueWith(...ids);
  for (const claim of await q.claim(ids.length)) {
    await q.run(q.scripts.streams.write({ writes: [{ claim, first: 1, chunks: [{ kind: 'j', json: '1' }] }] }));
    await q.complete(claim);
  }
  return q;
}

describe('stream/tidy.lua', () => {
  it('deletes the streams of jobs that are gone, and looks at the others later', async () => {
    const q = await streamed('a', 'b');
    await q.redis.del(q.keys.job('a'));
    expect(await q.run(q.scripts.streams.tidy({ limit: 10 }))).toBe(false);
    expect(await q.redis.exists(q.keys.stream('a'), q.keys.stream('b'))).toBe(1);
    expect(Number(await q.redis.zscore(q.keys.streams, 'b'))).toBeGreaterThan(await q.now());
    await q.redis.del(q.keys.job('b'));
    await q.run(q.scripts.streams.tidy({ limit: 10 }));
    expect(await q.redis.exists(q.keys.stream('b'))).toBe(1);
  });

  it('takes a slice, and says that more may be left', async () => {
    const q = await streamed('a', 'b');
    await q.redis.del(q.keys.job('a'), q.keys.job('b'));
    expect(await q.run(q.scripts.streams.tidy({ limit: 1 }))).toBe(true);
    expect(await q.run(q.scripts.streams.tidy({ limit: 2 }))).toBe(false);
    expect(await q.redis.exists(q.keys.streams, q.keys.stream('a'), q.keys.stream('b'))).toBe(0);
  });

  it('forgets a stream that has expired, and one of an earlier job with the same id', async () => {
    const q = await streamed('a', 'b');
    q.broken = true; // b is in the history too
    await q.redis.del(q.keys.stream('a'), q.keys.job('b'));
    await q.add('b');
    await q.run(q.scripts.streams.tidy({ limit: 10 }));
    expect(await q.redis.exists(q.keys.streams, q.keys.stream('b'))).toBe(0);
  });
});

it.each<[string, (q: TestQueue) => Promise<unknown>]>([
  ['removed', (q) => q.run(q.scripts.remove({ id: 'a' }))],
  ['cleaned', (q) => q.run(q.scripts.clean({ place: 'completed', olderThanMs: 0, limit: 10, passed: 0 }))],
  ['purged', (q) => q.run(q.scripts.purge({ limit: 10 }))],
])('a stream goes with its job that is %s', async (_, drop) => {
  const q = await streamed('a');
  await drop(q);
  expect(await q.redis.exists(q.keys.job('a'), q.keys.stream('a'))).toBe(0);
});

it('a stream goes with a dead letter that is discarded', async () => {
  const q = await queueWith('a');
  const [claim] = await q.claim(1);
  const chunks = [{ kind: 'j' as const, json: '1' }];
  await q.run(q.scripts.streams.write({ writes: [{ claim: claim!, first: 1, chunks }] }));
  await q.fail(claim!, { final: true });
  await q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'a' }] }));
  expect(await q.redis.exists(q.keys.job('a'), q.keys.stream('a'))).toBe(0);
});
