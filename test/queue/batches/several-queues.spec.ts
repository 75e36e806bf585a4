// Members in queues other than the batch's: their ends go through an outbox, which maintenance delivers.
import { describe, expect, it } from '@jest/globals';
import type { Batch } from '#queue/batches/batch.js';
import { JobQueue } from '#queue/job-queue.js';
import { BatchNotFoundError, BatchSealedError, InvalidOptionError } from '#queue/errors/errors.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { refTo } from '#queue/store/job-ref.js';
import type { Job } from '#worker/handlers/job.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { intercept, restore } from '../../support/faults/intercept.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const FOLLOW_UPS = { then: { name: 'then' }, onFailure: { name: 'broke' } };
const logger = { error: () => {}, warn: () => {}, log: () => {} };

function world() {
  const home = coreQueue();
  const [pages, images] = [coreQueue(), coreQueue()];
  const batch = home.queue.batch(FOLLOW_UPS);
  return { home: home.queue, pages: pages.queue, images: images.queue, batch, states: { home, pages, images } };
}

const callsOf = async (queue: JobQueue) => (await inside(queue).scripts()).batches;
const done = async (queue: JobQueue) => queue.complete((await queue.claim())!, { from: queue.name });
const fired = async (queue: JobQueue, id: string, kind = 'then') =>
  (await queue.get(`@batch:${id}:${kind}`)) !== null;

const noMemory = () => Promise.reject(new Error('no memory left'));

/** Seals a batch. All its members are in one queue. */
async function addPages(batch: Batch<JobQueue>, queue: JobQueue, count: number): Promise<void> {
  await batch.addMany(
    'page',
    Array.from({ length: count }, (_, payload) => ({ payload })),
    { queue },
  );
  await batch.seal();
}

/** Lets no call of a queue reach other ones. Returns a function that ends this. */
function cutOff({ store }: JobQueue, ...others: JobQueue[]): () => void {
  const open = store.open.bind(store);
  store.open = (name, ...rest) =>
    others.some((other) => name === other.name)
      ? Promise.reject(new Error('its master is away'))
      : open(name, ...rest);
  return () => void (store.open = open);
}

/** Returns the warnings of a sweep of a queue. */
async function warningsOf(queue: JobQueue): Promise<string[]> {
  const warned: string[] = [];
  await new Sweeper([queue], 60_000, { ...logger, warn: (line) => void warned.push(line) }).runOnce();
  return warned;
}

