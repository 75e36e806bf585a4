// What it costs to be watched: metrics no command and no promise, traces that are not sampled no command.
import { createHook } from 'node:async_hooks';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { propagation } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { AlwaysOffSampler, BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import type { Redis } from 'ioredis';
import { JobQueue, Worker, type JobQueueMiddleware, type WorkerOptions } from 'nest-job-queue/core';
import { JobMetrics } from 'nest-job-queue/metrics';
import { jobTracing } from 'nest-job-queue/tracing';
import * as promClient from 'prom-client';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';

const JOBS = 2_000;

let redis: Redis;
let promises = 0;
const hook = createHook({
  init(_id, type) {
    if (type === 'PROMISE') promises++;
  },
});

beforeAll(async () => {
  redis = connect({}, (await startOwnRedis()).url);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(() => {
  hook.disable();
  propagation.disable();
});

/** Counts per job the Redis calls of each kind of script, and the promises from claim to end. */
async function costOf(options: WorkerOptions, middleware?: JobQueueMiddleware[]) {
  const name = uniqueQueueName();
  const queue = new JobQueue(redis, name, { ...(middleware && { middleware }) });
  let left = JOBS;
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const handle = () => void (--left === 0 && end());
  await queue.enqueueMany(Array.from({ length: JOBS }, (_, i) => ({ payload: i })));
  const all = { sweepIntervalMs: 0, ...(middleware && { middleware }), ...options };
  const worker = new Worker([{ queue, concurrency: 100, prefetch: 0, handlers: { [name]: handle } }], all);
  await redis.config('RESETSTAT');
  promises = 0;
  hook.enable();
  await worker.start();
  await ended;
  await worker.stop();
  hook.disable();
  const stats = await redis.info('commandstats');
  const commands = [
    ...stats.matchAll(/^cmdstat_(hset|hget|hmget|zadd|zrem|lpush|rpop|expire|pexpireat):calls=(\d+)/gm),
  ];
  queue.close();
  return {
    promises: promises / JOBS,
    commands: commands.reduce((sum, [, , calls]) => sum + Number(calls), 0) / JOBS,
  };
}

it('is no command and no promise for metrics', async () => {
  await costOf({}); // warm
  const bare = await costOf({});
  const metrics = new JobMetrics().toPrometheus(promClient, new promClient.Registry());
  const measured = await costOf({ onEvent: metrics.observe, onTrip: metrics.observeTrip });
  expect(bare.commands).toBeGreaterThan(1);
  expect(measured.commands).toBeCloseTo(bare.commands, 1);
  expect(measured.promises - bare.promises).toBeLessThan(0.1);
});

it('is no command and two promises for a trace that is not sampled, or where no SDK is set up', async () => {
  const bare = await costOf({});
  const tracer = new BasicTracerProvider({ sampler: new AlwaysOffSampler() }).getTracer('test');
  const traced = await costOf({}, [jobTracing({ tracer })]);
  expect(traced.commands).toBeCloseTo(bare.commands, 1);
  // Of next() and of the handler's value; the span itself makes none.
  expect(traced.promises - bare.promises).toBeCloseTo(2, 1);
  const off = await costOf({}, [jobTracing()]);
  expect(off.commands).toBeCloseTo(bare.commands, 1);
  expect(off.promises - bare.promises).toBeCloseTo(2, 1);
});
