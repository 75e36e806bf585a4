// How jobs join a batch, where something comes between: a full queue, a cancel, another batch of a similar id.
import { expect, it } from '@jest/globals';
import { BatchNotFoundError } from '#queue/errors/errors.js';
import { DurabilityTimeoutError } from '#queue/enqueue/enqueue-batcher.js';
import { QueueFullError } from '#queue/errors/enqueue-errors.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const FOLLOW_UPS = { then: { name: 'then' }, onFailure: { name: 'broke' } };
const payloads = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

onEachStore('a batch', () => {
  it.each(['open', 'members', 'outcomes', 'seen'])(
    'is apart from one whose id is its own with :%s',
    async (part) => {
      const [queue, other] = [newQueue(), newQueue()];
      const batch = queue.batch({ id: 'import', ...FOLLOW_UPS });
      const similar = queue.batch({ id: `import:${part}`, ...FOLLOW_UPS });
      await batch.add(queue.name, 1);
      await batch.add(other.name, 2, { queue: other });
      await queue.complete((await queue.claim())!, 1);
      await other.complete((await other.claim())!, 2);
      await maintainBatches(other);
      await similar.add(queue.name, 3);
      expect(await similar.status()).toMatchObject({ total: 1, open: 1 });
      expect(await batch.status()).toMatchObject({ total: 2, completed: 2 });
      expect((await batch.results()).members).toHaveLength(2);
    },
  );

  it('waits for those of many members in another queue that were added before it was full', async () => {
    const [queue, pages] = [newQueue(), newQueue({ maxPending: 2 })];
    const batch = queue.batch(FOLLOW_UPS);
    await expect(batch.addMany('page', payloads(3), { queue: pages })).rejects.toThrow(QueueFullError);
    await batch.seal();
    expect(await batch.status()).toMatchObject({ state: 'sealed', total: 2, open: 2 });
  });

  it.each(['completed', 'cancelled'])('waits again for a member that was %s and is run again', async (status) => {
    const queue = newQueue();
    const batch = queue.batch(FOLLOW_UPS);
    const member = await batch.add(queue.name, 1);
    if (status === 'completed') await queue.complete((await queue.claim())!, 1);
    else await queue.cancel(member.id);
    expect(await queue.runAgain(member.id)).toBe('pending');
    expect(await batch.status()).toMatchObject({ total: 1, open: 1, completed: 0, cancelled: 0 });
    await queue.complete((await queue.claim())!, 2);
    await batch.seal();
    expect((await batch.results()).members).toMatchObject([{ status: 'completed', result: 2 }]);
    expect((await queue.claimMany(5)).map(({ name }) => name)).toEqual(['then']);
  });

  it.each(['wait', 'progress'])('ends a %s at once where its signal aborts', async (method) => {
    const batch = newQueue().batch(FOLLOW_UPS);
    const controller = new AbortController();
    const { signal } = controller;
    const progress = batch.progress({ everyMs: 600_000, signal });
    expect((await progress.next()).value).toMatchObject({ open: 0 });
    const ended = method === 'wait' ? batch.wait({ timeoutMs: 600_000, signal }) : progress.next();
    const reason = ended.catch((error: unknown) => error);
    await batch.status();
    controller.abort(new Error('no more'));
    expect(await reason).toMatchObject({ message: 'no more' });
  });

  it('that is unknown has no results, and one that waits to be sealed says so', async () => {
    const queue = newQueue();
    await expect(queue.findBatch('nobody').results()).rejects.toThrow(BatchNotFoundError);
    const batch = queue.batch(FOLLOW_UPS);
    await expect(batch.wait({ timeoutMs: 1 })).rejects.toThrow('is not sealed');
    expect(await batch.results()).toEqual({ members: [] });
  });

  it.each(['none', 'completed'])('that was cancelled is never followed by then (members: %s)', async (members) => {
    const queue = newQueue();
    const batch = queue.batch(FOLLOW_UPS);
    if (members === 'completed') {
      await batch.add(queue.name, 1);
      await queue.complete((await queue.claim())!, 1);
    }
    expect(await batch.cancel()).toBe('stopped');
    await batch.seal();
    expect((await queue.claimMany(5)).map(({ name }) => name)).toEqual(['broke']);
  });

  it('that was cancelled cancels a member of another queue that comes later, at once', async () => {
    const [queue, pages] = [newQueue(), newQueue()];
    const batch = queue.batch(FOLLOW_UPS);
    await batch.add(queue.name, 0);
    await batch.cancel();
    const late = await batch.add('page', 1, { queue: pages });
    expect(await late.get()).toMatchObject({ status: 'cancelled' });
  });
});

it('a batch waits for a member in another queue that was added, and that no replica has yet', async () => {
  const [queue, pages] = [newQueue(), newQueue({ durabilityTimeoutMs: 1 })];
  const batch = queue.batch(FOLLOW_UPS);
  const adding = batch.add('page', 1, { queue: pages, durability: 'replica' });
  await expect(adding).rejects.toThrow(DurabilityTimeoutError);
  await batch.seal();
  expect(await batch.status()).toMatchObject({ state: 'sealed', total: 1, open: 1 });
});
