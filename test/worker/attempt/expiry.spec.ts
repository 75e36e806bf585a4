// A job that expires while it waits in its worker, prefetched or isolated, does not start.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { newClockedQueue, newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const NEVER_STARTED = 'The job was not started within its expiresInMs.';

const redisOf = (queue: JobQueue) => inside(queue).connection.client as Redis;

async function expire(queue: JobQueue, id: string): Promise<void> {
  const { keys } = await inside(queue).scripts();
  await redisOf(queue).hset(keys.job(id), 'expires_at_ms', 1);
}

/** Adds a job whose next crash would make it a dead letter. It waits until `promote`. */
async function enqueueCrashed(queue: JobQueue, payload: unknown): Promise<string> {
  const { id } = await queue.enqueue(payload, { expiresInMs: 120_000, delayMs: 60_000 });
  const { keys } = await inside(queue).scripts();
  await redisOf(queue).hset(keys.job(id), { crashes: 2, next_crash_is_last: 1 });
  return id;
}

const AHEAD = { concurrency: 1, prefetch: 1 };
const HELD = { concurrency: 4 }; // claims two at once

/** Starts a worker that runs a first job while a second waits, and counts its start requests. */
async function waiting(
  queue: JobQueue,
  slots: { concurrency: number; prefetch?: number } = AHEAD,
  onStarted?: () => Promise<unknown>,
) {
  const first = gate();
  const handle = (job: { payload: unknown }) => (String(job.payload) === 'first' ? first.promise : undefined);
  const handlers = { [queue.name]: handle };
  const worker = await startWorker([{ queue, ...slots, handlers }], undefined, { logFailures: true });
  await worker.event('started');
  await onStarted?.();
  await eventually(async () => (await queue.stats()).processing === 2);
  const ran: string[] = [];
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  inside(queue).runner.run = (call) => {
    ran.push(call.script);
    return run(call);
  };
  return { worker, first, starts: () => ran.filter((script) => script === 'attemptStart').length };
}

describe('a job that expires while it waits in its worker', () => {
  it('claimed ahead does not begin: it fails without an attempt, and the next one has its slot', async () => {
    const queue = newQueue();
    await queue.enqueue('first');
    const { id } = await queue.enqueue(['late'], { expiresInMs: 60_000 });
    const next = await queue.enqueue('next');
    const { worker, first } = await waiting(queue);
    await expire(queue, id);
    first.open();
    const failed = await worker.event('failed', 1, { id });
    expect(failed).toMatchObject({ job: { attempt: 0 }, error: { name: 'JobExpired', message: NEVER_STARTED } });
    await worker.event('completed', 1, { id: next.id });
    expect(worker.count('started', id)).toBe(0);
    expect(worker.warnings).toEqual([
      `Job ${id} ("${queue.name}" in queue "${queue.name}") failed before an attempt and is a dead letter: ` +
        `JobExpired: ${NEVER_STARTED}`,
    ]);
    expect(await queue.get(id)).toMatchObject({
      status: 'failed',
      attempts: 0,
      errors: 1,
      crashes: 0,
      lastError: NEVER_STARTED,
      attemptLog: [{ attempt: 0, outcome: 'error', error: { name: 'JobExpired' } }],
    });
    expect(worker.worker.running).toBe(0);
  });

  it('does not start if it is isolated: it fails, and no crash is added', async () => {
    const queue = newQueue();
    await queue.enqueue('first');
    const id = await enqueueCrashed(queue, ['isolated']);
    const { worker, first } = await waiting(queue, HELD, () => queue.promote(id));
    await expire(queue, id);
    first.open();
    await worker.event('failed', 1, { id });
    expect(worker.count('started', id)).toBe(0);
    const { status, attempts, crashes, lastError } = (await queue.get(id))!;
    expect({ status, attempts, crashes }).toEqual({ status: 'failed', attempts: 0, crashes: 2 });
    expect(lastError).toContain(NEVER_STARTED);
    const after = await queue.enqueue('after');
    await worker.event('completed', 1, { id: after.id });
  });

  it('is released once by a stop that comes while Redis is asked', async () => {
    const queue = newQueue();
    await queue.enqueue('first');
    const { id } = await queue.enqueue(['late'], { expiresInMs: 60_000 });
    const { worker, first } = await waiting(queue);
    await expire(queue, id);
    const run = inside(queue).runner.run.bind(inside(queue).runner);
    let stopped: Promise<unknown> | undefined;
    inside(queue).runner.run = async (call) => {
      const answer = await run(call);
      if (call.script === 'attemptStart') {
        stopped = worker.worker.stop({ timeoutMs: 200 });
        await worker.event('released', 1, { id });
      }
      return answer;
    };
    first.open();
    await worker.event('released', 1, { id });
    await stopped;
    expect(worker.count('failed')).toBe(0);
    expect(await queue.get(id)).toMatchObject({ status: 'pending', attempts: 0, interruptions: 1 });
  });
});

it('a job that can expire costs a call more where it waited, and none where it begins at once', async () => {
  const queue = newQueue();
  await queue.enqueue(['first'], { expiresInMs: 60_000 });
  const { id } = await queue.enqueue(['in time'], { expiresInMs: 60_000 });
  const { worker, first, starts } = await waiting(queue);
  first.open();
  await worker.event('completed', 1, { id });
  expect(starts()).toBe(1);
  await queue.enqueue(['at once'], { expiresInMs: 60_000 });
  await worker.event('completed', 3);
  expect(starts()).toBe(1);
  expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1 });
});

onEachStore('the start of a job that waited in its worker', () => {
  it('is refused from its expiry on, and not before', async () => {
    const { queue, clock } = newClockedQueue();
    await queue.enqueueMany(['first', 'in time', 'late'].map((payload) => ({ payload, expiresInMs: 60_000 })));
    const asked = { count: 3, slots: 1, worker: 'w', stream: '0', token: 't' };
    const { jobs } = await queue.exec((calls) => calls.claim(asked));
    const start = async (i: number) => (await queue.exec((calls) => calls.start([jobs[i]!])))[0];
    clock.nowMs += 59_999;
    expect(await start(1)).toBe('started');
    clock.nowMs += 1;
    expect(await start(2)).toMatchObject({ name: 'JobExpired', message: NEVER_STARTED });
  });
});
