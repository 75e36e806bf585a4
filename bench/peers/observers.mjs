// What watches the jobs of `--observed`: the options that each way of watching adds to a queue and a worker.
import { createRequire } from 'node:module';

/** Each is measured beside the bare core. */
export const observers = {
  metrics: { text: 'JobMetrics on prom-client, by onEvent and onTrip', metrics: true },
  traces: { text: 'jobTracing, all traces sampled, SDK with a batch processor', traces: 'all' },
  'traces-sampled': { text: 'jobTracing, one trace in a hundred sampled', traces: 'some' },
  both: { text: 'JobMetrics, and jobTracing with one trace in a hundred', metrics: true, traces: 'some' },
  'both-all': { text: 'JobMetrics, and jobTracing with all traces', metrics: true, traces: 'all' },
  'audit-trail': { text: 'auditTrail: {}', queue: { auditTrail: {} } },
  'no-history': { text: 'history: false', queue: { history: false } },
};

/** → { queue: options of the queue, worker(queue): options of its worker } */
export async function watchBy({ metrics, traces, queue = {} }, root) {
  const require = createRequire(new URL('package.json', root));
  const middleware = traces && [await tracing(require, root, traces)];
  const { JobMetrics } = metrics ? await import(new URL('dist/esm/metrics.js', root)) : {};
  return {
    queue: { ...queue, ...(middleware && { middleware }) },
    worker: (measured) => ({
      ...(middleware && { middleware }),
      ...(JobMetrics && measuring(require, JobMetrics, measured)),
    }),
  };
}

async function tracing(require, root, traces) {
  const api = require('@opentelemetry/api');
  const sdk = require('@opentelemetry/sdk-trace-base');
  const { W3CTraceContextPropagator } = require('@opentelemetry/core');
  const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
  const { jobTracing } = await import(new URL('dist/esm/tracing.js', root));
  const exporter = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {} };
  const sampler = traces === 'all' ? new sdk.AlwaysOnSampler() : new sdk.TraceIdRatioBasedSampler(0.01);
  const spanProcessors = [new sdk.BatchSpanProcessor(exporter, { maxQueueSize: 100_000, maxExportBatchSize: 512 })];
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const provider = new sdk.BasicTracerProvider({ spanProcessors, sampler });
  return jobTracing({ tracer: provider.getTracer('bench') });
}

function measuring(require, JobMetrics, queue) {
  const client = require('prom-client');
  const metrics = new JobMetrics({ queues: [queue] }).toPrometheus(client, new client.Registry());
  return { onEvent: metrics.observe, onTrip: metrics.observeTrip };
}
