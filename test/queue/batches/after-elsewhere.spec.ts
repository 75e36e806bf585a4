// Jobs that start after jobs of other queues.
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { JobReference } from '#queue/model/batch.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { eventually } from '../../support/faults/wait.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { intercept, notedScripts, restore } from '../../support/faults/intercept.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const error = new Error('no ink');
const ref = ({ queue, id }: JobReference) => ({ queue, id });

/** Completes the next job, and delivers its end. */
async function done(queue: JobQueue, id: string): Promise<void> {
  const claim = (await queue.claim())!;
  expect(claim.id).toBe(id);
  await queue.complete(claim);
  await maintainBatches(queue);
}

/** Runs `between` after the other queues were asked, and before the enqueue. */
function beforeEnqueue(queue: JobQueue, between: () => Promise<unknown>): void {
  const { store } = queue;
  const callsOf = queue.calls.bind(queue);
  queue.calls = async () => {
    const calls = await callsOf();
    return Object.assign(Object.create(calls) as typeof calls, {
      enqueue: (jobs: Parameters<typeof calls.enqueue>[0]) => {
        const call = calls.enqueue(jobs);
        const exec = store.exec.bind(store);
        store.exec = (async (...args: Parameters<typeof exec>) => {
          store.exec = exec;
          await between();
          return exec(...args);
        }) as typeof exec;
        return call;
      },
    });
  };
}

onEachStore('after a job of another queue', () => {
  it('starts when the last has completed, by a handle, by queue and id, and by an id of its own queue', async () => {
    const [home, images, pages] = [newQueue(), newQueue(), newQueue()];
    const image = await images.enqueue({});
    const page = await pages.enqueue({}, { delayMs: 60_000 });
    const own = await home.enqueue({});
    const last = await home.enqueue({}, { after: [image, { queue: pages.name, id: page.id }, own.id, own] });
    expect(await last.get()).toMatchObject({ status: 'scheduled', after: [image, page, own].map(ref) });
    expect(await image.get()).toMatchObject({ followedBy: [ref(last)] });
    await done(home, own.id);
    await done(images, image.id);
    expect(await home.claim()).toBeNull();
    await pages.promote(page.id);
    await done(pages, page.id);
    expect(await last.get()).not.toHaveProperty('after');
    await done(home, last.id);
  });

  it('starts at once where all have completed, and keeps its other options', async () => {
    const [home, images] = [newQueue(), newQueue()];
    const image = await images.enqueue({});
    await done(images, image.id);
    const [now, later] = await home.enqueueMany([
      { payload: 1, after: [image], priority: 3 },
      { payload: 2, after: [image], delayMs: 60_000 },
    ]);
    expect(await now!.get()).toMatchObject({ status: 'pending', priority: 3 });
    expect(await later!.get()).toMatchObject({ status: 'scheduled' });
    await done(home, now!.id);
  });

  it.each([
    ['failed', async (queue: JobQueue) => void (await queue.fail((await queue.claim())!, error, { final: true }))],
    ['was cancelled', async (queue: JobQueue, id: string) => void (await queue.cancel(id))],
    ['was deleted', async (queue: JobQueue, id: string) => void (await queue.remove(id))],
    ['was deleted', async (queue: JobQueue) => void (await queue.purge({ confirm: queue.name }))],
  ])('fails the job where one %s, and names its queue (%#)', async (how, end) => {
    const [home, images] = [newQueue(), newQueue()];
    const image = await images.enqueue({});
    const last = await home.enqueue({}, { after: [image] });
    await end(images, image.id);
    await maintainBatches(images);
    await maintainBatches(home);
    await maintainBatches(home);
    const lastError = `Job ${image.id} of the queue "${images.name}", after which this job was to start, ${how}.`;
    expect(await last.get()).toMatchObject({ status: 'failed', lastError: expect.stringContaining(lastError) });
  });

  it.each([
    ['completes', 'processing', async (queue: JobQueue) => void (await queue.complete((await queue.claim())!))],
    ['is cancelled', 'failed', async (queue: JobQueue, id: string) => void (await queue.cancel(id))],
  ])('knows the end of a job that %s while the other is enqueued, and is forgotten', async (_, status, end) => {
    const [home, images] = [newQueue(), newQueue({ resultTtlMs: 1 })];
    const image = await images.enqueue({});
    beforeEnqueue(home, async () => {
      await end(images, image.id);
      await maintainBatches(images);
      await images.remove(image.id); // the record of a completed one is kept for the job that reads it
      await eventually(async () => (await image.get()) === null);
    });
    const last = await home.enqueue({}, { after: [image] });
    expect(await image.get()).toBeNull();
    await maintainBatches(home, { all: true });
    await home.claim();
    expect(await last.get()).toMatchObject({ status });
  });

  it('refuses jobs that are unknown or have ended badly, and names the queue', async () => {
    const [home, images] = [newQueue(), newQueue()];
    const bad = await images.enqueue({});
    await images.fail((await images.claim())!, error, { final: true });
    const gone = await images.enqueue({});
    await gone.cancel();
    for (const [after, why] of [
      [{ queue: images.name, id: 'nobody' }, `"nobody", which the queue "${images.name}" does not know`],
      [bad, `of the queue "${images.name}", which is a dead letter`],
      [gone, `of the queue "${images.name}", which was cancelled`],
      [bad.id, `which the queue "${home.name}" does not know`],
    ] as const) {
      const refused = await home.enqueue({}, { after: [after] }).catch((thrown: unknown) => thrown);
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect((refused as InvalidOptionError).subject).toBe('enqueue.after');
      expect((refused as Error).message).toContain(why);
    }
    expect((await home.stats()).totals.enqueued ?? 0).toBe(0);
    await expect(home.enqueue(1, { after: [{ queue: 'a b', id: 'x' }] })).rejects.toThrow('{ queue, id }');
  });

  it('answers a repeat with the known job, also where the other is forgotten by now', async () => {
    const [home, images] = [newQueue(), newQueue()];
    const image = await images.enqueue({}, { delayMs: 60_000 });
    const options = { id: 'mine', after: [image] };
    await home.enqueue({}, options);
    expect(await home.enqueue({}, options)).toMatchObject({ outcome: 'existing' });
    await images.remove(image.id);
    expect(await home.enqueue({}, options)).toMatchObject({ id: 'mine', outcome: 'existing' });
  });

  it('is run by workers without a sweep, also after a job that runs already', async () => {
    const [home, images] = [newQueue(), newQueue()];
    let end!: () => void;
    const handlers = { image: () => undefined, long: () => new Promise<void>((resolve) => (end = resolve)) };
    await startWorker(
      [
        { queue: images, handlers },
        { queue: home, handlers: { [home.name]: () => 'ran' } },
      ],
      undefined,
      { sweepIntervalMs: 0 },
    );
    const long = await images.producer.one(undefined, 1, { name: 'long' });
    await eventually(() => end !== undefined);
    const image = await images.producer.one(undefined, 1, { name: 'image', delayMs: 20 });
    const last = await home.enqueue({}, { after: [long, image] });
    await image.result();
    end();
    expect(await last.result({ timeoutMs: 10_000 })).toBe('ran');
  });
});