describe('a batch with members in several queues', () => {
  it('fires when the ends of all have come, with their outcomes', async () => {
    const { home, pages, images, batch } = world();
    const page = await batch.add('page', 1, { queue: pages });
    const image = await batch.add('image', 2, { queue: images });
    const own = await batch.add('own', 3);
    await batch.seal();
    for (const queue of [pages, images, home]) await done(queue);
    expect(await batch.status()).toMatchObject({ total: 3, open: 2 });
    await maintainBatches(pages);
    expect(await fired(home, batch.id)).toBe(false);
    await maintainBatches(images);
    expect(await fired(home, batch.id)).toBe(true);
    expect((await batch.results()).members).toEqual([
      { id: page.id, queue: pages.name, status: 'completed', result: { from: pages.name } },
      { id: image.id, queue: images.name, status: 'completed', result: { from: images.name } },
      { id: own.id, queue: home.name, status: 'completed', result: { from: home.name } },
    ]);
  });

  it('is delivered by the maintenance of a worker, and leaves nothing behind', async () => {
    const { home, pages, batch, states } = world();
    await addPages(batch, pages, 450);
    for (const claim of await pages.claimMany(450)) await pages.complete(claim);
    await new Sweeper([pages], 60_000, logger).runOnce();
    expect(await fired(home, batch.id)).toBe(true);
    const { keys, redis } = states.pages.state;
    expect(await redis.exists(keys.batchOutbox, keys.remoteMembers)).toBe(0);
  });

  it('is delivered whole while follow-ups of others cannot be sent, and the log names their queue', async () => {
    const { home, pages, images, batch } = world();
    await addPages(batch, pages, 400);
    for (let i = 0; i < 50; i++) {
      const other = home.batch({ finally: { name: 'mail', queue: images.name } });
      await other.add('page', i, { queue: pages });
      await other.seal();
    }
    for (const claim of await pages.claimMany(450)) await pages.complete(claim);
    const warned: string[] = [];
    const sweeper = new Sweeper([pages], 60_000, { ...logger, warn: (line) => void warned.push(line) });
    const reconnect = cutOff(pages, images);
    for (let i = 0; i < 2; i++) await sweeper.runOnce();
    reconnect();
    expect(await fired(home, batch.id)).toBe(true);
    expect(warned).toEqual([
      `Could not reach other queues for the batches of queue "${pages.name}"; the next sweep tries again: queue "${images.name}": its master is away`,
    ]);
    await maintainBatches(home);
    expect((await images.stats()).totals.enqueued).toBe(50);
  });

  it('names five unreached queues in the log, and how many more there are', async () => {
    const { pages } = world();
    const homes = Array.from({ length: 7 }, () => coreQueue().queue);
    for (const home of homes) {
      await addPages(home.batch(FOLLOW_UPS), pages, 1);
      await done(pages);
    }
    const reconnect = cutOff(pages, ...homes);
    const [warning, ...others] = await warningsOf(pages);
    reconnect();
    expect(others).toEqual([]);
    expect(homes.filter(({ name }) => warning!.includes(`queue "${name}": its master is away`))).toHaveLength(5);
    expect(warning).toMatch(/; and 2 more$/);
  });

  it('names the queue of the outbox in the log, where its own call fails', async () => {
    const { home, pages, batch } = world();
    await addPages(batch, pages, 1);
    await done(pages);
    intercept(pages, { batchAcknowledge: noMemory });
    const warned = await warningsOf(pages);
    restore(pages);
    expect(await fired(home, batch.id)).toBe(true);
    expect(warned).toEqual([expect.stringMatching(`: queue "${pages.name}": no memory left$`)]);
  });

  it('is delivered among many entries for a queue that cannot be reached', async () => {
    const { home, pages, images, batch, states } = world();
    await batch.add('page', 1, { queue: pages });
    await batch.seal();
    await done(pages);
    const { keys, redis } = states.pages.state;
    const waiting = Array.from({ length: 1_500 }, (_, i) => [
      refTo(images.name, refTo('b', `${i}`)),
      '1\ncompleted\n1',
    ]);
    await redis.hset(keys.batchOutbox, ...waiting.flat());
    const reconnect = cutOff(pages, images);
    await expect(maintainBatches(pages)).rejects.toThrow('its master is away');
    reconnect();
    expect(await fired(home, batch.id)).toBe(true);
  });

  it('is delivered among many follow-ups whose group is full', async () => {
    const { home, pages, images, batch } = world();
    await images.groups.set('g', { maxPending: 1 });
    await images.enqueue(0, { group: 'g' });
    const addFull = async (i: number) => {
      const full = pages.batch({ finally: { name: images.name, queue: images.name, group: 'g' } });
      await full.add('page', i);
      await full.seal();
    };
    await Promise.all(Array.from({ length: 700 }, (_, i) => addFull(i)));
    await batch.add('page', 1, { queue: pages });
    await batch.seal();
    intercept(pages, { batchOutbox: noMemory });
    await Promise.all((await pages.claimMany(1_000)).map((claim) => pages.complete(claim)));
    restore(pages);
    await maintainBatches(pages);
    expect(await fired(home, batch.id)).toBe(true);
    expect((await images.stats()).totals.enqueued).toBe(1);
  });

  it('takes ends that come twice, or after newer ones, once', async () => {
    const { home, pages, batch } = world();
    await batch.addMany('page', [{ payload: 1 }, { payload: 2 }], { queue: pages });
    await batch.seal();
    const [a, b] = await pages.claimMany(2);
    await pages.fail(a!, new Error('no'), { final: true });
    const { run } = inside(home);
    const old = await run((await callsOf(pages)).outbox({ limit: 10 }));
    await pages.exec((calls) => calls.deadLetters.redrive({ ids: [a!.id] })); // not yet told
    const newer = await run((await callsOf(pages)).outbox({ limit: 10 }));
    const deliver = async (ends: typeof old) => run((await callsOf(home)).deliver({ from: pages.name, ends }));
    expect(await deliver(newer)).toMatchObject({ changed: 1 });
    expect(await deliver(old)).toMatchObject({ changed: 0 }); // the failure, told late
    expect(await deliver(newer)).toMatchObject({ changed: 0 });
    await pages.complete(b!);
    await maintainBatches(pages);
    expect(await batch.status()).toMatchObject({ open: 1, completed: 1, failed: 0 });
    expect(await fired(home, batch.id)).toBe(false);
    await done(pages);
    const last = await run((await callsOf(pages)).outbox({ limit: 10 }));
    expect(await deliver(last)).toMatchObject({ changed: 1 });
    expect(await deliver(last)).toMatchObject({ changed: 0 });
    await maintainBatches(pages);
    expect(await fired(home, batch.id)).toBe(true);
    expect((await home.stats()).totals.enqueued).toBe(1);
  });

  it('counts a member whose end comes before it has joined, as where its producer died or is slow', async () => {
    const { home, pages, batch } = world();
    await batch.add('own', 0);
    const ref = refTo(home.name, batch.id);
    await pages.producer.one(undefined, 1, { id: 'early', batch: ref });
    await done(pages);
    await maintainBatches(pages);
    expect(await batch.status()).toMatchObject({ total: 2, completed: 1, open: 1 });
    const { run } = inside(home);
    expect(await run((await callsOf(home)).join({ id: batch.id, members: [refTo(pages.name, 'early')] }))).toBe(
      'joined',
    );
    expect(await batch.status()).toMatchObject({ total: 2, completed: 1, open: 1 });
    await batch.seal();
    await done(home);
    expect(await fired(home, batch.id)).toBe(true);
  });

  it.each([
    ['cancelled', async (queue: JobQueue, id: string) => void (await queue.cancel(id))],
    ['removed', async (queue: JobQueue, id: string) => void (await queue.remove(id))],
    ['removed', async (queue: JobQueue) => void (await queue.purge({ confirm: queue.name }))],
  ])('counts a member that is %s there (%#)', async (status, end) => {
    const { home, pages, batch } = world();
    const { id } = await batch.add('page', 1, { queue: pages });
    await batch.seal();
    await end(pages, id);
    await maintainBatches(pages);
    expect(await batch.status()).toMatchObject({ state: 'fired', [status]: 1 });
    expect(await fired(home, batch.id, 'on_failure')).toBe(true);
  });

  it('cancels the members in other queues, with failFast', async () => {
    const { home, pages, images } = world();
    const batch = home.batch({ ...FOLLOW_UPS, failFast: true });
    await batch.add('page', 1, { queue: pages });
    const { id } = await batch.add('image', 2, { queue: images });
    await batch.seal();
    await pages.fail((await pages.claim())!, new Error('no'), { final: true });
    await maintainBatches(pages);
    await maintainBatches(home);
    expect(await images.claim()).toBeNull();
    expect((await images.get(id))!.status).toBe('cancelled');
    await maintainBatches(images);
    expect(await batch.status()).toMatchObject({ state: 'fired', failed: 1, cancelled: 1 });
  });

  it('refuses a queue of another server or prefix, and a member after the seal', async () => {
    const { home, pages, batch } = world();
    const other = new JobQueue(connect(), pages.name);
    const prefixed = new JobQueue(inside(home).connection.client, pages.name, { prefix: 'other' });
    await expect(batch.add('page', 1, { queue: other })).rejects.toThrow(InvalidOptionError);
    await expect(batch.add('page', 1, { queue: prefixed })).rejects.toThrow(InvalidOptionError);
    await batch.seal();
    await expect(batch.add('page', 1, { queue: pages })).rejects.toThrow(BatchSealedError);
    await expect(home.findBatch('none').add('page', 1, { queue: pages })).rejects.toThrow(BatchNotFoundError);
    expect((await batch.status()).total).toBe(0);
  });

  it('continues with other batches where the queue of one cannot be reached', async () => {
    const { home, pages, images, batch } = world();
    const second = images.batch(FOLLOW_UPS);
    await batch.add('page', 1, { queue: pages });
    await second.add('page', 2, { queue: pages });
    await batch.seal();
    await second.seal();
    await done(pages);
    await done(pages);
    const reconnect = cutOff(pages, home);
    await expect(maintainBatches(pages)).rejects.toThrow('its master is away');
    reconnect();
    expect(await fired(images, second.id)).toBe(true);
    expect(await fired(home, batch.id)).toBe(false);
    await maintainBatches(pages);
    expect(await fired(home, batch.id)).toBe(true);
  });
});

