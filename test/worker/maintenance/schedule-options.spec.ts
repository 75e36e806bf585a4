// The options of a schedule's jobs: each reaches the job of a tick and overrides the handler's.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { JobHandler, JobQueueService, OnJobEvent, RecurringJob } from 'nest-job-queue';
import type { JobQueue } from '#queue/job-queue.js';
import type { ScheduleOptions } from '#queue/schedules/schedule.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import type { WorkerEvent } from '#worker/handlers/attempt-middleware.js';
import { startApp } from '../../nest/app.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { HOUR, TestSchedules } from '../../support/queue/schedules.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, startWorker, untilAborted } from '../../support/worker/workers.js';

/** The handler's options: the opposite of each option. */
const HANDLER: HandlerOptions = {
  maxAttempts: 1,
  maxCrashes: 5,
  backoff: 0,
  timeoutMs: HOUR,
  keepResult: true,
  resultTtlMs: HOUR,
};
const DECADE = { cron: '0 0 29 2 *' };

/** A queue with one schedule, whose worker claims nothing before `begin`. */
interface Stage {
  queue: JobQueue;
  state: TestQueue;
  heard: WorkerEvent[];
  begin: () => Promise<void>;
}

interface Case {
  options: ScheduleOptions;
  handle?: (job: Job) => unknown;
  /** @param id of the job of the tick */
  acts(stage: Stage, id: string): Promise<void>;
}

const fails = () => Promise.reject(new Error('no'));

// The compiler refuses it where an option is missing.
const CASES: Record<Exclude<keyof ScheduleOptions, keyof typeof TESTED_ELSEWHERE>, Case> = {
  priority: {
    options: { priority: 5 },
    acts: async ({ heard, begin }, id) => {
      await begin();
      await ended(heard, 2);
      expect(heard.filter(({ type }) => type === 'started').map(({ job }) => job.id)).toEqual([id, 'earlier']);
    },
  },
  group: {
    options: { group: 'tenant' },
    acts: async ({ queue, heard, begin }, id) => {
      expect(await queue.groups.list()).toMatchObject([{ name: 'tenant', pending: 1 }]);
      await begin();
      await ended(heard, 2);
      expect(heard.find(({ job }) => job.id === id)!.job).toMatchObject({ group: 'tenant' });
    },
  },
  maxAttempts: {
    options: { maxAttempts: 2 },
    handle: fails,
    acts: async ({ queue, heard, begin }, id) => {
      await begin();
      await ended(heard, 3);
      expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 2, maxAttempts: 2 });
    },
  },
  maxCrashes: {
    options: { maxCrashes: 1, maxAttempts: 5, priority: 1 },
    acts: async ({ queue, state }, id) => {
      expect(await queue.claim()).toMatchObject({ id });
      await state.expireClaims(id);
      await queue.reclaim();
      expect(await queue.get(id)).toMatchObject({ status: 'failed', crashes: 1, attempts: 1 });
    },
  },
  backoff: {
    options: { backoff: { type: 'fixed', delayMs: HOUR }, maxAttempts: 2 },
    handle: fails,
    acts: async ({ queue, state, heard, begin }, id) => {
      await begin();
      await ended(heard, 2);
      const job = (await queue.get(id))!;
      expect(job.status).toBe('scheduled');
      expect(job.dueAt!.getTime() - (await state.now())).toBeGreaterThan(HOUR - 60_000);
    },
  },
  timeoutMs: {
    options: { timeoutMs: 20 },
    handle: (job) => (job.id === 'earlier' ? 'done' : untilAborted(job)),
    acts: async ({ queue, heard, begin }, id) => {
      await begin();
      await ended(heard, 2);
      expect(await queue.get(id)).toMatchObject({
        status: 'failed',
        lastError: `Job ${id} ran longer than its timeoutMs of 20 ms.`,
      });
    },
  },
  slots: {
    options: { slots: 3 },
    acts: async ({ queue }, id) => {
      expect(await queue.get(id)).toMatchObject({ slots: 3 });
      expect((await queue.claimMany(2)).find((each) => each.id === id)!.options).toMatchObject({ slots: 3 });
    },
  },
  expiresInMs: {
    options: { expiresInMs: HOUR },
    acts: async ({ queue, state, heard, begin }, id) => {
      const { expiresAt, enqueuedAt } = (await queue.get(id))!;
      expect(expiresAt!.getTime() - enqueuedAt.getTime()).toBe(HOUR);
      await state.redis.hset(state.keys.job(id), 'expires_at_ms', 1);
      await begin();
      await ended(heard, 2);
      expect(heard.filter(({ type }) => type === 'started').map(({ job }) => job.id)).toEqual(['earlier']);
      expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 0 });
    },
  },
  keepResult: {
    options: { keepResult: false },
    acts: async ({ queue, heard, begin }, id) => {
      await begin();
      await ended(heard, 2);
      expect((await queue.get('earlier'))!.result).toBe('done');
      expect(await queue.get(id)).toMatchObject({ status: 'completed' });
      expect((await queue.get(id))!.result).toBeUndefined();
    },
  },
  resultTtlMs: {
    options: { resultTtlMs: 60_000 },
    acts: async ({ state, heard, begin }, id) => {
      await begin();
      await ended(heard, 2);
      expect(await state.redis.pttl(state.keys.job(id))).toBeLessThanOrEqual(60_000);
      expect(await state.redis.pttl(state.keys.job('earlier'))).toBeGreaterThan(60_000);
    },
  },
  limitCosts: {
    options: { limitCosts: { openai: 3 } },
    acts: async ({ queue }, id) => {
      await queue.claim(); // the earlier one
      expect(await queue.claim()).toMatchObject({ id, options: { limitCosts: { openai: 3 } } });
    },
  },
  payload: {
    options: { payload: { of: 'the tick' } },
    acts: async ({ heard, begin }, id) => {
      await begin();
      await ended(heard, 2);
      expect(heard.find(({ job }) => job.id === id)!.job.payload).toEqual({ of: 'the tick' });
    },
  },
};

