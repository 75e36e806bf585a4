import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted } from '#queue/codec/encrypted.js';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { eventually } from '../../support/faults/wait.js';
import { expectUnchanged, testQueue, type TestQueue, queueWith } from '../../support/queue/queue-state.js';
import { newQueue } from '../../support/worker/workers.js';

const redrive = (q: TestQueue, id: string, newId: string, payload = '') =>
  q.run(q.scripts.deadLetters.redriveAsNew({ id, newId, payload }));

it('adds a new job, and keeps the dead letter; both name each other', async () => {
  const q = testQueue();
  const worker = '{"timeoutMs":5,"delayMs":9}';
  await q.bury('a', { priority: 2, max_attempts: 4, unique: 'u', unique_for: 'unfinished', worker });
  const before = await q.job('a');
  expect(await redrive(q, 'a', 'b')).toEqual({ outcome: 'redriven', id: 'b' });
  expect(await q.job('a')).toEqual({ ...before, redriven_as: 'b' });
  expect(await q.ranked(q.keys.dead)).toEqual(['a']);
  const job = await q.job('b');
  expect(job).toMatchObject({ name: q.name, payload: '{}', status: 'pending', priority: '2', max_attempts: '4' });
  expect(job).toMatchObject({ unique: 'u', redriven_from: 'a', options: '{"timeoutMs":5}' });
  expect(await q.redis.hget(q.keys.unique, 'u')).toBe('b');
  expect(await q.run(q.scripts.get({ id: 'b' }))).toMatchObject({
    redriven: { from: 'a' },
    attempts: 0,
    attemptLog: [],
  });
  expect((await q.claim(1))[0]).toMatchObject({ id: 'b', attempt: 1 });
});

it('changes nothing when it is repeated, and is refused while the new job is known', async () => {
  const q = testQueue();
  await q.bury('a');
  await redrive(q, 'a', 'b');
  expect(await expectUnchanged(q, () => redrive(q, 'a', 'b'))).toEqual({ outcome: 'redriven', id: 'b' });
  expect(await expectUnchanged(q, () => redrive(q, 'a', 'c'))).toEqual({ outcome: 'known', id: 'b' });
  expect(await expectUnchanged(q, () => q.run(q.scripts.deadLetters.redrive({ ids: ['a'] })))).toBe(0);
  await q.run(q.scripts.remove({ id: 'b' }));
  expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }))).toBe(1);
});

it.each(['Redis', 'memory'])('is refused for good once the new job has completed, on %s', async (place) => {
  const options = { maxAttempts: 1, resultTtlMs: 1 };
  const queue = place === 'Redis' ? newQueue(options) : new JobQueue(new ScriptStore(), 'jobs', options);
  const { id } = await queue.enqueue(1);
  await queue.fail((await queue.claim())!, new Error('no'));
  const second = await queue.deadLetters.redriveAsNew(id);
  await queue.fail((await queue.claim())!, new Error('no'));
  const third = await queue.deadLetters.redriveAsNew(second.id);
  await queue.complete((await queue.claim())!, 'done');
  await eventually(async () => (await queue.get(third.id)) === null, { what: 'no record of the new job' });
  expect(await queue.deadLetters.redriveAsNew(second.id)).toEqual({ outcome: 'known', id: third.id });
  await queue.deadLetters.discard(second.id);
  expect(await queue.deadLetters.redriveAsNew(id)).toEqual({ outcome: 'known', id: second.id });
  expect(await queue.deadLetters.redrive(id)).toBe(false);
  expect(await queue.deadLetters.redriveAll()).toBe(0);
});

it.each(['fails', 'is cancelled', 'is removed'])('is possible again where the new job %s', async (how) => {
  const q = testQueue();
  await q.bury('a');
  await redrive(q, 'a', 'b');
  if (how === 'fails') {
    await q.fail((await q.claim(1))[0]!, { final: true });
    await q.run(q.scripts.remove({ id: 'b' }));
  } else if (how === 'is cancelled') {
    await q.run(q.scripts.cancel({ id: 'b' }));
    await q.run(q.scripts.remove({ id: 'b' }));
  } else {
    await q.run(q.scripts.remove({ id: 'b' }));
  }
  expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['a'] }))).toBe(1);
});

it('leaves other jobs alone, and lets the group of the dead letter go on', async () => {
  const q = await queueWith('pending');
  expect(await expectUnchanged(q, () => redrive(q, 'pending', 'b'))).toEqual({ outcome: 'missing', id: '' });
  expect(await expectUnchanged(q, () => redrive(q, 'unknown', 'b'))).toEqual({ outcome: 'missing', id: '' });
  await q.run(q.scripts.remove({ id: 'pending' }));
  await q.bury('a', { group: 'g' });
  expect(await redrive(q, 'a', 'b', '{"to":"ada"}')).toEqual({ outcome: 'redriven', id: 'b' });
  expect(await q.field('b', 'group')).toBe('g');
  expect((await q.claim(1))[0]).toMatchObject({ id: 'b', payload: { to: 'ada' } });
});

it.each(['Redis', 'memory'])('gives the new job a payload that its worker can decrypt, on %s', async (place) => {
  const options = { codec: encrypted([{ id: '1', key: randomBytes(32) }]), maxAttempts: 1 };
  const queue = place === 'Redis' ? newQueue(options) : new JobQueue(new ScriptStore(), 'jobs', options);
  const { id } = await queue.enqueue({ iban: 'DE1' });
  for (let last = id, i = 0; i < 2; i++) {
    await queue.fail((await queue.claim())!, new Error('no'));
    const redriven = await queue.deadLetters.redriveAsNew(last);
    expect(redriven.outcome).toBe('redriven');
    last = redriven.id;
  }
  expect((await queue.claim())!.payload).toEqual({ iban: 'DE1' });
});

it.each(['Redis', 'memory'])('keeps a payload that only looks like the one of a codec, on %s', async (place) => {
  const queue = place === 'Redis' ? newQueue() : new JobQueue(new ScriptStore(), 'jobs');
  const lookAlikes = [
    { $codec: 'x', of: 'a', b: 'c', value: 1 },
    { $codec: 'x', of: '@s', value: { of: 1 } },
    { $codec: 'X', value: 1 },
  ];
  for (const payload of lookAlikes) {
    const { id } = await queue.enqueue(payload);
    expect(await queue.claim()).toBeNull(); // it is a dead letter, because no codec can read it
    const redriven = await queue.deadLetters.redriveAsNew(id);
    expect(redriven.outcome).toBe('redriven');
    const stored = await queue.exec((calls) => calls.get({ id: redriven.id }));
    expect(stored!.payload).toEqual(payload);
    await queue.cancel(redriven.id);
  }
});
