// A running member adds members to its own batch, also once it is sealed.
import { describe, expect, it } from '@jest/globals';
import type { Batch } from '#queue/batches/batch.js';
import { BatchSealedError, ClaimLostError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { ClaimedJob } from '#queue/model/job.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { QueueReporter } from '#worker/attempt/queue-reporter.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const FOLLOW_UPS = { then: { name: 'then' }, onFailure: { name: 'broke' } };

/** Returns the batch as the handler of a claimed job sees it. */
async function batchIn(queue: JobQueue, claim: ClaimedJob): Promise<Batch<JobQueue | string>> {
  return new QueueReporter(queue, await queue.calls(), { drop() {} }, () => {}).batch(claim)!;
}

/** Makes a sealed batch of one member in this queue, and claims it. */
async function sealedBatch(home: JobQueue, queue = home) {
  const batch = home.batch(FOLLOW_UPS);
  await batch.add('page', 0, { queue, maxAttempts: 3 });
  await batch.seal();
  const claim = (await queue.claim())!;
  return { batch, claim, own: await batchIn(queue, claim) };
}

/** Returns a queue that calls something after each enqueue, before the job joins its batch. */
function queueWithGap(between: () => Promise<void>): JobQueue {
  return newQueue({
    middleware: [
      {
        async enqueue(_request, next) {
          const handles = await next();
          await between();
          return handles;
        },
      },
    ],
  });
}

const NOTHING = async () => {};

const firedNames = async (queue: JobQueue) => (await queue.claimMany(5)).map(({ name }) => name);

onEachStore('a batch that grows', () => {
  it('waits for the members that a running member adds', async () => {
    const queue = newQueue();
    const { batch, claim, own } = await sealedBatch(queue);
    const added = await own.add('page', 1);
    await own.addMany('page', [{ payload: 2 }, { payload: 3 }]);
    await queue.complete(claim, 0);
    expect(await batch.status()).toMatchObject({ state: 'sealed', total: 4, open: 3, completed: 1 });
    for (const member of await queue.claimMany(5)) await queue.complete(member, member.payload);
    expect(await batch.status()).toMatchObject({ state: 'fired', total: 4, completed: 4 });
    expect((await batch.results()).members.map(({ result }) => result)).toEqual([0, 1, 2, 3]);
    expect(await added.get()).toMatchObject({ batch: { id: batch.id, role: 'member' } });
    expect(await firedNames(queue)).toEqual(['then']);
  });

  it('lets members of members add further ones', async () => {
    const queue = newQueue();
    const { batch, claim, own } = await sealedBatch(queue);
    await own.add('page', 1);
    await queue.complete(claim);
    for (let depth = 2; depth <= 4; depth++) {
      const member = (await queue.claim())!;
      await (await batchIn(queue, member)).add('page', depth);
      await queue.complete(member);
      expect(await batch.status()).toMatchObject({ state: 'sealed', open: 1 });
    }
    await queue.complete((await queue.claim())!);
    expect(await batch.status()).toMatchObject({ state: 'fired', total: 5 });
  });

  it('refuses a member whose claim is lost, and adds nothing', async () => {
    const queue = newQueue();
    const { batch, claim, own } = await sealedBatch(queue);
    await queue.release(claim);
    await expect(own.add('page', 1)).rejects.toThrow(ClaimLostError);
    const again = (await queue.claim())!;
    await expect(own.add('page', 1)).rejects.toThrow(ClaimLostError);
    await (await batchIn(queue, again)).add('page', 2);
    expect(await batch.status()).toMatchObject({ total: 2, open: 2 });
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 1 });
  });

  it('refuses a member that has ended, and one that is added from outside', async () => {
    const queue = newQueue();
    const { batch, claim, own } = await sealedBatch(queue);
    await own.add('page', 1);
    await queue.complete(claim);
    await expect(own.add('page', 2)).rejects.toThrow(ClaimLostError);
    await expect(queue.findBatch(batch.id).add('page', 2)).rejects.toThrow(BatchSealedError);
    expect(await batch.status()).toMatchObject({ total: 2, open: 1 });
  });

  it('refuses a follow-up, which runs after the batch', async () => {
    const queue = newQueue();
    const { claim } = await sealedBatch(queue);
    await queue.complete(claim);
    const followUp = (await queue.claim())!;
    const own = await batchIn(queue, followUp);
    expect(await own.status()).toMatchObject({ state: 'fired' });
    await expect(own.add('page', 1)).rejects.toThrow(BatchSealedError);
    expect(await queue.stats()).toMatchObject({ pending: 0 });
  });

  it('adds a member with an id of its own once, by however many attempts, and after its hash is gone', async () => {
    const queue = newQueue({ resultTtlMs: 1 });
    const { batch, claim, own } = await sealedBatch(queue);
    await own.add('page', 1, { id: 'child', resultTtlMs: 1 });
    await own.add('page', 1, { id: 'child', resultTtlMs: 1 });
    await queue.fail(claim, new Error('later'), { delayMs: 0 });
    const jobs = await queue.claimMany(5);
    const child = jobs.find(({ id }) => id === 'child')!;
    await queue.complete(child, 'done');
    while ((await queue.get('child')) !== null);
    const again = jobs.find(({ id }) => id !== 'child')!;
    await (await batchIn(queue, again)).add('page', 1, { id: 'child', resultTtlMs: 1 });
    await queue.complete(again);
    expect(await queue.stats()).toMatchObject({ pending: 0, scheduled: 1, totals: { enqueued: 3 } }); // the follow-up
    expect(await batch.status()).toMatchObject({ state: 'fired', total: 2, completed: 2 });
  });

  it('cancels a member that is added after a cancel of the batch', async () => {
    const queue = newQueue();
    const { batch, claim, own } = await sealedBatch(queue);
    await batch.cancel();
    await own.add('page', 1);
    await queue.complete(claim);
    expect(await firedNames(queue)).toEqual(['broke']);
    expect(await batch.status()).toMatchObject({ total: 2, cancelled: 1 });
  });

  describe('in several queues', () => {
    it.each(['own', 'home', 'third'])('takes a job of its %s queue from a member elsewhere', async (where) => {
      const [home, pages, third] = [newQueue(), newQueue(), newQueue()];
      const { batch, claim, own } = await sealedBatch(home, pages);
      const target = { own: pages, home, third }[where]!;
      await own.add('page', 1, { queue: target });
      await pages.complete(claim);
      await maintainBatches(pages);
      expect(await batch.status()).toMatchObject({ state: 'sealed', total: 2, open: 1 });
      await target.complete((await target.claim())!, 'done');
      await maintainBatches(target);
      expect(await batch.status()).toMatchObject({ state: 'fired', total: 2, completed: 2 });
    });

    it.each(['own', 'home', 'third'])('adds no job of its %s queue once its claim is lost', async (where) => {
      const [home, pages, third] = [newQueue(), newQueue(), newQueue()];
      const { batch, claim, own } = await sealedBatch(home, pages);
      const target = { own: pages, home, third }[where]!;
      await pages.release(claim);
      await expect(own.add('page', 1, { queue: target })).rejects.toThrow(ClaimLostError);
      expect(await batch.status()).toMatchObject({ total: 1 });
      expect((await target.stats()).pending).toBe(where === 'own' ? 1 : 0);
    });

    it('takes a job of another queue from a member of its own queue', async () => {
      const [home, pages] = [newQueue(), newQueue()];
      const { batch, claim, own } = await sealedBatch(home);
      await own.add('page', 1, { queue: pages });
      await home.complete(claim);
      expect(await batch.status()).toMatchObject({ state: 'sealed', open: 1 });
      await pages.complete((await pages.claim())!);
      await maintainBatches(pages);
      expect(await firedNames(home)).toEqual(['then']);
    });

    it.each(['own', 'third'])('adds a job of its %s queue with an id of its own once', async (where) => {
      const [home, pages, third] = [newQueue(), newQueue(), newQueue()];
      const { batch, claim, own } = await sealedBatch(home, pages);
      const target = { own: pages, third }[where]!;
      const child = { id: 'child', resultTtlMs: 1 };
      await own.add('page', 1, { ...child, queue: target });
      await target.complete((await target.claim())!, 'done');
      await maintainBatches(target);
      await eventually(async () => (await target.get('child')) === null, { what: 'the end of the child' });
      expect(await own.add('page', 1, { ...child, queue: target })).toMatchObject({ id: 'child' });
      const jobs = [
        { payload: 1, ...child },
        { payload: 2, id: 'other' },
      ];
      await own.addMany('page', jobs, { queue: target });
      expect((await target.claimMany(5)).map(({ id }) => id)).toEqual(['other']);
      await pages.complete(claim);
      await maintainBatches(pages);
      expect(await batch.status()).toMatchObject({ total: 3, open: 1, completed: 2 });
    });

    it('leaves a job with an id of its own to the next attempt, where the claim is lost before the join', async () => {
      const home = newQueue();
      let between = NOTHING;
      const pages = queueWithGap(() => between());
      const { batch, claim, own } = await sealedBatch(home);
      between = async () => void (await home.release(claim));
      await expect(own.add('page', 1, { id: 'child', queue: pages })).rejects.toThrow(ClaimLostError);
      between = NOTHING;
      const again = (await home.claim())!;
      await (await batchIn(home, again)).add('page', 1, { id: 'child', queue: pages });
      await home.complete(again);
      await pages.complete((await pages.claim())!, 'done');
      await maintainBatches(pages);
      expect(await batch.status()).toMatchObject({ state: 'fired', total: 2, completed: 2 });
    });

    it('cancels a job without an id of its own, where the claim is lost before the join', async () => {
      const home = newQueue();
      let between = NOTHING;
      const pages = queueWithGap(() => between());
      const { claim, own } = await sealedBatch(home);
      between = async () => void (await home.release(claim));
      await expect(own.add('page', 1, { queue: pages })).rejects.toThrow(ClaimLostError);
      expect(await pages.stats()).toMatchObject({ pending: 0, cancelled: 1 });
    });

    it('takes the end of a job that ended before it joined', async () => {
      let endsEarly = false;
      const home = newQueue();
      const pages: JobQueue = newQueue({
        middleware: [
          {
            async enqueue(_request, next) {
              const handles = await next();
              if (endsEarly) {
                await pages.complete((await pages.claim())!, 'early');
                await maintainBatches(pages);
              }
              return handles;
            },
          },
        ],
      });
      const sealed = await sealedBatch(home, pages);
      endsEarly = true;
      await sealed.own.add('page', 1, { queue: pages });
      expect(await sealed.batch.status()).toMatchObject({ total: 2, open: 1, completed: 1 });
      await pages.complete(sealed.claim);
      await maintainBatches(pages);
      expect((await sealed.batch.results()).members).toMatchObject([{ status: 'completed' }, { result: 'early' }]);
      expect(await firedNames(home)).toEqual(['then']);
    });
  });
});
