// The table of docs/batches.md of what batches do with other features: each row is done here.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { JobQueue } from '#queue/job-queue.js';
import { InvalidOptionError, InvalidPayloadError } from '#queue/errors/errors.js';
import { ScriptStore } from '#memory/script-store.js';
import { rowsOf } from '../../docs/table.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const HOUR = 3_600_000;
const THEN = { then: { name: 'then' } };

/** Makes a sealed batch of one member, and claims the member. */
async function claimed(options = {}, followUp = {}) {
  const { queue, state } = coreQueue();
  const batch = queue.batch({ then: { name: 'then', ...followUp } });
  const { id } = await batch.add(queue.name, 1, options);
  await batch.seal();
  const claim = (await queue.claim())!;
  return { queue, state, batch, id, claim, follow: `@batch:${batch.id}:then` };
}

const refused = (options: object) => expect(() => coreQueue().queue.batch(options)).toThrow(InvalidOptionError);

const rows: Record<string, () => Promise<void>> = {
  'retries, backoff, snooze': async () => {
    const { queue, batch, claim, follow } = await claimed();
    await queue.fail(claim, new Error('x'), { delayMs: 0 });
    const again = (await queue.claim())!;
    await queue.release(again, { delayMs: 1 });
    expect(await batch.status()).toMatchObject({ state: 'sealed', open: 1 });
    await queue.complete((await queue.claim({ timeoutMs: 5_000 }))!);
    await queue.fail((await queue.claim())!, new Error('x'), { delayMs: HOUR });
    expect((await queue.get(follow))!.status).toBe('scheduled');
    expect((await batch.status()).state).toBe('fired');
  },
  '`delayMs`, `runAt`, `priority`': async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch({ then: { name: 'then', delayMs: HOUR } });
    for (const options of [{ delayMs: HOUR }, { runAt: Date.now() + HOUR }, { priority: 5 }]) {
      await batch.add(queue.name, 1, options);
    }
    await batch.seal();
    expect(await queue.stats()).toMatchObject({ scheduled: 2, pending: 1 });
    for (const id of await state.ranked(state.keys.scheduled)) await queue.reschedule(id, { delayMs: 0 });
    for (const claim of await queue.claimMany(3)) await queue.complete(claim);
    const { dueAt } = (await queue.get(`@batch:${batch.id}:then`))!;
    expect(dueAt!.getTime() - (await state.now())).toBeGreaterThan(HOUR - 60_000);
    refused({ then: { runAt: Date.now() } });
  },
  '`expiresInMs`': async () => {
    const { queue, state, batch, claim, follow } = await claimed({ expiresInMs: HOUR }, { expiresInMs: 2 * HOUR });
    await queue.complete(claim);
    const { expiresAt } = (await queue.get(follow))!;
    expect(expiresAt!.getTime() - (await state.now())).toBeGreaterThan(HOUR);
    const second = queue.batch(THEN);
    const { id } = await second.add(queue.name, 1, { expiresInMs: HOUR });
    await second.seal();
    await state.redis.hset(state.keys.job(id), 'expires_at_ms', 1);
    await queue.claimMany(5);
    expect((await second.status()).failed).toBe(1);
    expect((await batch.status()).completed).toBe(1);
  },
  '`unique`': async () => {
    const unique = { key: 'k', for: 'unfinished' };
    await expect(
      coreQueue()
        .queue.batch()
        .add('a', 1, { unique } as never),
    ).rejects.toThrow(InvalidOptionError);
    refused({ then: { unique } });
  },
  'an `id` of your own': async () => {
    const { batch, queue } = await claimed({ id: 'own' });
    await expect(queue.findBatch(batch.id).add(queue.name, 1, { id: 'own' })).resolves.toMatchObject({ id: 'own' });
    expect((await batch.status()).total).toBe(1);
    refused({ then: { id: 'own' } });
  },
  '`after`': async () => {
    const { queue } = coreQueue();
    const first = await queue.enqueue({});
    const batch = queue.batch(THEN);
    const { id } = await batch.add(queue.name, 1, { after: [first.id] });
    await batch.seal();
    await queue.complete((await queue.claim())!);
    const claim = (await queue.claim())!;
    expect(claim.id).toBe(id);
    await queue.complete(claim);
    expect((await batch.status()).state).toBe('fired');
    refused({ then: { after: [first.id] } });
  },
  pause: async () => {
    const { queue, batch, claim } = await claimed();
    await queue.pause();
    await queue.complete(claim);
    expect((await batch.status()).state).toBe('fired');
    expect(await queue.claim()).toBeNull();
    await queue.resume();
    expect(await queue.claim()).toMatchObject({ name: 'then' });
  },
  'limits of the queue': async () => {
    const queue = newQueue({ maxRunning: 1 });
    const worker = await startWorker([
      { queue, handlers: { [queue.name]: () => 1, then: () => 2 }, concurrency: 4 },
    ]);
    const batch = queue.batch(THEN);
    await batch.addMany(queue.name, [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await batch.seal();
    await batch.wait();
    expect(await queue.result(`@batch:${batch.id}:then`)).toBe(2);
    await worker.worker.stop();
  },
  groups: async () => {
    const { queue } = coreQueue();
    const batch = queue.batch({ then: { name: 'then', group: 'new' } });
    for (const group of ['a', 'b', 'a']) await batch.add(queue.name, group, { group });
    await batch.seal();
    const claims = await queue.claimMany(5);
    expect(claims.map(({ payload }) => payload)).toEqual(['a', 'b', 'a']);
    for (const claim of claims) await queue.complete(claim);
    await queue.claim({ timeoutMs: 2_000 }).then((claim) => queue.complete(claim!));
    expect((await batch.status()).state).toBe('ended');
    const stopped = queue.batch(THEN);
    await stopped.addMany(queue.name, [
      { payload: 1, group: 'a' },
      { payload: 2, group: 'b' },
    ]);
    await stopped.seal();
    await stopped.cancel();
    expect(await queue.claimMany(5)).toEqual([]);
    expect(await stopped.status()).toMatchObject({ state: 'ended', cancelled: 2 });
  },
  schedules: async () => {
    const { queue } = coreQueue();
    const hourly = queue.schedules.upsert('s', { everyMs: HOUR }, { batch: 'x' } as never);
    await expect(hourly).rejects.toThrow(InvalidOptionError);
    refused({ then: { schedule: 's' } });
  },
  'schemas of `defineJob`': async () => {
    const { queue } = coreQueue();
    const Page = defineJob('page', { payload: z.object({ page: z.number() }) });
    const batch = queue.batch();
    await expect(batch.add(Page, { page: 'one' } as never)).rejects.toThrow(InvalidPayloadError);
    await expect(batch.addMany(Page, [{ payload: {} as never }])).rejects.toThrow(InvalidPayloadError);
    await batch.add(Page, { page: 1 });
    expect(await queue.claim()).toMatchObject({ name: 'page', payload: { page: 1 } });
  },
  'metadata, durability': async () => {
    const metadata = { trace: 't' };
    const { queue, claim, follow } = await claimed({ metadata, durability: 'memory' }, { metadata });
    expect(claim.options.metadata).toEqual(metadata);
    await queue.complete(claim);
    expect((await queue.get(follow))!.metadata).toEqual(metadata);
  },
  'middleware around attempts': async () => {
    const queue = newQueue();
    const seen: string[] = [];
    const middleware = [
      { attempt: (job: { name: string }, next: () => Promise<unknown>) => (seen.push(job.name), next()) },
    ];
    const worker = await startWorker([{ queue, handlers: { a: () => 1, then: () => 2 } }], undefined, {
      middleware,
    });
    const batch = queue.batch(THEN);
    await batch.add('a', 1);
    await batch.seal();
    await batch.wait();
    await queue.result(`@batch:${batch.id}:then`);
    expect(seen).toEqual(['a', 'then']);
    await worker.worker.stop();
  },
  'the store in memory': async () => {
    const queue = new JobQueue(new ScriptStore(), 'jobs');
    const batch = queue.batch(THEN);
    await batch.add('a', 1);
    await batch.seal();
    for (const name of ['a', 'then']) {
      const job = await queue.claim();
      expect(job?.name).toBe(name);
      await queue.complete(job!, 0);
    }
    expect((await batch.status()).state).toBe('ended');
    queue.close();
  },
};

const told = rowsOf('batches with others', 'docs/batches.md')
  .slice(2)
  .map(([feature]) => feature!);

it('has a row here for each of the docs', () => {
  expect(Object.keys(rows)).toEqual(told);
});

it.each(Object.entries(rows))('%s', async (_feature, play) => play());
