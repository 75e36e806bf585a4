import { expect, it } from '@jest/globals';
import { connect } from '../../support/redis/redis.js';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

it('publishes once that no job waits or runs, and again only after another job has ended', async () => {
  const q = testQueue();
  const heard: string[] = [];
  const subscriber = connect();
  await subscriber.subscribe(q.keys.events);
  subscriber.on('message', (_channel: string, message: string) => heard.push(message));
  const job = await q.addAndClaim('a');
  expect(await expectUnchanged(q, () => q.run(q.scripts.publishDrained()))).toBe('busy');
  await q.complete(job);
  expect(await q.run(q.scripts.publishDrained())).toBe('published');
  expect(await expectUnchanged(q, () => q.run(q.scripts.publishDrained()))).toBe('already');
  const other = await q.addAndClaim('b');
  await q.complete(other);
  expect(await q.run(q.scripts.publishDrained())).toBe('published');
  await subscriber.ping();
  expect(heard.filter((message) => message.includes('drained'))).toEqual(
    Array.from({ length: 2 }, () => '{"id":"","status":"drained"}'),
  );
  subscriber.disconnect();
});

it.each([
  ['a plain job waits', {}],
  ['a job with a priority waits', { options: { priority: 5 } }],
  ['a job of a group waits', { options: { group: 'g' } }],
])('is busy while %s', async (_what, options) => {
  const q = testQueue();
  await q.run(q.scripts.enqueue([{ id: 'a', name: q.name, payload: '1', ...options }]));
  expect(await expectUnchanged(q, () => q.run(q.scripts.publishDrained()))).toBe('busy');
});

it('leaves delayed jobs out of account', async () => {
  const q = testQueue();
  await q.complete(await q.addAndClaim('a'));
  await q.run(q.scripts.enqueue([{ id: 'b', name: q.name, payload: '1', options: { delayMs: 60_000 } }]));
  expect(await q.run(q.scripts.publishDrained())).toBe('published');
});

it('publishes for all shards once, unless a job has ended here since their look', async () => {
  const q = testQueue();
  const look = () => expectUnchanged(q, () => q.run(q.scripts.lookDrained()));
  const publish = (...ended: readonly (string | undefined)[]) =>
    q.run(q.scripts.publishDrained({ ofAll: ended.join(',') }));
  const job = await q.addAndClaim('a');
  expect(await look()).toBeUndefined();
  expect(await expectUnchanged(q, () => publish('0 0 0', '5 0 0'))).toBe('busy');
  const before = '0 0 0';
  await q.complete(job);
  expect(await expectUnchanged(q, () => publish(before, '5 0 0'))).toBe('busy');
  expect(await look()).toBe('1 0 0');
  expect(await publish('1 0 0', '5 0 0')).toBe('published');
  expect(await expectUnchanged(q, () => publish('1 0 0', '5 0 0'))).toBe('already');
  expect(await publish('1 0 0', '5 1 0')).toBe('published'); // a job of another shard has failed
});
