// Metrics and traces of a Nest app, as docs/monitoring.md shows, read back by Prometheus's own parser and by the SDK.
import { Injectable } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { context, propagation, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { getQueueToken, type JobQueue, JobQueueService, OnJobEvent, type WorkerEvent } from 'nest-job-queue';
import { JobMetrics } from 'nest-job-queue/metrics';
import { jobTracing } from 'nest-job-queue/tracing';
import * as promClient from 'prom-client';
import { handlerOf, startApp } from '../nest/app.js';
import { checkMetrics } from '../support/docs/promtool.js';
import { eventually } from '../support/faults/wait.js';
import { uniqueQueueName } from '../support/redis/redis.js';

const exporter = new InMemorySpanExporter();

// The first use may download promtool.
beforeAll(() => void checkMetrics(''), 120_000);
beforeAll(() => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
});
afterAll(() => {
  trace.disable();
  context.disable();
  propagation.disable();
});

it('an app gives its metrics to Prometheus and its traces to the SDK', async () => {
  const name = uniqueQueueName();
  const registry = new promClient.Registry();
  const queues: JobQueue[] = [];

  @Injectable()
  class QueueMetrics {
    private readonly metrics = new JobMetrics({ queues: () => queues }).toPrometheus(promClient, registry);

    @OnJobEvent(['started', 'completed', 'retry', 'failed', 'cancelled', 'released', 'lost', 'stuck'])
    observe(event: WorkerEvent) {
      this.metrics.observe(event);
    }
  }

  const app = await startApp({
    jobs: { middleware: [jobTracing()] },
    providers: [handlerOf(name, () => trace.getActiveSpan()?.spanContext().traceId), QueueMetrics],
  });
  queues.push(app.get<JobQueue>(getQueueToken(name)));
  const job = await app.get(JobQueueService).enqueue(name, { to: 'ada' });
  const traceInside = await job.result({ timeoutMs: 10_000 });

  const ended = `job_queue_attempts_total{queue="${name}",name="${name}",outcome="completed"} 1`;
  await eventually(async () => (await registry.metrics()).includes(ended));
  const text = await registry.metrics();
  expect(checkMetrics(text)).toEqual({ status: 0, output: '' });
  expect(checkMetrics(text.replace('# TYPE job_queue_up gauge', '# TYPE job_queue_up gouge')).status).not.toBe(0);
  expect(text).toContain(`job_queue_depth{queue="${name}",state="completed"} 1`);

  const spans = exporter
    .getFinishedSpans()
    .filter(({ attributes }) => attributes['messaging.destination.name'] === name);
  const [send] = spans.filter(({ kind }) => kind === SpanKind.PRODUCER);
  const [attempt] = spans.filter(({ kind }) => kind === SpanKind.CONSUMER);
  expect([send!.name, attempt!.name]).toEqual([`send ${name}`, `process ${name}`]);
  expect(attempt!.spanContext().traceId).toBe(traceInside);
  expect(attempt!.links.map((link) => link.context.spanId)).toEqual([send!.spanContext().spanId]);
});
