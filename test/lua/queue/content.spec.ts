import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted } from '#queue/codec/encrypted.js';
import { expectUnchanged, TestQueue, testQueue } from '../../support/queue/queue-state.js';

it('content.lua: returns the content rules of the latest worker, and none of an idle queue', async () => {
  const q = testQueue({ codec: encrypted([{ id: 'a', key: randomBytes(32) }]), redact: ['iban'] });
  const plain = new TestQueue(q.redis, { redact: () => 'nothing' }, q.name);
  expect(await q.run(q.scripts.content())).toBeUndefined();
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await expectUnchanged(q, async () =>
    expect(await plain.run(plain.scripts.content())).toEqual({
      codec: 'encrypted',
      encrypted: true,
      redact: ['iban'],
      keyIds: ['a'],
    }),
  );
  await plain.run(plain.scripts.workers.register({ worker: 'w2', serves: true }));
  expect(await q.run(q.scripts.content())).toEqual({ redact: true });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: false }));
  expect(await q.run(q.scripts.content())).toBeUndefined();
});

it.each([
  ['a broken text', '{"redact":["ib'],
  ['no object', '[]'],
  ['names that are none', '{"redact":[1],"encrypted":true}'],
])('content.lua: %s hides everything, and lets nothing be stored in the clear', async (_, text) => {
  const q = testQueue();
  await q.redis.hset(q.keys.sweep, 'content', text);
  expect(await q.run(q.scripts.content())).toEqual({ encrypted: true, redact: true });
});
