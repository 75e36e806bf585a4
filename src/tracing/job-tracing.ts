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
import { wholeOfShard } from '../queue/model/spread.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { JobHandle } from '../queue/results/job-handle.js';
import { failureOfAttempt } from '../worker/attempt/worker-errors.js';
import type { JobQueueMiddleware } from '../worker/handlers/attempt-middleware.js';
import type { Job } from '../worker/handlers/job.js';
import { keptIn } from '../queue/runtime/collections.js';

/** The options of tracing. */
export interface JobTracingOptions {
  /**
   * The relation of an attempt to its enqueue. `link`: each attempt is a trace that links to the enqueue. So retries
   * over days do not make one long trace. `parent`: all attempts are in the trace of the enqueue.
   * @default `link`
   */
  mode?: 'link' | 'parent' | undefined;
  /** The tracer. Default: that of the global provider. */
  tracer?: Tracer | undefined;
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
 * Traces enqueues and attempts by the messaging conventions of OpenTelemetry. The context of an enqueue travels with
 * the job as `metadata`, by the app's propagator.
 *
 * @throws InvalidOptionError
 * @example
 * const middleware = [jobTracing()];
 * const queue = new JobQueue(redis, 'email', { middleware });
 * new Worker([{ queue, handlers }], { middleware });
 */
export function jobTracing(options: JobTracingOptions = {}): Required<Omit<JobQueueMiddleware, 'event'>> {
  const { mode, tracer = trace.getTracer('nest-job-queue') } = checkOptions('jobTracing', optionsSchema, options);
  return {
    enqueue: (request, next) => traceEnqueue(tracer, mode, request, next),
    attempt: (job, next) => traceAttempt(tracer, mode, job, next),
    bulk: (jobs, next) => traceBulk(tracer, jobs, next),
  };
}

function traceEnqueue(
  tracer: Tracer,
  mode: 'link' | 'parent',
  request: EnqueueRequest,
  next: () => Promise<JobHandle[]>,
) {
  const { name, attributes } = operationOf('send', request.queue);
  const before = context.active();
  const span = tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes }, before);
  const active = trace.setSpan(before, span);
  // Avoids a link to a dropped trace. Without it the job stays plain.
  const leavesNoTrace = mode === 'link' && !isSampled(span.spanContext());
  sendAlong(request, leavesNoTrace ? trace.deleteSpan(before) : active);
  if (!span.isRecording()) {
    return context.with(active, next);
  }
  if (request.method === 'enqueueMany') {
    span.setAttribute('messaging.batch.message_count', request.jobs.length);
    return during(span, active, next);
  }
  return during(span, active, next, ([handle]) => {
    if (handle) {
      span.setAttribute('messaging.message.id', handle.id);
    }
  });
}

/** Adds the propagated context to the metadata of the jobs. */
function sendAlong(request: EnqueueRequest, sent: Context): void {
  const carrier: Record<string, string> = {};
  propagation.inject(sent, carrier);
  for (const _ in carrier) {
    for (const job of request.jobs) {
      job.options.metadata = { ...job.options.metadata, ...carrier };
    }
    return;
  }
}

function traceAttempt(tracer: Tracer, mode: 'link' | 'parent', job: Job, next: () => Promise<unknown>) {
  const sent = contextOf(job);
  const producer = mode === 'link' ? trace.getSpanContext(sent) : undefined;
  const { name, attributes } = operationOf('process', job.queue);
  const span = tracer.startSpan(
    name,
    {
      kind: SpanKind.CONSUMER,
      root: mode === 'link',
      attributes,
      ...(producer && { links: [{ context: producer }] }),
    },
    sent,
  );
  const active = trace.setSpan(sent, span);
  if (!span.isRecording()) {
    return context.with(active, next);
  }
  span.setAttribute('messaging.message.id', job.id);
  span.setAttribute('job_queue.job.name', job.name);
  span.setAttribute('job_queue.job.attempt', job.attempt);
  return during(span, active, next, undefined, [job]);
}

/** Creates one span for the call of a bulk handler, with links to the enqueues of its jobs. */
function traceBulk(tracer: Tracer, jobs: readonly Job[], next: () => Promise<unknown>) {
  const links = jobs.flatMap((job): Link[] => {
    const producer = trace.getSpanContext(contextOf(job));
    return producer ? [{ context: producer }] : [];
  });
  const { queue, name: jobName } = jobs[0]!;
  const { name, attributes } = operationOf('process', queue);
  const span = tracer.startSpan(name, { kind: SpanKind.CONSUMER, root: true, links, attributes });
  span.setAttribute('messaging.batch.message_count', jobs.length);
  span.setAttribute('job_queue.job.name', jobName);
  return during(span, trace.setSpan(ROOT_CONTEXT, span), next, undefined, jobs);
}

function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** Returns the context of the enqueue, or the root context for a job without a trace. */
function contextOf({ metadata }: Job): Context {
  for (const _ in metadata) {
    return propagation.extract(ROOT_CONTEXT, metadata);
  }
  return ROOT_CONTEXT;
}

/** The name of a span, and the attributes for the sampler. */
interface Operation {
  name: string;
  attributes: Attributes;
}

/** The operations of each queue, made once. */
const operations = { send: new Map<string, Operation>(), process: new Map<string, Operation>() };

/** A process with more queues than this creates them again. */
const MOST_QUEUES = 1_000;

function operationOf(operation: 'send' | 'process', queue: string): Operation {
  const make = () => {
    const whole = wholeOfShard(queue);
    return {
      name: `${operation} ${whole}`,
      attributes: {
        'messaging.system': 'nest_job_queue',
        'messaging.operation.name': operation,
        'messaging.operation.type': operation,
        'messaging.destination.name': whole,
      },
    };
  };
  return keptIn(operations[operation], queue, make, MOST_QUEUES);
}

/** Runs the call inside its span, and ends the span with the outcome. An attempt that ends without a failure is no error. */
function during<Value>(
  span: Span,
  active: Context,
  run: () => Promise<Value>,
  note?: (value: Value) => void,
  jobs: readonly Job[] = [],
): Promise<Value> {
  return context.with(active, run).then(
    (value) => {
      note?.(value);
      span.end();
      return value;
    },
    (error: unknown) => {
      noteError(span, error, jobs);
      span.end();
      throw error;
    },
  );
}

/** Notes an error, without what it quotes of the hidden parts of these jobs. */
function noteError(span: Span, error: unknown, jobs: readonly Job[]): void {
  if (jobs.length > 0 && failureOfAttempt(jobs, error) === undefined) {
    return;
  }
  const thrown = error instanceof Error ? error : { name: 'Error', message: String(error) };
  const shown = (text: string) => jobs.reduce((rest, job) => job.shownText(rest), text);
  const [name, message] = [shown(thrown.name), shown(thrown.message)];
  span.recordException({ name, message });
  span.setAttribute('error.type', name);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
