import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { context, propagation, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { RateLimitedError, RedisStateError, type Job, JobQueue } from 'nest-job-queue/core';
import { jobTracing, type JobTracingOptions } from 'nest-job-queue/tracing';
import { shardName } from '#queue/model/spread.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { eventually, gate } from '../support/faults/wait.js';
import { startWorker } from '../support/worker/workers.js';

const exporter = new InMemorySpanExporter();

/** The names of all spans that have begun, ended or not. */
const begun: string[] = [];
const noting: SpanProcessor = {
  onStart: ({ name }) => void begun.push(name),
  onEnd: () => undefined,
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};

beforeAll(() => {
  const spanProcessors = [new SimpleSpanProcessor(exporter), noting];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
beforeEach(() => exporter.reset());
afterAll(() => {
  trace.disable();
  context.disable();
  propagation.disable();
});

function spans(kind: SpanKind) {
  return exporter.getFinishedSpans().filter((span) => span.kind === kind);
}

async function processed(count: number) {
  await eventually(() => spans(SpanKind.CONSUMER).length === count);
  return spans(SpanKind.CONSUMER);
}

function sent() {
  return spans(SpanKind.PRODUCER);
}

/** Makes a traced queue and worker. */
async function traced(handler: (job: Job) => unknown, options?: JobTracingOptions, shard = 0) {
  const middleware = [jobTracing(options)];
  const name = uniqueQueueName();
  const queue = new JobQueue(connect(), shardName(name, shard), {
    middleware,
    backoff: { type: 'fixed', delayMs: 0 },
  });
  await startWorker([{ queue, handlers: { [name]: handler } }], undefined, { middleware });
  return { queue, name };
}

function throws(): never {
  throw new TypeError('no');
}

function quotes({ payload }: Job): never {
  throw new TypeError(`no account ${(payload as { iban: string }).iban}`);
}

describe('a call of a bulk handler', () => {
  it('is one span with a link to the enqueue of each job', async () => {
    const middleware = [jobTracing()];
    const name = uniqueQueueName();
    const queue = new JobQueue(connect(), name, { middleware });
    const plain = new JobQueue(connect(), name);
    await queue.enqueue(1);
    await queue.enqueue(2);
    await plain.enqueue(3); // its enqueue is not traced
    const inside: unknown[] = [];
    const handle = () => void inside.push(trace.getActiveSpan()?.spanContext().spanId);
    const handlers = { [name]: { bulk: { size: 3, waitMs: 60_000 }, handle } };
    await startWorker([{ queue, handlers }], undefined, { middleware });
    const [span] = await processed(1);
    expect(span).toMatchObject({
      name: `process ${name}`,
      parentSpanContext: undefined,
      attributes: {
        'messaging.system': 'nest_job_queue',
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': 3,
        'job_queue.job.name': name,
      },
    });
    const producers = sent().map((each) => each.spanContext().spanId);
    expect(producers).toHaveLength(2);
    expect(span!.links.map((link) => link.context.spanId)).toEqual(producers);
    expect(inside).toEqual([span!.spanContext().spanId]);
    expect(span!.status.code).toBe(SpanStatusCode.UNSET);
    [queue, plain].forEach((each) => each.close());
  });

  it('records a call that threw', async () => {
    const middleware = [jobTracing()];
    const name = uniqueQueueName();
    const queue = new JobQueue(connect(), name, { middleware });
    const handlers = { [name]: { bulk: { size: 2, waitMs: 0 }, maxAttempts: 1, handle: throws } };
    await startWorker([{ queue, handlers }], undefined, { middleware });
    await queue.enqueue(1);
    const [span] = await processed(1);
    expect(span).toMatchObject({
      attributes: { 'error.type': 'TypeError' },
      status: { code: SpanStatusCode.ERROR, message: 'no' },
    });
    queue.close();
  });
});

describe('an unsampled call', () => {
  const tracer = new BasicTracerProvider({ sampler: new AlwaysOffSampler() }).getTracer('test');

  it('by link leaves the job plain', async () => {
    const { queue, name } = await traced((job) => job.metadata, { tracer });
    const job = await queue.enqueue({});
    expect(await job.result()).toEqual({});
    expect(await connect().hexists(`queue:${name}:job:${job.id}`, 'options')).toBe(0);
  });

  it('leaves the spans inside of the handler unsampled too', async () => {
    const { queue } = await traced(() => trace.getActiveSpan()!.spanContext().traceFlags, { tracer });
    expect(await (await queue.enqueue({})).result()).toBe(TraceFlags.NONE);
  });

  it('by parent travels, so that no attempt begins a trace of its own', async () => {
    const { queue } = await traced((job) => job.metadata, { mode: 'parent', tracer });
    const job = await queue.enqueue({});
    expect(await job.result()).toEqual({ traceparent: expect.stringMatching(/-00$/) });
  });

  it('keeps the fields of other propagators', async () => {
    propagation.disable();
    const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
    propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
    const { queue } = await traced((job) => job.metadata, { tracer });
    const baggage = propagation.createBaggage({ tenant: { value: 'ada' } });
    const job = await context.with(propagation.setBaggage(context.active(), baggage), () => queue.enqueue({}));
    expect(await job.result()).toEqual({ baggage: 'tenant=ada' });
    propagation.disable();
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  });
});

describe('by link', () => {
  it('an attempt is a trace of its own, linked to the enqueue', async () => {
    const { queue, name } = await traced(() => trace.getActiveSpan()!.spanContext().traceId);
    const job = await queue.enqueue({});
    const traceInside = await job.result();
    const [attempt] = await processed(1);
    const [send] = sent();
    expect(send).toMatchObject({
      name: `send ${name}`,
      attributes: {
        'messaging.system': 'nest_job_queue',
        'messaging.destination.name': name,
        'messaging.message.id': job.id,
      },
    });
    expect(attempt).toMatchObject({
      name: `process ${name}`,
      parentSpanContext: undefined,
      attributes: {
        'messaging.operation.type': 'process',
        'messaging.message.id': job.id,
        'job_queue.job.attempt': 1,
      },
    });
    expect(attempt!.links.map((link) => link.context.spanId)).toEqual([send!.spanContext().spanId]);
    expect(attempt!.spanContext().traceId).not.toBe(send!.spanContext().traceId);
    expect(traceInside).toBe(attempt!.spanContext().traceId);
  });

  it('names the queue of a shard', async () => {
    const { queue, name } = await traced(() => 1, {}, 3);
    await queue.enqueue({}, { name });
    const spansOfJob = [...(await processed(1)), ...sent()];
    expect(spansOfJob.map((span) => [span.name, span.attributes['messaging.destination.name']])).toEqual([
      [`process ${name}`, name],
      [`send ${name}`, name],
    ]);
  });

  it('each attempt has its own, and an error is of low cardinality', async () => {
    let attempts = 0;
    const { queue } = await traced(() => {
      if (attempts++ === 0) throw new TypeError('no good');
    });
    await (await queue.enqueue({}, { maxAttempts: 2 })).result();
    const [first, second] = await processed(2);
    expect(first).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'TypeError' },
    });
    expect(second).toMatchObject({ status: { code: SpanStatusCode.UNSET } });
    expect(first!.spanContext().traceId).not.toBe(second!.spanContext().traceId);
  });

  it('quotes no value that the queue hides', async () => {
    const middleware = [jobTracing()];
    const name = uniqueQueueName();
    const queue = new JobQueue(connect(), name, { middleware, redact: ['iban'], maxAttempts: 1 });
    await startWorker([{ queue, handlers: { [name]: quotes } }], undefined, { middleware });
    await queue.enqueue({ iban: 'DE02-1203' });
    const [span] = await processed(1);
    const message = 'no account [redacted]';
    expect(span).toMatchObject({ status: { message }, events: [{ attributes: { 'exception.message': message } }] });
  });

  it.each([
    ['a rest', () => Promise.reject(new RateLimitedError({ retryAfterMs: 10 }))],
    ['a sleep', (job: Job) => job.sleep(1)],
    ['an outage of Redis', () => Promise.reject(new RedisStateError('LOADING'))],
  ])('%s is no error, because it uses no attempt', async (_, pause) => {
    let attempts = 0;
    const { queue } = await traced((job) => (attempts++ === 0 ? pause(job) : undefined));
    await (await queue.enqueue({}, { maxAttempts: 1 })).result();
    const [rested] = await processed(2);
    expect(rested).toMatchObject({ status: { code: SpanStatusCode.UNSET }, events: [] });
    expect(rested!.attributes).not.toHaveProperty('error.type');
  });

  it('many jobs of one call have one span, which says how many', async () => {
    const { queue } = await traced(() => 1);
    await queue.enqueueMany([{ payload: 1 }, { payload: 2, metadata: { tenant: 'a' } }]);
    await processed(2);
    expect(sent()).toMatchObject([{ attributes: { 'messaging.batch.message_count': 2 } }]);
  });
});