/** Options that are tested in test/queue/schedules/schedules.spec.ts, test/nest/handlers/recurring-jobs.spec.ts and test/queue/schedules/typed-schedules.spec.ts. */
const TESTED_ELSEWHERE = { name: true, onMissed: true, missedAfterMs: true, overlap: true, definition: true };

/** Resolves when `count` attempts have ended, or were refused. */
async function ended(heard: WorkerEvent[], count: number): Promise<void> {
  await eventually(() => heard.filter(({ type }) => type !== 'started').length >= count);
}

async function core({ options, handle = () => 'done' }: Case): Promise<Stage> {
  const queue = newQueue();
  await queue.schedules.upsert('s', DECADE, options);
  const heard: WorkerEvent[] = [];
  const served = { queue, concurrency: 1, handlers: { [queue.name]: { ...HANDLER, handle } } };
  const begin = async () => {
    await startWorker([served], undefined, { onEvent: (event) => void heard.push(event) });
  };
  return { queue, state: queueOn(connect(), {}, queue.name), heard, begin };
}

async function nest({ options, handle = () => 'done' }: Case): Promise<Stage> {
  const name = uniqueQueueName();
  const heard: WorkerEvent[] = [];
  @JobHandler(name, { ...HANDLER, concurrency: 1 })
  @RecurringJob(DECADE, { id: 's', ...(options as object) })
  class Handler {
    handle(job: Job) {
      return handle(job);
    }

    @OnJobEvent(['started', 'completed', 'retry', 'failed'])
    hear(event: WorkerEvent) {
      heard.push(event);
    }
  }
  const jobs = (await startApp({ providers: [Handler] })).get(JobQueueService);
  jobs.pauseWorker();
  const begin = () => Promise.resolve(jobs.resumeWorker());
  return { queue: jobs.queue(name), state: queueOn(connect(), {}, name), heard, begin };
}

describe.each([
  ['an upsert', core],
  ['@RecurringJob', nest],
])('of a schedule by %s', (_, open) => {
  it.each(Object.entries(CASES))('%s reaches the job of a tick and acts', async (__, one) => {
    const stage = await open(one);
    await stage.queue.enqueue(['plain'], { id: 'earlier' });
    const due = await new TestSchedules(stage.state).makeDue('s');
    await stage.queue.schedules.tick();
    const id = `@schedule:s:${due}`;
    await eventually(() => stage.queue.get(id)); // made by this tick or by that of the worker
    await one.acts(stage, id);
  });
});

it('docs/options.md names them all', () => {
  const text = readFileSync(new URL('../../../docs/options.md', import.meta.url), 'utf8').split(
    'table: schedule options',
  )[1]!;
  const [, names] = /^\| (`priority`.*?) \|/m.exec(text)!;
  const listed = [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
  expect([...listed, 'payload'].toSorted()).toEqual(Object.keys(CASES).toSorted());
});
