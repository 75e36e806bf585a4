// A job whose hash is gone: both stores do without it.
import { expect, it } from '@jest/globals';
import { QueueFullError } from '#queue/errors/enqueue-errors.js';
import { loseHash, newQueue, onEachStore } from '../support/worker/workers.js';
import { sealed } from '../support/queue/unsealed.js';

onEachStore('a job whose hash is gone', () => {
  it('weighs nothing beside the other waiting jobs', async () => {
    const queue = newQueue({ maxPendingBytes: 100 });
    const payload = ['x'.repeat(80)];
    await queue.enqueue(payload, { id: 'lost' });
    await expect(queue.enqueue(payload)).rejects.toThrow(QueueFullError);
    await loseHash(queue, 'lost');
    expect(await queue.enqueue(payload)).toMatchObject({ outcome: 'new' });
    await queue.claimMany(2); // sets the other aside
  });

  it('holds its unique key no longer', async () => {
    const queue = newQueue();
    const unique = { key: 'k', for: 'unfinished' } as const;
    await queue.enqueue(1, { id: 'lost', unique });
    expect(await queue.enqueue(2, { unique })).toMatchObject({ outcome: 'kept', id: 'lost' });
    await loseHash(queue, 'lost');
    expect(await queue.enqueue(3, { unique })).toMatchObject({ outcome: 'new' });
    await queue.claimMany(2); // sets the other aside
  });

  it('is not redriven, and the other dead letters are', async () => {
    const queue = newQueue();
    for (const id of ['lost', 'known']) {
      await queue.enqueue(1, { id });
      await queue.fail((await queue.claim())!, new Error('no'), { final: true });
    }
    await loseHash(queue, 'lost');
    expect(
      await queue.exec((calls) => calls.deadLetters.redrive({ ids: ['lost', 'known'], payload: sealed('') })),
    ).toBe(1);
    expect(await queue.get('known')).toMatchObject({ status: 'pending' });
  });
});
