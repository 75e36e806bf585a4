// Each kind of event, triggered once through the module: told by @OnJobEvent where the job runs, and by jobs.events elsewhere.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  JobHandler,
  JobQueueService,
  NonRetryableError,
  OnJobEvent,
  type FleetJobEvent,
  type Job,
  type JobEventStatus,
  type JobEventType,
  type JobHandlerOptions,
  type WorkerEvent,
} from 'nest-job-queue';
import { STUCK_AFTER_MS } from '#worker/attempt/overdue-handler.js';
import { untilAborted } from '../../support/worker/workers.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startApp } from '../app.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { inside } from '../../support/queue/inside.js';

/** The cause of an event of a kind. */
interface Cause {
  options?: JobHandlerOptions;
  handle: (job: Job) => unknown;
  /** Done once the handler runs. */
  act?: (jobs: JobQueueService, name: string, id: string) => Promise<unknown>;
  /** The fields for @OnJobEvent beside the job; absent where it has no event of this kind. */
  here?: Pick<WorkerEvent, 'error' | 'result'>;
  /** True if jobs.events has it. */
  everywhere: boolean;
  /** The fields of jobs.events beside queue, id, name and status. Default: the attempt. */
  carries?: Partial<FleetJobEvent>;
}

async function loseClaim(jobs: JobQueueService, name: string, id: string): Promise<void> {
  const queue = jobs.queue(name);
  const { claims } = (await inside(queue).scripts()).keys;
  // A heartbeat in between takes an expired claim up again.
  await eventually(async () => {
    await connect().zadd(claims, 'XX', 1, id);
    return (await queue.reclaim()).reclaimed.length > 0;
  });
}

const named = (name: string) => expect.objectContaining({ name }) as unknown;
const letGo = gate();

// The compiler refuses it where a kind is missing.
const CAUSES: Record<JobEventStatus | JobEventType, Cause> = {
  started: { handle: () => 1, here: {}, everywhere: false },
  completed: {
    handle: () => 'done',
    here: { result: 'done' },
    everywhere: true,
    carries: { attempt: 1, result: 'done' },
  },
  retry: {
    options: { maxAttempts: 2, backoff: 60_000 },
    handle: () => Promise.reject(new TypeError('no')),
    here: { error: named('TypeError') },
    everywhere: true,
    carries: { attempt: 1, error: 'no' },
  },
  failed: {
    handle: () => Promise.reject(new NonRetryableError('never')),
    here: { error: named('NonRetryableError') },
    everywhere: true,
    carries: { attempt: 1, error: 'never' },
  },
  cancelled: {
    handle: untilAborted,
    act: (jobs, name, id) => jobs.cancel(name, id),
    here: { error: named('JobCancelledError') },
    everywhere: true,
  },
  released: { handle: (job) => job.snooze(60_000), here: {}, everywhere: true, carries: {} },
  lost: { handle: untilAborted, act: loseClaim, here: {}, everywhere: true, carries: {} },
  reclaimed: { handle: untilAborted, act: loseClaim, everywhere: true },
  progress: { handle: (job) => job.progress(0.5), everywhere: true, carries: { attempt: 1, progress: 0.5 } },
  enqueued: { handle: () => 1, everywhere: true, carries: {} },
  drained: { handle: () => 1, everywhere: true, carries: { id: '' } },
  stuck: {
    // Its heartbeats come every 20 minutes: the report does not wait for one.
    options: { timeoutMs: 20, maxAttempts: 1, visibilityMs: 3_600_000 },
    handle: () => letGo.promise,
    here: {},
    everywhere: true,
    carries: {},
  },
};

describe.each(Object.entries(CAUSES))(
  'the event %s',
  (kind, { options, handle, act, here, everywhere, carries = { attempt: 1 } }) => {
    it(`is published ${[here && 'by @OnJobEvent', everywhere && 'by jobs.events'].filter(Boolean).join(' and ')}`, async () => {
      const name = uniqueQueueName();
      const running = gate();
      const stuckTimers = holdTimers(STUCK_AFTER_MS);
      const heard: WorkerEvent[] = [];
      const seen: FleetJobEvent[] = [];

      @Injectable()
      class Provider {
        @JobHandler(name, { visibilityMs: 300, ...options })
        run(job: Job) {
          running.open();
          return handle(job);
        }

        @OnJobEvent((here ? kind : 'completed') as JobEventType, { name })
        hear(event: WorkerEvent) {
          heard.push(event);
        }
      }
      const eventExtras = { results: true, enqueued: true, drained: true };
      const listener = (await startApp({ jobs: { eventExtras } })).get(JobQueueService);
      if (everywhere) {
        listener.events
          .where({ queue: name, status: kind as JobEventStatus })
          .subscribe((event) => seen.push(event));
        await eventually(async () => Number((await connect().pubsub('NUMSUB', `queue:${name}:events`))[1]) === 1);
      }
      const { id } = await listener.enqueue(name, { of: kind });
      await startApp({ providers: [Provider], jobs: { maintenance: false, shutdownTimeoutMs: 200, eventExtras } });
      await running.promise;
      await act?.(listener, name, id);
      if (kind === 'stuck') await stuckTimers.fire();
      await eventually(() => heard.length >= (here ? 1 : 0) && seen.length >= (everywhere ? 1 : 0));
      if (kind === 'stuck') letGo.open();
      if (here) {
        expect(heard).toHaveLength(1);
        expect(heard[0]).toMatchObject({ type: kind, ...here, job: { id, name, queue: name, attempt: 1 } });
        expect(heard[0]!.job.payload).toEqual({ of: kind });
      }
      expect(seen).toEqual(everywhere ? [{ queue: name, id, name, status: kind, ...carries }] : []);
    });
  },
);

it.each([
  ['jobs.events', /has the events of the whole fleet: ([^.]*)\./, (cause: Cause) => cause.everywhere],
  [
    '@OnJobEvent',
    /is called in the process where the job runs: ([^.]*)\./,
    (cause: Cause) => cause.here !== undefined,
  ],
])('docs/events.md names the kinds of %s', (_, sentence, isTold) => {
  const text = readFileSync(new URL('../../../docs/events.md', import.meta.url), 'utf8');
  const kinds = [...sentence.exec(text)![1]!.matchAll(/`(\w+)`/g)].map(([, kind]) => kind!);
  const told = Object.keys(CAUSES).filter((kind) => isTold(CAUSES[kind as keyof typeof CAUSES]));
  expect(kinds.toSorted()).toEqual(told.toSorted());
});
