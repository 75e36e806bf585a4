import { expect, it } from '@jest/globals';
import { expectUnchanged, TestQueue, testQueue } from '../../support/queue/queue-state.js';

it('note-payload.lua: notes the largest limit above the usual one; repeated it changes nothing', async () => {
  const q = testQueue({ maxPayloadBytes: 40_000_000 });
  const usual = new TestQueue(q.redis, { maxPayloadBytes: 16 * 1024 * 1024 }, q.name);
  await usual.run(usual.scripts.notePayload());
  expect(await q.snapshot()).toEqual({});
  await q.run(q.scripts.notePayload());
  expect(await q.redis.hgetall(q.keys.sweep)).toEqual({ largest_payload_bytes: '40000000' });
  await expectUnchanged(q, () => q.run(q.scripts.notePayload()));
  await expectUnchanged(q, () => usual.run(usual.scripts.notePayload()));
});
