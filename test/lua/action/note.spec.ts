import { expect, it } from '@jest/globals';
import { ACTIONS_KEPT } from '#queue/runtime/bounds.js';
import { testQueue } from '../../support/queue/queue-state.js';

const action = { via: 'cli', by: 'ada@box', action: 'pause', subject: 'the queue', count: 1 } as const;

it('adds an entry at the time of the server, and a repeat adds it again', async () => {
  const q = testQueue();
  const { note, read } = q.scripts.actions;
  const first = await q.run(note({ ...action, count: null }));
  const second = await q.run(note({ ...action, of: first, target: { kind: 'job', id: 'a\nb' } }));
  expect(await q.run(note({ ...action, of: first, isVoid: true, count: null }))).not.toBe(second);
  const [last, end, begin] = await q.run(read({ before: '', limit: 10 }));
  expect(begin).toEqual({ ...action, count: null, entryId: first, at: new Date(Number(first.split('-')[0])) });
  expect(end).toMatchObject({ ...action, entryId: second, of: first, target: { kind: 'job', id: 'a\nb' } });
  expect(last).toMatchObject({ of: first, isVoid: true, count: null });
  expect(await q.run(read({ before: second, limit: 10 }))).toEqual([begin]);
});

it('cuts a long subject, and keeps the latest entries', async () => {
  const q = testQueue();
  const { note, read } = q.scripts.actions;
  const filled = Array.from({ length: ACTIONS_KEPT + 500 }, () => q.redis.xadd(q.keys.actions, '*', 'by', 'x'));
  await Promise.all(filled);
  const subject = '😀'.repeat(400);
  await q.run(note({ ...action, subject }));
  const [entry] = await q.run(read({ before: '', limit: 1 }));
  expect(entry!.subject).toBe('😀'.repeat(250));
  expect(await q.redis.xlen(q.keys.actions)).toBeLessThanOrEqual(ACTIONS_KEPT + 200);
});