it('by parent an attempt is in the trace of the enqueue', async () => {
  const { queue } = await traced(() => 1, { mode: 'parent' });
  await queue.enqueue({});
  const [attempt] = await processed(1);
  expect(attempt!.parentSpanContext?.spanId).toBe(sent()[0]!.spanContext().spanId);
  expect(attempt!.links).toEqual([]);
});

it('refuses an unknown mode', () => {
  expect(() => jobTracing({ mode: 'both' as 'link' })).toThrow(/'link' or 'parent'/);
});

it('a job that was claimed ahead has no span before its handler is called', async () => {
  const middleware = [jobTracing()];
  const name = uniqueQueueName();
  const queue = new JobQueue(connect(), name, { middleware });
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
  const { promise, open } = gate();
  const workers = [{ queue, concurrency: 1, prefetch: 2, handlers: { [name]: () => promise } }];
  await startWorker(workers, undefined, { middleware });
  await eventually(async () => (await queue.stats()).processing === 3);
  expect(begun.filter((each) => each === `process ${name}`)).toHaveLength(1);
  open();
  await processed(3);
});

it('a tick of a schedule begins a trace of its own', async () => {
  const { queue, name } = await traced(() => 1);
  await queue.schedules.upsert('often', { everyMs: 60_000 });
  await queue.schedules.runNow('often');
  const [attempt] = await processed(1);
  expect(attempt).toMatchObject({ name: `process ${name}`, links: [], parentSpanContext: undefined });
  expect(sent()).toEqual([]);
});
