// The ways to watch the jobs of `--observed`, with the options that each adds to a queue and a worker.
import { createRequire } from 'node:module';

/** Each is measured beside the bare core. */
export const observers = {
  metrics: { text: 'JobMetrics on prom-client, by onEvent and onTrip', metrics: true },
  traces: { text: 'jobTracing, all traces sampled, SDK with a batch processor', traces: 'all' },
  'traces-sampled': { text: 'jobTracing, one trace in a hundred sampled', traces: 'some' },
  'sdk-sampled': {
    text: "a span by the SDK's own API for each enqueue and attempt, one trace in a hundred",
    bare: 'some',
  },
  'sdk-all': { text: 'the same, all traces: what no tracing by this SDK can be below', bare: 'all' },
  both: { text: 'JobMetrics, and jobTracing with one trace in a hundred', metrics: true, traces: 'some' },
  'both-all': { text: 'JobMetrics, and jobTracing with all traces', metrics: true, traces: 'all' },
  'audit-trail': { text: 'auditTrail: {}', queue: { auditTrail: {} } },
  'no-history': { text: 'history: false', queue: { history: false } },
};

/**
 * Returns { queue: options of the queue, worker(queue): options of its worker, enqueue(call): makes a call,
 * handler(handle): the handler to run }.
 */
export async function watchBy({ metrics, traces, bare, queue = {} }, root) {
  const require = createRequire(new URL('package.json', root));
  const tracer = (traces ?? bare) && startSdk(require, traces ?? bare);
  const middleware = traces && [(await import(new URL('dist/esm/tracing.js', root))).jobTracing({ tracer })];
  const { JobMetrics } = metrics ? await import(new URL('dist/esm/metrics.js', root)) : {};
  return {
    queue: { ...queue, ...(middleware && { middleware }) },
    worker: (measured) => ({
      ...(middleware && { middleware }),
      ...(JobMetrics && measuring(require, JobMetrics, measured)),
    }),
    ...(bare ? bareSpans(require, tracer) : { enqueue: (call) => call(), handler: (handle) => handle }),
  };
}

function startSdk(require, sampled) {
  const api = require('@opentelemetry/api');
  const sdk = require('@opentelemetry/sdk-trace-base');
  const { W3CTraceContextPropagator } = require('@opentelemetry/core');
  const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
  const exporter = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {} };
  const sampler = sampled === 'all' ? new sdk.AlwaysOnSampler() : new sdk.TraceIdRatioBasedSampler(0.01);
  const spanProcessors = [new sdk.BatchSpanProcessor(exporter, { maxQueueSize: 100_000, maxExportBatchSize: 512 })];
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return new sdk.BasicTracerProvider({ spanProcessors, sampler }).getTracer('bench');
}

/** Makes a span with four attributes around each call: the minimal cost of a traced job with this SDK. */
function bareSpans(require, tracer) {
  const { context, trace, SpanKind } = require('@opentelemetry/api');
  const within = (operation, kind, run) => {
    const attributes = {
      'messaging.system': 'bench',
      'messaging.operation.name': operation,
      'messaging.operation.type': operation,
      'messaging.destination.name': 'bench',
    };
    const before = context.active();
    const span = tracer.startSpan(`${operation} bench`, { kind, attributes }, before);
    return context.with(trace.setSpan(before, span), run).finally(() => span.end());
  };
  return {
    enqueue: (call) => within('send', SpanKind.PRODUCER, call),
    handler: (handle) => (job) => within('process', SpanKind.CONSUMER, () => handle(job)),
  };
}

function measuring(require, JobMetrics, queue) {
  const client = require('prom-client');
  const metrics = new JobMetrics({ queues: [queue] }).toPrometheus(client, new client.Registry());
  return { onEvent: metrics.observe, onTrip: metrics.observeTrip };
}
