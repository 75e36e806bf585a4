import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue, queueWith } from '../../support/queue/queue-state.js';

async function bury(q: TestQueue, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await q.bury(id, { unique: `key-${id}`, unique_for: 'unfinished' });
  }
}

it('deletes dead letters with all their traces', async () => {
  const q = testQueue();
  await bury(q, 'a', 'b', 'c');
  expect(await q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'a' }, { id: 'c' }] }))).toBe(2);
  expect(await q.ranked(q.keys.dead)).toEqual(['b']);
  expect(await q.redis.lrange(q.keys.failed, 0, -1)).toEqual(['b']);
  expect(await q.redis.exists(q.keys.job('a'), q.keys.job('c'), q.keys.unique)).toBe(0);
  expect(await q.total('discarded')).toBe(2);
});

it('I3: skips a job that is no dead letter, and repeated deletes nothing', async () => {
  const q = await queueWith('waits');
  const discard = () => q.run(q.scripts.deadLetters.discard({ letters: [{ id: 'waits' }, { id: 'nobody' }] }));
  expect(await expectUnchanged(q, discard)).toBe(0);
});

it('spares one that has failed again since it was listed', async () => {
  const q = testQueue();
  await bury(q, 'a');
  const scripts = q.scripts.deadLetters;
  const [listed] = (await q.run(scripts.list({ order: 'oldest', looks: 10, most: 10, withJobs: false }))).found;
  await q.redis.zadd(q.keys.dead, Number(listed!.at) + 1, 'a');
  expect(await expectUnchanged(q, () => q.run(scripts.discard({ letters: [listed!] })))).toBe(0);
  expect(await q.run(scripts.discard({ letters: [{ id: 'a' }] }))).toBe(1);
});