describe('after a job of another queue, on Redis', () => {
  it('takes one command in the other queue, and none more where all are of its own', async () => {
    const [home, images] = [coreQueue(), coreQueue()];
    const own = await home.queue.enqueue(1);
    const image = await images.queue.enqueue(1);
    const noted = notedScripts(home.queue);
    const sent = () => noted.splice(0).filter((script) => script !== 'registerAdd'); // once for each process and name
    await home.queue.enqueue(2, { after: [own.id] });
    expect(sent()).toEqual(['jobEnqueue']);
    await home.queue.enqueue(2, { after: [own, image] });
    expect(sent()).toEqual(['batchDepend', 'jobEnqueue']);
  });

  it('finds an end whose report was lost with its queue, at the next look', async () => {
    const [home, images] = [coreQueue(), coreQueue()];
    const image = await images.queue.enqueue(1);
    const last = await home.queue.enqueue(2, { after: [image] });
    await images.queue.complete((await images.queue.claim())!);
    await images.state.redis.del(images.state.keys.batchOutbox);
    await maintainBatches(home.queue);
    expect(await home.queue.claim()).toMatchObject({ id: last.id });
  });

  it('keeps an end for a job that is not enqueued yet, for a time', async () => {
    const [home, images] = [coreQueue(), coreQueue()];
    const { batches } = await inside(home.queue).scripts();
    const image = await images.queue.enqueue(1);
    const other = (await inside(images.queue).scripts()).batches;
    const { run } = inside(home.queue);
    await run(other.depend({ home: home.queue.name, pairs: [{ id: image.id, waiting: 'never' }] }));
    await images.queue.complete((await images.queue.claim())!);
    const ends = await run(other.outbox({ limit: 10 }));
    expect(await run(batches.deliver({ from: images.queue.name, ends }))).toMatchObject({ changed: 1 });
    expect(await run(batches.deliver({ from: images.queue.name, ends }))).toMatchObject({ changed: 0 });
    const { redis, keys } = home.state;
    const ttl = await redis.pttl(keys.batchRecord('never', 'early'));
    expect(ttl).toBeGreaterThan(500_000);
    expect((await home.queue.doctor()).findings).toEqual([]);
  });

  it('starts a job whose last one ends right before its enqueue, and forgets that end', async () => {
    const [home, images] = [coreQueue(), coreQueue()];
    const image = await images.queue.enqueue(1);
    intercept(home.queue, {
      jobEnqueue: async (run) => {
        restore(home.queue);
        await images.queue.complete((await images.queue.claim())!);
        await maintainBatches(images.queue);
        expect(await home.state.redis.exists(home.state.keys.batchRecord('last', 'early'))).toBe(1);
        return run();
      },
    });
    await home.queue.enqueue(2, { id: 'last', after: [image] });
    expect(await home.state.redis.exists(home.state.keys.batchRecord('last', 'early'))).toBe(0);
    expect(await home.queue.claim()).toMatchObject({ id: 'last' });
  });
});
