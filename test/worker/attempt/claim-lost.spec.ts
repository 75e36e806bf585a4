// What ends a running attempt from outside: a claim that is lost, a cancel, its time limit.
import { describe, expect, it } from '@jest/globals';
import { ClaimLostError, JobCancelledError, NonRetryableError, RetryLaterError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { STUCK_AFTER_MS } from '#worker/attempt/overdue-handler.js';
import { HandlerTimeoutError } from '#worker/attempt/worker-errors.js';
import { connect } from '../../support/redis/redis.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { newQueue, onEachStore, startWorker, untilAborted } from '../../support/worker/workers.js';
import { claimEnd, expireClaim } from '../../support/queue/claim-times.js';
import { inside } from '../../support/queue/inside.js';

onEachStore('the heartbeat', () => {
  it('lets a job run longer than the visibility timeout', async () => {
    const queue = newQueue({ visibilityMs: 600 });
    const { id } = await queue.enqueue({});
    const done = gate();
    const worker = await startWorker(queue, () => done.promise, { sweepIntervalMs: 50 });
    await worker.event('started');
    await lengthened(queue, id, 900);
    done.open();
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1, crashes: 0 });
    expect((await queue.stats()).totals.reclaimed).toBeUndefined();
  });

  it('is for all running jobs of all queues', async () => {
    const queues = [newQueue({ visibilityMs: 600 }), newQueue({ visibilityMs: 600 })];
    const jobs = await Promise.all(queues.map((queue) => queue.enqueueMany([{ payload: 1 }, { payload: 2 }])));
    const done = gate();
    const list = queues.map((queue) => ({ queue, handlers: { [queue.name]: () => done.promise } }));
    const worker = await startWorker(list, undefined, { sweepIntervalMs: 50 });
    await worker.event('started', 4);
    await Promise.all(jobs.flatMap((of, i) => of.map(({ id }) => lengthened(queues[i]!, id, 900))));
    done.open();
    await worker.event('completed', 4);
    expect(worker.count('started')).toBe(4);
  });
});

onEachStore('a claim that is lost', () => {
  it('aborts the signal at the next heartbeat, and nothing is settled', async () => {
    const queue = newQueue({ visibilityMs: 1_000 });
    const { id } = await queue.enqueue({});
    const aborted = gate<unknown>();
    const finish = gate<string>();
    const worker = await startWorker(
      queue,
      (job: Job<never>) => {
        job.signal.addEventListener('abort', () => aborted.open(job.signal.reason));
        return finish.promise;
      },
      { perQueue: 1 },
    );
    const { job } = await worker.event('started');
    worker.worker.pause();
    await reclaim(queue, id);
    expect(await aborted.promise).toEqual(new ClaimLostError(id));
    await worker.event('lost');
    finish.open('too late');
    await eventually(() => worker.worker.running === 0);
    expect(await queue.get(id)).toMatchObject({ status: 'pending', crashes: 1 });
    expect(job.signal.aborted).toBe(true);
    expect(worker.count('completed')).toBe(0);
    expect(worker.warnings).toContainEqual(expect.stringContaining(`claim of job ${id} is lost`));
  });

  it.each([
    ['a result', () => 'late'],
    ['an error', () => Promise.reject(new Error('late'))],
    ['a snooze', (job: Job<never>) => job.snooze(10)],
  ])('refuses the settle that comes first, with %s, and says so', async (_, end) => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const finish = gate();
    const worker = await startWorker(
      queue,
      async (job: Job<never>) => {
        await finish.promise;
        return end(job);
      },
      { perQueue: 1 },
    );
    await worker.event('started');
    worker.worker.pause();
    await reclaim(queue, id);
    const before = await queue.get(id);
    finish.open();
    await worker.event('lost');
    expect(await queue.get(id)).toEqual(before);
    expect(worker.events.map(({ type }) => type)).toEqual(['started', 'lost']);
  });

  it('is lost to progress and log too, which throw in the handler', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const lost = gate();
    const outcome: unknown[] = [];
    const worker = await startWorker(
      queue,
      async (job: Job<never>) => {
        await job.progress({ percent: 10 });
        await job.log('first');
        await lost.promise;
        outcome.push(await job.progress({ percent: 90 }).catch((error: unknown) => error));
        outcome.push(await job.log('second').catch((error: unknown) => error), job.signal.reason);
      },
      { perQueue: 1 },
    );
    await eventually(async () => (await queue.get(id))!.log.length === 1);
    worker.worker.pause();
    await reclaim(queue, id);
    lost.open();
    await eventually(() => outcome.length === 3);
    expect(outcome).toEqual([new ClaimLostError(id), new ClaimLostError(id), new ClaimLostError(id)]);
    const job = await queue.get(id);
    expect(job).toMatchObject({ status: 'pending', progress: { percent: 10 } });
    expect(job!.log.map(({ message }) => message)).toEqual(['first']);
    expect(worker.count('completed')).toBe(0);
  });

  it('is that of the older attempt alone where the same worker has claimed the job again', async () => {
    const queue = newQueue({ visibilityMs: 1_000 });
    const { id } = await queue.enqueue({});
    const finish = gate<string>();
    const worker = await startWorker(queue, (job: Job<never>) =>
      job.attempt === 1 ? untilAborted(job) : finish.promise,
    );
    await worker.event('started');
    await reclaim(queue, id);
    const { job } = await worker.event('started', 2);
    await worker.event('lost');
    await lengthened(queue, id, 300);
    finish.open('in time');
    await worker.event('completed');
    expect(job.signal.aborted).toBe(false);
    expect(worker.count('lost')).toBe(1);
    expect(await queue.get(id)).toMatchObject({ status: 'completed', result: 'in time', attempts: 2, crashes: 1 });
  });

  it('that expired but was not reclaimed still counts: a good result is not thrown away (I2)', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const finish = gate();
    const worker = await startWorker(queue, () => finish.promise);
    await worker.event('started');
    await expireClaim(queue, id);
    finish.open();
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1 });
  });
});