async function vanished() {
  const { home, pages, images, batch, states } = world();
  await batch.add('page', 1, { queue: pages });
  const image = await batch.add('image', 2, { queue: images });
  await batch.seal();
  await states.pages.state.deleteKeys();
  return { home, images, batch, image };
}

describe('a member in another queue that vanishes with all its traces', () => {
  it('counts as removed at the next look of the batch, which then ends', async () => {
    const { home, images, batch } = await vanished();
    await done(images);
    await maintainBatches(images);
    expect(await batch.status()).toMatchObject({ open: 1, completed: 1 });
    await maintainBatches(home, { all: true });
    expect(await batch.status()).toMatchObject({ state: 'fired', removed: 1 });
    expect(await fired(home, batch.id, 'on_failure')).toBe(true);
  });

  it('is removed by a cancel of the batch, which fires without maintenance of the other queues', async () => {
    const { home, images, batch, image } = await vanished();
    expect(await batch.cancel()).toBe('stopped');
    expect((await images.get(image.id))!.status).toBe('cancelled');
    expect(await batch.status()).toMatchObject({ state: 'fired', removed: 1, cancelled: 1 });
    expect(await fired(home, batch.id, 'on_failure')).toBe(true);
    await maintainBatches(images);
    expect(await batch.status()).toMatchObject({ removed: 1, cancelled: 1 });
  });

  it('does not keep the batch from the ends in other queues where its queue cannot be reached', async () => {
    const { home, images, batch } = await vanished();
    await done(images);
    const { store } = home;
    const open = store.open.bind(store);
    store.open = (name, ...rest) =>
      name === images.name ? open(name, ...rest) : Promise.reject(new Error('its master is away'));
    await expect(maintainBatches(home, { all: true })).rejects.toThrow('its master is away');
    store.open = open;
    expect(await batch.status()).toMatchObject({ open: 1, completed: 1 });
  });
});

function printPage(job: Job): void {
  if (job.payload === 'bad') throw new Error('no ink');
}

it('a worker reports ends of members to their batch without waiting for maintenance', async () => {
  const home = newQueue();
  const pages = newQueue();
  const worker = await startWorker([
    { queue: pages, handlers: { page: printPage } },
    { queue: home, handlers: { broke: () => 'told' } },
  ]);
  const batch = home.batch({ onFailure: { name: 'broke' } });
  await batch.addMany('page', [{ payload: 'good' }, { payload: 'bad', maxAttempts: 1 }], { queue: pages });
  await batch.seal();
  await batch.wait();
  expect(await home.result(`@batch:${batch.id}:on_failure`)).toBe('told');
  await worker.worker.stop();
});
