import {
  type Attributes,
  context,
  type Context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { z } from 'zod';
import type { EnqueueRequest } from '../queue/enqueue/enqueue-middleware.js';
import { RetryLaterError } from '../queue/errors/errors.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { JobHandle } from '../queue/results/job-handle.js';
import type { JobQueueMiddleware } from '../worker/handlers/attempt-middleware.js';
import type { Job } from '../worker/handlers/job.js';

/** How jobs are traced. */
export interface JobTracingOptions {
  /**
   * How an attempt belongs to its enqueue. `link`: each attempt is a trace of its own, linked to the enqueue, so that a job
   * with retries makes no trace of days. `parent`: all attempts are in the trace of the enqueue. Default `link`.
   */
  mode?: 'link' | 'parent';
  /** Default: that of the global provider. */
  tracer?: Tracer;
}

const optionsSchema = z.strictObject(
  {
    mode: z.enum(['link', 'parent'], { error: "expected 'link' or 'parent'" }).default('link'),
    tracer: z
      .custom<Tracer>((value) => typeof (value as Tracer | null)?.startSpan === 'function', 'expected a tracer')
      .optional(),
  },
  { error: 'expected an object with mode, tracer' },
);

/**
 * Traces enqueues and attempts by the messaging conventions of OpenTelemetry. The context of an enqueue travels with the
 * job as `metadata`, by the propagator that the app has set.
 *
 * @throws InvalidOptionError
 * @example
 * const middleware = [jobTracing()];
 * const queue = new JobQueue(redis, 'email', { middleware });
 * new Worker([{ queue, handlers }], { middleware });
 */
export function jobTracing(options: JobTracingOptions = {}): Required<JobQueueMiddleware> {
  const { mode, tracer = trace.getTracer('nest-job-queue') } = checkOptions('jobTracing', optionsSchema, options);
  return {
    enqueue: (request, next) => traceEnqueue(tracer, mode, request, next),
    attempt: (job, next) => traceAttempt(tracer, mode, job, next),
    bulk: (jobs, next) => traceBulk(tracer, jobs, next),
  };
}

/** What W3C's propagator writes. */
const TRACE_FIELDS = ['traceparent', 'tracestate'];

function traceEnqueue(
  tracer: Tracer,
  mode: 'link' | 'parent',
  request: EnqueueRequest,
  next: () => Promise<JobHandle[]>,
) {
  const span = tracer.startSpan(`send ${request.queue}`, {
    kind: SpanKind.PRODUCER,
    attributes: {
      ...attributesOf('send', request.queue),
      ...(request.method === 'enqueueMany' && { 'messaging.batch.message_count': request.jobs.length }),
    },
  });
  const active = trace.setSpan(context.active(), span);
  const carrier: Record<string, string> = {};
  propagation.inject(active, carrier);
  if (mode === 'link' && !isSampled(span.spanContext())) {
    TRACE_FIELDS.forEach((field) => delete carrier[field]); // a link to a trace that nobody keeps; the job stays plain
  }
  if (Object.keys(carrier).length > 0) {
    for (const job of request.jobs) {
      job.options.metadata = { ...job.options.metadata, ...carrier };
    }
  }
  return during(span, active, async () => {
    const handles = await next();
    if (request.method === 'enqueue' && handles[0]) {
      span.setAttribute('messaging.message.id', handles[0].id);
    }
    return handles;
  });
}

function traceAttempt(tracer: Tracer, mode: 'link' | 'parent', job: Job, next: () => Promise<unknown>) {
  const sent = contextOf(job);
  const producer = trace.getSpanContext(sent);
  const links: Link[] = producer && mode === 'link' ? [{ context: producer }] : [];
  const span = tracer.startSpan(
    `process ${job.queue}`,
    {
      kind: SpanKind.CONSUMER,
      root: mode === 'link',
      links,
      attributes: {
        ...attributesOf('process', job.queue),
        'messaging.message.id': job.id,
        'job_queue.job.name': job.name,
        'job_queue.job.attempt': job.attempt,
      },
    },
    sent,
  );
  return during(span, trace.setSpan(sent, span), next);
}

/** One span for the call of a bulk handler, with a link to the enqueue of each of its jobs. */
function traceBulk(tracer: Tracer, jobs: readonly Job[], next: () => Promise<unknown>) {
  const links = jobs.flatMap((job): Link[] => {
    const producer = trace.getSpanContext(contextOf(job));
    return producer ? [{ context: producer }] : [];
  });
  const { queue, name } = jobs[0]!;
  const attributes = {
    ...attributesOf('process', queue),
    'messaging.batch.message_count': jobs.length,
    'job_queue.job.name': name,
  };
  const span = tracer.startSpan(`process ${queue}`, { kind: SpanKind.CONSUMER, root: true, links, attributes });
  return during(span, trace.setSpan(ROOT_CONTEXT, span), next);
}

function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** The context of the enqueue; the root where it sent none, as for each job that is not traced. */
function contextOf({ metadata }: Job): Context {
  for (const _ in metadata) {
    return propagation.extract(ROOT_CONTEXT, metadata);
  }
  return ROOT_CONTEXT;
}

function attributesOf(operation: 'send' | 'process', queue: string): Attributes {
  return {
    'messaging.system': 'nest_job_queue',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': queue,
  };
}

/** Runs what the span is about inside of it, and ends it with the outcome. A snooze is no error. */
async function during<Value>(span: Span, active: Context, run: () => Promise<Value>): Promise<Value> {
  try {
    return await context.with(active, run);
  } catch (error) {
    if (!(error instanceof RetryLaterError)) {
      const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
      span.recordException({ name, message });
      span.setAttribute('error.type', name);
      span.setStatus({ code: SpanStatusCode.ERROR, message });
    }
    throw error;
  } finally {
    span.end();
  }
}