describe('a cancel', () => {
  it('reaches the signal at the next heartbeat; the handler that stops ends the job cancelled', async () => {
    const queue = newQueue({ visibilityMs: 1_000 });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, untilAborted);
    await worker.event('started');
    expect(await queue.cancel(id)).toBe('requested');
    const { error } = await worker.event('cancelled');
    expect(error).toEqual(new JobCancelledError(id));
    expect(await queue.get(id)).toMatchObject({ status: 'cancelled', attempts: 1 });
    await expect(queue.result(id)).rejects.toThrow(JobCancelledError);
  });

  it('of another process is reported by the first heartbeat after its reply', async () => {
    const queue = newQueue({ visibilityMs: 1_000 });
    const jobs = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3 }, { payload: 4 }]);
    const beats = countBeats(queue);
    const beatsAtAbort = new Map<string, number>();
    const worker = await startWorker(queue, (job: Job<never>) => {
      job.signal.addEventListener('abort', () => beatsAtAbort.set(job.id, beats.answered));
      return untilAborted(job);
    });
    await worker.event('started', 4);
    const other = newQueue({}, connect(), queue.name);
    for (const { id } of jobs) {
      expect(await other.cancel(id)).toBe('requested');
      const before = beats.begun; // one of them may still be in flight
      await worker.event('cancelled', 1, { id });
      expect(beatsAtAbort.get(id)! - before).toBeLessThanOrEqual(1);
    }
    expect(beats.begun).toBeGreaterThan(0);
  });

  it('that comes after the work is done changes nothing: the complete wins', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    const finish = gate<string>();
    const worker = await startWorker(queue, () => finish.promise);
    await worker.event('started');
    await queue.cancel(id);
    finish.open('done');
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', result: 'done' });
  });
});

