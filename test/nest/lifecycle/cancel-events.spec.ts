import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  ClaimLostError,
  Job,
  JobCancelledError,
  JobHandler,
  JobQueueService,
  OnJobEvent,
  type EnqueueJobOptions,
  type WorkerEvent,
} from 'nest-job-queue';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { startApp } from '../app.js';
import { inside } from '../../support/queue/inside.js';

/** Starts an app that only enqueues, and returns its events about cancelled jobs. */
async function hearing(redis: string = testRedisUrl()) {
  const seen: WorkerEvent[] = [];
  @Injectable()
  class Listener {
    @OnJobEvent('cancelled')
    cancelled(event: WorkerEvent) {
      seen.push(event);
    }
  }
  const app = await startApp({ jobs: { redis, worker: false, maintenance: false }, providers: [Listener] });
  return { jobs: app.get(JobQueueService), seen };
}

describe('a job that a call cancels while it waits', () => {
  it.each<[string, EnqueueJobOptions]>([
    ['pending', {}],
    ['prioritized', { priority: 5 }],
    ['scheduled', { delayMs: 60_000 }],
  ])('%s, has one event: for the listeners of the process of the call, and for the fleet', async (_, options) => {
    const name = uniqueQueueName();
    const [caller, other] = [await hearing(), await hearing()];
    const fleet: string[] = [];
    const listening = other.jobs.events.where({ queue: name }).subscribe(({ id, status }) => {
      fleet.push(`${id} ${status}`);
    });
    await eventually(async () => Number((await connect().pubsub('NUMSUB', `queue:${name}:events`))[1]) > 0);
    const job = await caller.jobs.enqueue(name, { n: 1 }, options);
    expect(await caller.jobs.cancel(name, job.id)).toBe('cancelled');
    expect(await caller.jobs.cancel(name, job.id)).toBe('cancelled');
    expect(await other.jobs.cancel(name, job.id)).toBe('cancelled');
    await eventually(() => fleet.length > 0 && caller.seen.length > 0);
    await sleep(50); // a second one would have come
    expect(fleet).toEqual([`${job.id} cancelled`]);
    expect(other.seen).toEqual([]);
    expect(caller.seen).toHaveLength(1);
    const [event] = caller.seen;
    expect(event).toMatchObject({
      type: 'cancelled',
      job: { id: job.id, name, queue: name, payload: { n: 1 }, attempt: 0, maxAttempts: 3 },
      error: { name: 'JobCancelled', message: 'The job was cancelled before it started.' },
    });
    await expect(event!.job.log('late')).rejects.toThrow(ClaimLostError);
    listening.unsubscribe();
  });

  it('has an event also if the queue itself was called, which says that the job had run before', async () => {
    const name = uniqueQueueName();
    const { jobs, seen } = await hearing();
    const queue = jobs.queue(name);
    const { id } = await queue.enqueue(1);
    await queue.fail((await queue.claim())!, new Error('no'), { delayMs: 60_000 });
    expect(await queue.cancel(id)).toBe('cancelled');
    expect(seen).toMatchObject([{ job: { id, attempt: 1 }, error: { message: /before its next attempt/ } }]);
  });

  it('has one event although the reply was lost with its connection', async () => {
    const proxy = await FaultProxy.start();
    const { jobs, seen } = await hearing(proxy.url);
    const name = uniqueQueueName();
    const { id } = await jobs.enqueue(name, 1);
    await jobs.cancel(name, 'none'); // the script is known to the server
    const lost = proxy.loseReplies();
    const answer = jobs.cancel(name, id);
    await lost;
    expect(await connect().hget(`queue:${name}:job:${id}`, 'status')).toBe('cancelled');
    proxy.heal();
    proxy.cut();
    expect(await answer).toBe('cancelled');
    expect(seen).toMatchObject([{ type: 'cancelled', job: { id, queue: name } }]);
  });

  it('has an event although the job is not kept', async () => {
    const name = uniqueQueueName();
    const { jobs, seen } = await hearing();
    const { id } = await jobs.enqueue(name, 'gone');
    jobs.queue(name).options.cancelledTtlMs = 1;
    await jobs.cancel(name, id);
    expect(seen).toMatchObject([{ job: { id, payload: 'gone' } }]);
  });
});

it('a job that a call cancels while it runs has one event, in its process, by its next heartbeat, and not by the call', async () => {
  const name = uniqueQueueName();
  const caller = await hearing();
  const running = gate();
  const seen: string[] = [];
  let [sent, firstToSay] = [0, Infinity];
  @Injectable()
  class Handlers {
    @JobHandler(name, { visibilityMs: 300 })
    async handle(job: Job) {
      running.open();
      await new Promise((_, reject) =>
        job.signal.addEventListener('abort', () => reject(job.signal.reason as Error)),
      );
    }

    @OnJobEvent('cancelled')
    cancelled({ job }: WorkerEvent) {
      seen.push(job.id);
    }
  }
  const app = await startApp({ providers: [Handlers] });
  const { runner } = inside(app.get(JobQueueService).queue(name));
  const run = runner.run.bind(runner);
  runner.run = async (call) => {
    if (call.script !== 'attemptExtend') return run(call);
    const beat = sent++;
    const answer = await run(call);
    const { cancelRequested } = answer as { cancelRequested: string[] };
    if (cancelRequested.length > 0) firstToSay = Math.min(firstToSay, beat);
    return answer;
  };
  const job = await caller.jobs.enqueue(name, 1);
  await running.promise;
  expect(await caller.jobs.cancel(name, job.id)).toBe('requested');
  const before = sent; // several may be in flight: a beat does not wait for the answer of the one before
  await expect(job.result()).rejects.toThrow(JobCancelledError);
  expect(firstToSay).toBeLessThanOrEqual(before);
  await eventually(() => seen.length > 0);
  expect(seen).toEqual([job.id]);
  expect(caller.seen).toEqual([]);
});
