// A job whose handler was never called uses no attempt, and gets back what the rates were charged for it.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { BulkHandler } from '#worker/handlers/handler.js';
import { gate } from '../../support/faults/wait.js';
import { intercept } from '../../support/faults/intercept.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

/** One start an hour, of the queue and of each group. */
const rateLimit = { limit: 1, periodMs: 3_600_000 };
const LIMITS = { rateLimit, groups: { rateLimit } };

/** Starts a worker that asks Redis before it starts a job which waited for its call. */
async function startAsking(queue: JobQueue, ran: () => unknown, waitMs = 20) {
  const handler: BulkHandler = { bulk: { size: 2, waitMs }, handle: () => void ran() };
  return startWorker([{ queue, handlers: { [queue.name]: handler } }]);
}

/** Holds back the calls of one script. */
function holding(queue: JobQueue, script: string) {
  const [asked, answer] = [gate(), gate()];
  intercept(queue, { [script]: (run) => (asked.open(), answer.promise.then(run)) });
  return { asked, answer };
}

const addExpiring = (queue: JobQueue) => queue.enqueue({}, { group: 'g', expiresInMs: 60_000 });

onEachStore('a job whose handler was never called gets its cost back', () => {
  it('where a stop comes while the worker asks whether it may start', async () => {
    const queue = newQueue(LIMITS);
    let ran = false;
    const { worker } = await startAsking(queue, () => (ran = true));
    const { asked, answer } = holding(queue, 'attemptStart');
    const { id } = await addExpiring(queue);
    await asked.promise;
    await worker.stop({ timeoutMs: 100 });
    answer.open();
    expect(await queue.get(id)).toMatchObject({ status: 'pending', attempts: 0, interruptions: 1 });
    expect([ran, (await queue.claim())?.id]).toEqual([false, id]);
  });

  it('where it is cancelled then, which ends it at once', async () => {
    const queue = newQueue(LIMITS);
    let ran = false;
    const worker = await startAsking(queue, () => (ran = true));
    const { asked, answer } = holding(queue, 'attemptStart');
    const { id } = await addExpiring(queue);
    await asked.promise;
    expect(await queue.cancel(id)).toBe('requested');
    await worker.event('cancelled', 1, { id });
    answer.open();
    await worker.worker.stop();
    const next = await queue.enqueue({}, { group: 'g' });
    expect([ran, (await queue.claim())?.id]).toEqual([false, next.id]);
  });

  it('where its claim could not be verified before the start', async () => {
    const queue = newQueue({ ...LIMITS, visibilityMs: 200 });
    const { id } = await addExpiring(queue);
    intercept(queue, { attemptExtend: () => Promise.reject(new Error('no answer')) });
    let ran = false;
    const worker = await startAsking(queue, () => (ran = true), 150);
    await worker.event('released', 1, { id });
    await worker.worker.stop();
    expect(await queue.get(id)).toMatchObject({ attempts: 0 });
    expect([ran, (await queue.claim())?.id]).toEqual([false, id]);
  });

  it('where no handler of the worker has its name', async () => {
    const queue = newQueue(LIMITS);
    const { id } = await queue.enqueue({}, { group: 'g', name: 'fax' });
    const worker = await startWorker([{ queue, handlers: { mail: () => undefined } }]);
    await worker.event('released', 1, { id });
    await worker.worker.stop();
    expect(await queue.get(id)).toMatchObject({ status: 'pending', attempts: 0, unhandled: 1 });
    expect((await queue.claim())?.id).toBe(id);
  });
});
