import { expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { connect } from '../../support/redis/redis.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

/** Returns the call that writes texts as chunks of one attempt. */
function writeOf(q: TestQueue, claim: ClaimedJob, first: number, ...texts: string[]) {
  const chunks = texts.map((text) => ({ kind: 'j' as const, json: JSON.stringify(text) }));
  return q.scripts.streams.write({ writes: [{ claim, first, chunks }] });
}

/** Returns the entries of a stream as `number field value`. */
async function entriesOf(q: TestQueue, id: string): Promise<string[]> {
  const entries = await q.redis.xrange(q.keys.stream(id), '-', '+');
  return entries.map(([at, [field, value]]) => `${at.split('-')[0]} ${field} ${value}`);
}

async function claimed(options: QueueOptions = {}): Promise<{ q: TestQueue; job: ClaimedJob }> {
  const q = testQueue(options);
  return { q, job: await q.addAndClaim('a') };
}

/** Fails the attempt of a job, and claims it again. */
async function nextAttempt(q: TestQueue, job: ClaimedJob): Promise<ClaimedJob> {
  await q.fail(job);
  const [again] = await q.claim(1);
  return again!;
}

it('appends the chunks of an attempt; repeated it adds none twice', async () => {
  const { q, job } = await claimed();
  const call = writeOf(q, job, 1, 'Hel', 'lo');
  expect(await q.run(call)).toEqual([]);
  expect(await entriesOf(q, 'a')).toEqual(['1 1j "Hel"', '2 1j "lo"']);
  await q.run(call);
  await q.run(writeOf(q, job, 2, 'lo', '!'));
  expect(await entriesOf(q, 'a')).toEqual(['1 1j "Hel"', '2 1j "lo"', '3 1j "!"']);
  expect(await q.redis.pttl(q.keys.stream('a'))).toBeGreaterThan(86_000_000);
  expect(await q.redis.zscore(q.keys.streams, 'a')).not.toBeNull();
});

it('I2: adds nothing for an attempt that lost its claim, and all for the others of the call', async () => {
  const { q, job } = await claimed();
  await q.add('b');
  const [other] = await q.claim(1);
  await q.fail(job);
  const chunks = [{ kind: 'j' as const, json: '1' }];
  const writes = [job, other!].map((claim) => ({ claim, first: 1, chunks }));
  expect(await q.run(q.scripts.streams.write({ writes }))).toEqual([0]);
  expect(await entriesOf(q, 'a')).toEqual([]);
  expect(await entriesOf(q, 'b')).toEqual(['1 1j 1']);
  expect(await expectUnchanged(q, () => q.run(writeOf(q, job, 1, 'x')))).toEqual([0]);
});

it('marks a new attempt', async () => {
  const { q, job } = await claimed();
  await q.run(writeOf(q, job, 1, 'a'));
  const again = await nextAttempt(q, job);
  await q.run(writeOf(q, again, 1, 'b'));
  expect(await entriesOf(q, 'a')).toEqual(['1 1j "a"', '2 2a 1', '3 2j "b"']);
});

it('starts the stream anew by option, with numbers that go on', async () => {
  const { q, job } = await claimed({ stream: { onRetry: 'restart' } });
  await q.run(writeOf(q, job, 1, 'a', 'b'));
  const again = await nextAttempt(q, job);
  await q.run(writeOf(q, again, 1, 'c'));
  expect(await entriesOf(q, 'a')).toEqual(['3 2r 1', '4 2j "c"']);
});

it('leaves the numbers of chunks free that Redis has lost', async () => {
  const { q, job } = await claimed();
  await q.run(writeOf(q, job, 1, 'a'));
  await q.run(writeOf(q, job, 4, 'd'));
  expect(await entriesOf(q, 'a')).toEqual(['1 1j "a"', '4 1j "d"']);
});

it('drops the oldest chunks beyond the most bytes', async () => {
  const { q, job } = await claimed({ stream: { maxBytes: 1_024 } });
  const text = 'x'.repeat(98); // 132 bytes with its quotes and its share
  for (let i = 0; i < 12; i++) {
    await q.run(writeOf(q, job, i + 1, text));
  }
  expect((await entriesOf(q, 'a')).map((entry) => Number(entry.split(' ')[0]))).toEqual([6, 7, 8, 9, 10, 11, 12]);
  expect(await q.field('a', 'stream')).toMatch(/^\d+ 12 12-\d+ 924 \d+$/);
});

it('drops more of the oldest chunks in one step than it reads at once', async () => {
  const { q, job } = await claimed({ stream: { maxBytes: 2_048 } });
  const small = Array.from({ length: 50 }, () => 'x'); // 35 bytes each with its quotes and its share
  await q.run(writeOf(q, job, 1, ...small));
  await q.run(writeOf(q, job, 51, 'y'.repeat(1_512))); // leaves 502 bytes
  const numbers = (await entriesOf(q, 'a')).map((entry) => Number(entry.split(' ')[0]));
  expect(numbers).toEqual(Array.from({ length: 15 }, (_, i) => i + 37));
});

it('drops chunks beyond the most age', async () => {
  const { q, job } = await claimed({ stream: { maxAgeMs: 60_000 } });
  await q.run(writeOf(q, job, 1, 'a'));
  const before = (await q.now()) - 61_000;
  await q.redis.del(q.keys.stream('a'));
  await q.redis.xadd(q.keys.stream('a'), `1-${before}`, '1j', '"a"');
  await q.redis.hset(q.keys.job('a'), 'stream', `${job.fence} 1 1-${before} 35 ${before}`);
  await q.run(writeOf(q, job, 2, 'b'));
  expect(await entriesOf(q, 'a')).toEqual(['2 1j "b"']);
});

it('starts with nothing of an earlier job with the same id', async () => {
  const { q, job } = await claimed();
  await q.redis.xadd(q.keys.stream('a'), '9-1', '1j', '"old"');
  await q.run(writeOf(q, job, 1, 'new'));
  expect(await entriesOf(q, 'a')).toEqual(['1 1j "new"']);
});

it('bounds the life of the stream of a job that was moved here without it', async () => {
  const { q, job } = await claimed();
  await q.run(writeOf(q, job, 1, 'a'));
  const again = await nextAttempt(q, job);
  await q.redis.del(q.keys.stream('a'), q.keys.streams);
  await q.run(writeOf(q, again, 1, 'b'));
  expect(await entriesOf(q, 'a')).toEqual(['2 2a 1', '3 2j "b"']);
  expect(await q.redis.pttl(q.keys.stream('a'))).toBeGreaterThan(0);
  expect(await q.redis.zscore(q.keys.streams, 'a')).not.toBeNull();
});

it('goes on where a key of the stream is not one of ours', async () => {
  const { q, job } = await claimed();
  await q.run(writeOf(q, job, 1, 'a'));
  await q.redis.del(q.keys.stream('a'));
  await q.redis.set(q.keys.stream('a'), 'text');
  await q.run(writeOf(q, job, 2, 'b'));
  expect(await entriesOf(q, 'a')).toEqual(['2 1j "b"']);
  expect(await q.redis.pttl(q.keys.stream('a'))).toBeGreaterThan(0);
});

it('publishes the chunks on the channel of the job, with the entry before', async () => {
  const { q, job } = await claimed();
  await q.run(writeOf(q, job, 1, 'a'));
  const [[before]] = (await q.redis.xrange(q.keys.stream('a'), '-', '+')) as [[string, string[]]];
  const subscriber = connect();
  await subscriber.subscribe(q.keys.stream('a'));
  const heard = new Promise<string>((resolve) =>
    subscriber.once('message', (_: string, text: string) => resolve(text)),
  );
  await q.run(writeOf(q, job, 2, 'b'));
  const { prev, entries } = JSON.parse(await heard) as { prev: string; entries: unknown[][] };
  expect(prev).toBe(before);
  expect(entries).toEqual([[expect.stringMatching(/^2-\d+$/), '1j', 'b']]);
});
