import { describe, expect, it, jest } from '@jest/globals';
import { JobQueue, type WorkerOptions, NonRetryableError } from 'nest-job-queue/core';
import { JobMetrics, type JobMetricsOptions } from 'nest-job-queue/metrics';
import * as promClient from 'prom-client';
import { Redis } from 'ioredis';
import { INSTRUMENT_LIST, prometheusName } from '#metrics/instruments.js';
import { eventually, gate } from '../support/faults/wait.js';
import { expireClaim } from '../support/queue/claim-times.js';
import { freePort } from '../../scripts/redis/redis-server.mjs';
import { uniqueQueueName } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';

/** Returns a registry with the metrics of a queue, and a function that reads one figure. */
function measured(options: JobMetricsOptions) {
  const registry = new promClient.Registry();
  const metrics = new JobMetrics(options).toPrometheus(promClient, registry);
  const worker: WorkerOptions = { onEvent: metrics.observe };
  const read = async (line: string) => {
    const text = await registry.metrics();
    const found = text.split('\n').find((each) => each.startsWith(`${line} `));
    return found === undefined ? undefined : Number(found.slice(line.length + 1));
  };
  return { registry, metrics, worker, read };
}

async function* streaming() {
  yield 'a';
  yield { b: 1 };
}

describe('for Prometheus', () => {
  it('registers each instrument of the table, by its name and type', async () => {
    const { registry } = measured({});
    const registered = (await registry.getMetricsAsJSON()).map(({ name, type }) => ({ name, type: `${type}` }));
    expect(registered).toEqual(
      INSTRUMENT_LIST.map(([, each]) => ({ name: prometheusName(each), type: each.kind })),
    );
  });

  it('counts how attempts end, and measures how long jobs waited and ran', async () => {
    const queue = newQueue();
    const { name } = queue;
    const { worker, read } = measured({ queues: [queue] });
    const handlers = {
      good: () => 1,
      bad: () => {
        throw new NonRetryableError('no');
      },
    };
    await startWorker([{ queue, handlers }], undefined, worker);
    await queue.enqueue({}, { name: 'good' });
    await queue.enqueue({}, { name: 'bad' });
    await eventually(
      async () => (await read(`job_queue_attempts_total{queue="${name}",name="good",outcome="completed"}`)) === 1,
    );
    await eventually(
      async () => (await read(`job_queue_attempts_total{queue="${name}",name="bad",outcome="failed"}`)) === 1,
    );
    expect(await read(`job_queue_wait_duration_seconds_count{queue="${name}",name="good"}`)).toBe(1);
    expect(await read(`job_queue_run_duration_seconds_count{queue="${name}",name="bad",outcome="failed"}`)).toBe(1);
    expect(await read(`job_queue_running{queue="${name}"}`)).toBe(0);
  });

  it('measures the round trips that claim and settle, and the age of the maintenance', async () => {
    const queue = newQueue();
    const { metrics, read } = measured({ queues: [queue] });
    const options = { onTrip: metrics.observeTrip, sweepIntervalMs: 50 };
    await startWorker([{ queue, handlers: { [queue.name]: () => 1 } }], undefined, options);
    await (await queue.enqueue({})).result();
    for (const operation of ['claim', 'settle']) {
      const count = `job_queue_operation_duration_seconds_count{operation="${operation}"}`;
      await eventually(async () => ((await read(count)) ?? 0) > 0);
    }
    const age = () => read(`job_queue_maintenance_age_seconds{queue="${queue.name}"}`);
    await eventually(async () => (await age()) !== undefined);
    expect(await age()).toBeLessThan(60);
  });

  it('I5: gives the age of the maintenance by the clock of the server', async () => {
    const queue = newQueue();
    const { read } = measured({ queues: [queue] });
    await startWorker([{ queue, handlers: { [queue.name]: () => 1 } }], undefined, { sweepIntervalMs: 50 });
    await eventually(async () => (await queue.stats()).maintainedAt !== null);
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
    expect(await read(`job_queue_maintenance_age_seconds{queue="${queue.name}"}`)).toBeLessThan(60);
    clock.mockRestore();
  });

  it('gives the stuck handlers of a name from its first job on, since an increase from nothing is not seen', async () => {
    const queue = newQueue();
    const { read, worker } = measured({ queues: [queue] });
    await startWorker([{ queue, handlers: { [queue.name]: () => 1 } }], undefined, worker);
    await (await queue.enqueue({})).result();
    expect(await read(`job_queue_stuck_handlers_total{queue="${queue.name}",name="${queue.name}"}`)).toBe(0);
  });

  it('counts jobs that wait for a signal', async () => {
    const queue = newQueue();
    const { read } = measured({ queues: [queue] });
    await queue.enqueue({});
    const claim = (await queue.claim())!;
    await queue.exec((calls) => calls.wait({ claim, name: 'approved', kind: 'signal' }));
    await queue.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
    expect(await read(`job_queue_parked{queue="${queue.name}"}`)).toBe(1);
    expect(await read(`job_queue_oldest_pending_age_seconds{queue="${queue.name}"}`)).toBe(0);
  });

  it('counts slots, unserved names, unheld jobs and crashes', async () => {
    const queue = newQueue();
    const { read } = measured({ queues: [queue] });
    const figure = (name: string) => read(`job_queue_${name}{queue="${queue.name}"}`);
    const crashed = () => read(`job_queue_jobs_total{queue="${queue.name}",event="crashed"}`);
    expect(await crashed()).toBe(0); // an increase from nothing would not be seen
    await queue.enqueue({}, { name: 'emial' });
    await expireClaim(queue, (await queue.claim())!.id);
    await startWorker([{ queue, concurrency: 7, handlers: { [queue.name]: () => 1 } }], undefined, {
      sweepIntervalMs: 50,
    });
    await eventually(async () => (await crashed()) === 1, { timeoutMs: 20_000 });
    expect(await figure('slots')).toBe(7);
    expect(await figure('unserved_names')).toBe(1);
    expect(await figure('oldest_unheld_age_seconds')).toBeGreaterThan(0);
  }, 30_000);

  it('shows a limit that queues share once: what holds it, what waits, and whether it is paused', async () => {
    const limit = uniqueQueueName();
    const queues = [newQueue({ limits: [limit] }), newQueue({ limits: [limit] })];
    const [one, two] = queues as [JobQueue, JobQueue];
    const { read, registry } = measured({ queues });
    const figure = (name: string) => read(`job_queue_shared_limit_${name}{limit="${limit}"}`);
    const end = gate();
    const limits = { [limit]: { maxRunning: 1 } };
    await startWorker([{ queue: one, handlers: { [one.name]: () => end.promise } }], undefined, { limits });
    await one.enqueue(1);
    await eventually(async () => (await one.sharedLimit(limit).get()).running === 1);
    await startWorker([{ queue: two, handlers: { [two.name]: () => 1 } }], undefined, { limits });
    await two.enqueue(1);
    await eventually(async () => (await one.sharedLimit(limit).get()).waiting.includes(two.name));
    await one.sharedLimit(limit).pause();
    await eventually(async () => (await figure('closed')) === 1);
    expect([await figure('running'), await figure('max_running')]).toEqual([1, 1]);
    expect(await figure('waiting_queues')).toBeGreaterThan(0); // the first one asks again, too
    expect((await registry.metrics()).match(/^job_queue_shared_limit_running\{/gm)).toHaveLength(1);
    end.open();
  });

  it('counts the keys of a limit for which jobs wait, and these jobs, and names no key', async () => {
    const limit = uniqueQueueName();
    const queue = newQueue({ limits: [{ limit, key: 'group' }] });
    const { registry, read } = measured({ queues: [queue] });
    const end = gate();
    await startWorker([{ queue, handlers: { [queue.name]: () => end.promise } }], undefined, {
      limits: { [limit]: { maxRunning: 1 } },
    });
    await queue.sharedLimit(limit).key('cog').pause();
    const jobs = ['acme', 'acme', 'acme', 'bolt', 'bolt', 'cog'].map((group) => ({ payload: 0, group }));
    await queue.enqueueMany(jobs);
    const keys = (state: string) => read(`job_queue_shared_limit_waiting_keys{limit="${limit}",state="${state}"}`);
    await eventually(async () => (await keys('full')) === 2 && (await keys('closed')) === 1);
    await eventually(async () => (await read(`job_queue_awaiting_permit{queue="${queue.name}"}`)) === 4);
    expect(await registry.metrics()).not.toMatch(/acme|bolt|cog/);
    end.open();
  });

  it('leaves out a text of a worker that names no limit, and shows at most a hundred limits', async () => {
    const queue = newQueue();
    const limits = ['no name of a limit', ...Array.from({ length: 110 }, () => uniqueQueueName())];
    const { registry, read } = measured({
      queues: [
        {
          name: queue.name,
          stats: () => queue.stats(),
          workers: () => Promise.resolve([{ slots: 3, limits }]),
          sharedLimit: (name) => queue.sharedLimit(name),
        },
      ],
    });
    expect(await read(`job_queue_slots{queue="${queue.name}"}`)).toBe(3);
    expect((await registry.metrics()).match(/^job_queue_shared_limit_running\{/gm)).toHaveLength(100);
  });

  it('counts the chunks that a job has streamed, and their bytes as stored', async () => {
    const queue = newQueue();
    const { read, worker } = measured({ queues: [queue] });
    await startWorker(queue, streaming, worker);
    await queue.enqueue({});
    const figure = (name: string) =>
      read(`job_queue_stream_${name}_total{queue="${queue.name}",name="${queue.name}"}`);
    await eventually(async () => (await figure('chunks')) === 2);
    expect(await figure('written_bytes')).toBe('"a"{"b":1}'.length);
  });

  it('has at most 200 names as labels, and counts the rest as other', async () => {
    const { metrics, registry } = measured({});
    for (let i = 0; i < 210; i++) {
      const job = { queue: 'q', name: `name-${i}`, attempt: 2, readyAt: new Date(), claimedAt: new Date() };
      // The metrics read nothing else of a job.
      metrics.observe({ type: 'started', job } as never);
      metrics.observe({ type: 'completed', job } as never);
    }
    const text = await registry.metrics();
    const lines = text.split('\n').filter((line) => line.startsWith('job_queue_attempts_total{'));
    expect(lines).toHaveLength(201);
    expect(lines).toContain('job_queue_attempts_total{queue="q",name="other",outcome="completed"} 10');
  });

  it('counts a duration in its bucket and in all longer ones', async () => {
    const { metrics, read } = measured({});
    for (const durationMs of [5, 7, 4_000_000]) {
      metrics.observeTrip({ operation: 'claim', durationMs });
    }
    const name = 'job_queue_operation_duration_seconds';
    const bucket = (le: string) => read(`${name}_bucket{le="${le}",operation="claim"}`);
    expect(await bucket('0.005')).toBe(1);
    expect(await bucket('0.01')).toBe(2);
    expect(await bucket('3600')).toBe(2);
    expect(await bucket('+Inf')).toBe(3);
    expect(await read(`${name}_sum{operation="claim"}`)).toBeCloseTo(4_000.012);
    expect(await read(`${name}_count{operation="claim"}`)).toBe(3);
  });

  it('begins its counts again when the registry is reset', async () => {
    const { metrics, registry, read } = measured({});
    metrics.observeTrip({ operation: 'claim', durationMs: 7 });
    registry.resetMetrics();
    metrics.observeTrip({ operation: 'claim', durationMs: 7 });
    expect(await read('job_queue_operation_duration_seconds_count{operation="claim"}')).toBe(1);
  });

  it('does not count the delay that was asked for as waiting', async () => {
    const queue = newQueue();
    const { name } = queue;
    const { worker, read } = measured({});
    const delayMs = 600;
    const enqueuedAt = Date.now();
    let untilStartedMs = 0;
    const handler = () => (untilStartedMs += Date.now() - enqueuedAt);
    await startWorker([{ queue, handlers: { [name]: handler } }], undefined, worker);
    await queue.enqueue({}, { delayMs });
    await queue.enqueue({}, { runAt: new Date(enqueuedAt + delayMs) });
    const labels = `{queue="${name}",name="${name}"}`;
    await eventually(async () => (await read(`job_queue_wait_duration_seconds_count${labels}`)) === 2);
    const waitedMs = 1_000 * Number(await read(`job_queue_wait_duration_seconds_sum${labels}`));
    // A busy machine starts both late. The clocks of Redis and of this process are those of one machine, but for their rounding.
    expect(waitedMs).toBeLessThanOrEqual(untilStartedMs - 2 * delayMs + 10);
  });

  it('counts a name that no handler was called for, or that was not given, as other', async () => {
    const queue = newQueue();
    const { name } = queue;
    const { worker, read } = measured({ names: [] });
    await startWorker([{ queue, handlers: { mail: () => 1 } }], undefined, worker);
    await queue.enqueue({}, { name: 'mail' });
    await eventually(
      async () => (await read(`job_queue_attempts_total{queue="${name}",name="other",outcome="completed"}`)) === 1,
    );
  });

  it('reads depths, age, dead letters and counters of the fleet from Redis at a scrape, once', async () => {
    const queue = newQueue();
    const { name } = queue;
    let reads = 0;
    const counted = { name, stats: () => (reads++, queue.stats()) };
    const { read, registry } = measured({ queues: () => [counted] });
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3, delayMs: 60_000 }]);
    await registry.metrics();
    expect(reads).toBe(1);
    expect(await read(`job_queue_depth{queue="${name}",state="pending"}`)).toBe(2);
    expect(await read(`job_queue_depth{queue="${name}",state="scheduled"}`)).toBe(1);
    expect(await read(`job_queue_jobs_total{queue="${name}",event="enqueued"}`)).toBe(3);
    expect(await read(`job_queue_workers{queue="${name}"}`)).toBe(0);
    expect(await read(`job_queue_dead_letters{queue="${name}"}`)).toBe(0);
    expect(await read(`job_queue_up{queue="${name}"}`)).toBe(1);
  });

  it('reports a queue as down when Redis is away, and gives the metrics that it has', async () => {
    const client = new Redis(await freePort(), { retryStrategy: null, lazyConnect: true });
    client.on('error', () => undefined);
    const queue = new JobQueue(client, 'away', { enqueueTimeoutMs: 100 });
    const { read } = measured({ queues: [queue] });
    expect(await read('job_queue_up{queue="away"}')).toBe(0);
    expect(await read('job_queue_workers{queue="away"}')).toBeUndefined();
    client.disconnect();
  });

  it('refuses options that it does not know', () => {
    const misspelled: object = { queue: [] };
    expect(() => new JobMetrics(misspelled)).toThrow(/metrics/);
  });
});