onEachStore('timeoutMs', () => {
  it.each([
    ['of the job', { timeoutMs: 20 }, undefined],
    ['of the handler', {}, 20],
    ['of the job before that of the handler', { timeoutMs: 20 }, 60_000],
  ])('%s fails the attempt and aborts the signal', async (_, options, timeoutMs) => {
    const queue = newQueue({ maxAttempts: 2 });
    const { id } = await queue.enqueue({}, options);
    const worker = await startWorker(queue, { handle: untilAborted, timeoutMs });
    const { error } = await worker.event('failed');
    expect(error).toEqual(new HandlerTimeoutError(id, 20));
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 2, errors: 2 });
  });

  it('is at most the longest wait of a timer', async () => {
    const queue = newQueue();
    await expect(queue.enqueue({}, { timeoutMs: 2 ** 31 })).rejects.toThrow(
      /timeoutMs: expected .* to 2147483647 ms/,
    );
    await queue.enqueue({}, { timeoutMs: 2 ** 31 - 1 });
    // Timers fire in the order of their time: one of 1 ms comes before this one.
    const worker = await startWorker(queue, () => sleep(2));
    await worker.event('completed');
    expect(worker.count('retry')).toBe(0);
  });

  it('ignores the result of the handler after it', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({}, { timeoutMs: 10 });
    const finish = gate<string>();
    const worker = await startWorker(queue, { handle: () => finish.promise, timeoutGraceMs: 0 });
    await worker.event('failed');
    finish.open('late');
    await eventually(() => worker.worker.running === 0);
    expect(await queue.get(id)).toMatchObject({ status: 'failed' });
    expect(worker.events.map(({ type }) => type)).toEqual(['started', 'failed']);
  });

  it('keeps claim and slot until the handler ends, so that no retry runs beside it', async () => {
    const queue = newQueue({ visibilityMs: 1_000, maxAttempts: 2 });
    const { id } = await queue.enqueue({}, { timeoutMs: 10 });
    const [aborted, finish] = [gate(), gate()];
    const steps: string[] = [];
    const handler = async ({ attempt, signal }: Job) => {
      steps.push(`start ${attempt}`);
      if (attempt === 1) {
        signal.addEventListener('abort', () => aborted.open());
        await finish.promise;
      }
      steps.push(`end ${attempt}`);
    };
    const worker = await startWorker(queue, handler);
    await aborted.promise;
    await lengthened(queue, id, 300);
    expect([steps, worker.worker.running]).toEqual([['start 1'], 1]);
    expect(await queue.get(id)).toMatchObject({ status: 'processing', attempts: 1 });
    finish.open();
    await worker.event('completed');
    expect(steps).toEqual(['start 1', 'end 1', 'start 2', 'end 2']);
    const { attemptLog } = (await queue.get(id))!;
    expect(attemptLog[0]).toMatchObject({ outcome: 'error', error: { name: 'HandlerTimeoutError' } });
  });

  it('ends the wait after the grace, and says that a retry may run beside the handler', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const { id } = await queue.enqueue({});
    const finish = gate();
    const handle = ({ attempt }: Job) => (attempt === 1 ? finish.promise : undefined);
    const worker = await startWorker(queue, { handle: handle, timeoutMs: 10, timeoutGraceMs: 20 });
    await worker.event('completed');
    expect(worker.warnings).toEqual([
      expect.stringMatching(`^The handler of job ${id} .* still runs 20 ms after its timeout.*job.signal`),
    ]);
    finish.open();
    await eventually(() => worker.worker.running === 0);
  });

  it('counts the attempt also where a stop ends the grace', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({}, { timeoutMs: 10 });
    const [aborted, finish] = [gate(), gate()];
    const worker = await startWorker(queue, ({ signal }: Job) => {
      signal.addEventListener('abort', () => aborted.open());
      return finish.promise;
    });
    await aborted.promise;
    await worker.worker.stop({ timeoutMs: 100 });
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 1, errors: 1, interruptions: 0 });
    finish.open();
  });

  it('ends the job permanently where the handler then throws a NonRetryableError, and snoozes nothing', async () => {
    const queue = newQueue({ maxAttempts: 2 });
    const [stop, later] = [new NonRetryableError('no use'), new RetryLaterError(60_000)];
    const handle = (job: Job) =>
      untilAborted(job).catch(() => Promise.reject(job.payload === 'stop' ? stop : later));
    const [final, snoozed] = await queue.enqueueMany([{ payload: 'stop' }, { payload: 'later' }]);
    const worker = await startWorker(queue, { handle, timeoutMs: 10 });
    await worker.event('failed', 2);
    expect([(await final!.get())!.attempts, (await snoozed!.get())!.attempts]).toEqual([1, 2]);
    expect((await snoozed!.get())!.lastError).toContain('ran longer than its timeoutMs');
  });
});

onEachStore('a handler that still runs although its signal was aborted', () => {
  it('is reported as stuck, once, whatever aborted it', async () => {
    const queue = newQueue({ visibilityMs: 900, maxAttempts: 1 });
    const finish = gate();
    const timers = holdTimers(STUCK_AFTER_MS);
    const timed = await queue.enqueue({}, { timeoutMs: 10 });
    const cancelled = await queue.enqueue({});
    const worker = await startWorker(queue, () => finish.promise);
    await worker.event('started', 2);
    await queue.cancel(cancelled.id);
    await timers.fire(2);
    await worker.event('stuck', 2);
    await lengthened(queue, cancelled.id, 600); // two more heartbeats
    const stuck = worker.events.filter(({ type }) => type === 'stuck').map(({ job }) => job.id);
    expect(stuck.toSorted()).toEqual([timed.id, cancelled.id].toSorted());
    expect(worker.warnings).toContainEqual(expect.stringMatching(/still runs although its signal was aborted/));
    finish.open();
    await worker.event('completed', 1, { id: cancelled.id });
  });
});

/** Counts the heartbeats of the worker of this queue, each as it is sent and as its reply comes. */
function countBeats(queue: JobQueue): { begun: number; answered: number } {
  const beats = { begun: 0, answered: 0 };
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  inside(queue).runner.run = (call) => {
    const reply = run(call);
    if (call.script === 'attemptExtend') {
      beats.begun++;
      void reply.then(() => beats.answered++);
    }
    return reply;
  };
  return beats;
}

/** Waits until heartbeats have put off the end of a claim by so much. */
async function lengthened(queue: JobQueue, id: string, byMs: number): Promise<void> {
  const first = await claimEnd(queue, id);
  await eventually(async () => (await claimEnd(queue, id)) >= first + byMs);
}

async function reclaim(queue: JobQueue, id: string): Promise<void> {
  await expireClaim(queue, id);
  expect((await queue.reclaim()).reclaimed).toMatchObject([{ id }]);
}
