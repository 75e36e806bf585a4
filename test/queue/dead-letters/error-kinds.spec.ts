// The kinds of error among the dead letters, counted when each job dies.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { encrypted, NonRetryableError } from 'nest-job-queue/core';
import { serverOf } from '../../support/queue/inside.js';
import { leaveBroken, newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';

function fail({ payload }: Job<string>): never {
  throw new NonRetryableError(payload);
}

/** Lets a worker fail jobs with these messages, for good. */
async function die(queue: JobQueue, ...messages: string[]): Promise<void> {
  const worker = await startWorker(queue, fail);
  const jobs = await queue.enqueueMany(messages.map((payload) => ({ payload })));
  await Promise.allSettled(jobs.map((job) => job.result()));
  await worker.worker.stop();
}

onEachStore('the kinds of error', () => {
  it('are counted by the common part of their messages, the most frequent first', async () => {
    const queue = newQueue();
    await die(queue, '"x" is no address');
    await die(queue, 'user 17 is gone', 'user 18 is gone', 'user 19 is gone');
    const [gone, address, ...others] = await queue.deadLetters.kinds();
    expect(others).toEqual([]);
    expect(gone).toMatchObject({
      count: 3,
      lastHour: 3,
      isNew: true,
      error: expect.stringMatching(/user 1\d is gone/),
    });
    expect(address).toMatchObject({ count: 1, error: '"x" is no address' });
    expect(gone!.sample).toMatchObject({ status: 'failed', errorKind: gone!.kind });
  });

  it('choose the dead letters to list, redrive and discard', async () => {
    const queue = newQueue();
    await die(queue, 'user 17 is gone', 'no address', 'user 18 is gone');
    const [gone, address] = await queue.deadLetters.kinds();
    expect((await queue.deadLetters.list({ kind: gone!.kind })).jobs).toHaveLength(2);
    expect(await queue.deadLetters.redriveAll({ kind: gone!.kind })).toBe(2);
    expect(await queue.deadLetters.kinds()).toMatchObject([{ kind: address!.kind, count: 1 }]);
    expect(await queue.deadLetters.discardAll({ kind: address!.kind })).toBe(1);
    expect(await queue.deadLetters.kinds()).toEqual([]);
    expect(await queue.stats()).toMatchObject({ pending: 2, failed: 0 });
  });

  it('have another sample once the last job of the kind has left', async () => {
    const queue = newQueue();
    await die(queue, 'user 17 is gone', 'user 18 is gone');
    const [{ sample } = {}] = await queue.deadLetters.kinds();
    await queue.deadLetters.discard(sample!.id);
    const [left] = await queue.deadLetters.kinds();
    expect(left).toMatchObject({ count: 1, error: expect.stringContaining('is gone') });
    expect(left!.sample!.id).not.toBe(sample!.id);
  });

  it('survive a redrive that fails again, and the cap of dead letters', async () => {
    const queue = newQueue({ deadLetterCap: 2 });
    await die(queue, 'a', 'b', 'c');
    expect((await queue.deadLetters.kinds()).map(({ count }) => count)).toEqual([1, 1]);
    await queue.deadLetters.redriveAll();
    await die(queue);
    expect(await queue.stats()).toMatchObject({ failed: 0, pending: 2 });
    expect(await queue.deadLetters.kinds()).toEqual([]);
  });

  it('are read from encrypted errors, and stored without a word of them', async () => {
    const queue = newQueue({ codec: encrypted([{ id: '1', key: randomBytes(32) }]) });
    await die(queue, 'no account DE02');
    const [kind] = await queue.deadLetters.kinds();
    expect(kind).toMatchObject({ kind: expect.stringMatching(/^[0-9a-f]{10}$/), error: 'no account DE02' });
  });

  it.each(['__proto__', '', '1 2 3', `1 ${'9'.repeat(16)} 1 1 1 0 job`])(
    'leave out the record %j of another program, and a mark of it',
    async (record) => {
      const queue = newQueue();
      await die(queue, 'user 17 is gone', 'no address');
      leaveBroken(queue);
      const [first, second] = await queue.deadLetters.kinds();
      const { client, scripts } = await serverOf(queue);
      await client.hset(scripts.keys.errorKinds, first!.kind, record);
      await client.hset(scripts.keys.errorMarks, second!.kind, `${'9'.repeat(16)} 0 {"known":true}`);
      const { mark, ...left } = (await queue.deadLetters.kinds())[0]!;
      expect([left, mark]).toMatchObject([{ kind: second!.kind, count: 1 }, undefined]);
      expect(await queue.deadLetters.kinds()).toHaveLength(1);
    },
  );

  it('count a record of another program anew', async () => {
    const queue = newQueue();
    leaveBroken(queue);
    await die(queue, 'no address');
    const { client, scripts } = await serverOf(queue);
    const [{ kind } = { kind: '' }] = await queue.deadLetters.kinds();
    await client.hset(scripts.keys.errorKinds, kind, '__proto__');
    await die(queue, 'no address');
    expect(await queue.deadLetters.kinds()).toMatchObject([{ kind, count: 1 }]);
  });

  it.each([[{ kind: '' }], [{ kind: 7 }]])('refuse the filter %j', async (filter) => {
    await expect(newQueue().deadLetters.redriveAll(filter as never)).rejects.toThrow('expected');
  });
});
