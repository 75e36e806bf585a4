import { AsyncResource } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { EnqueueRequest } from '../queue/enqueue/enqueue-middleware.js';
import { errorFingerprint } from '../queue/errors/error-kind.js';
import { isNonRetryable } from '../queue/errors/errors.js';
import { serializeError } from '../queue/errors/stored-error.js';
import { wholeOfShard } from '../queue/model/spread.js';
import { SCHEDULE_PREFIX } from '../queue/validation/names.js';
import { checkOptions } from '../queue/validation/validate-options.js';
import type { JobHandle } from '../queue/results/job-handle.js';
import { failureOfAttempt } from '../worker/attempt/worker-errors.js';
import type { JobQueueMiddleware, WorkerEvent } from '../worker/handlers/attempt-middleware.js';
import { outcomeOf } from '../worker/handlers/handler.js';
import type { Job } from '../worker/handlers/job.js';

/** A span of the SDK, as far as it is used here. */
export interface SentrySpan {
  /** Returns whether the span is sent: `traceFlags` 1. */
  spanContext(): { traceFlags: number };
  /** Returns whether the span keeps attributes. */
  isRecording(): boolean;
  /** Sets an attribute. */
  setAttribute(name: string, value: string | number): unknown;
}

/** The options of a span of the SDK, as far as they are used here. */
export interface SentrySpanOptions {
  /** Its description: the queue. */
  name: string;
  /** Its operation, as Sentry's page of queues knows it. */
  op: string;
  /** True for a transaction of its own. */
  forceTransaction?: boolean | undefined;
  /** What is known at its begin. */
  attributes: Record<string, string | number>;
}

/** A scope of the SDK, as far as it is used here. */
export interface SentryScope {
  /** Adds tags. */
  setTags(tags: Record<string, string | number>): unknown;
  /** Sets a context. */
  setContext(name: string, context: Record<string, unknown>): unknown;
  /** Sets which events are one issue. */
  setFingerprint(fingerprint: string[]): unknown;
}

/** The SDK, as far as it is used here: `@sentry/nestjs` or `@sentry/node`, version 9 or 10. */
export interface SentrySdk {
  /** Runs a function in an isolation scope of its own. */
  withIsolationScope<Value>(run: (scope: SentryScope) => Value): Value;
  /** Runs a function in a scope of its own. */
  withScope<Value>(run: (scope: SentryScope) => Value): Value;
  /** Sends an event. */
  captureException(error: unknown): string;
  /** Runs a function in a span. */
  startSpan<Value>(options: SentrySpanOptions, run: (span: SentrySpan) => Value): Value;
  /** Runs a function in the trace of these headers. */
  continueTrace<Value>(
    headers: { sentryTrace: string | undefined; baggage: string | undefined },
    run: () => Value,
  ): Value;
  /** Returns the headers of the current trace. */
  getTraceData(): { 'sentry-trace'?: string | undefined; baggage?: string | undefined };
  /** Sends a check-in of a monitor. Returns its id. */
  captureCheckIn(checkIn: {
    monitorSlug: string;
    status: 'in_progress' | 'ok' | 'error';
    checkInId?: string | undefined;
  }): string;
  /** Returns the client, whose environment check-ins are of. */
  getClient?(): { getOptions(): { environment?: string | undefined } } | undefined;
}

/** The options of sentryJobs. */
export interface JobSentryOptions {
  /**
   * The failures that become events. `last`: those after which the job is not tried again. `each`: every failed attempt.
   * `dead-letters`: each job that became a dead letter, even if it never ran.
   * @default `last`
   */
  capture?: 'last' | 'each' | 'dead-letters' | undefined;
  /**
   * Adds the payload of the job to its events. `redact` of the queue hides what it hides elsewhere.
   * @default false
   */
  payload?: boolean | undefined;
  /**
   * Sends a check-in of Sentry's crons for each run of a schedule, over all its attempts. The slug is the id of the schedule.
   * Make the monitor in Sentry first.
   * @default false
   */
  checkIns?: boolean | undefined;
}

const optionsSchema = z.strictObject(
  {
    capture: z
      .enum(['last', 'each', 'dead-letters'], { error: "expected 'last', 'each' or 'dead-letters'" })
      .default('last'),
    payload: z.boolean().default(false),
    checkIns: z.boolean().default(false),
  },
  { error: 'expected an object with capture, payload, checkIns' },
);

const SDK_METHODS = [
  'withIsolationScope',
  'withScope',
  'captureException',
  'startSpan',
  'continueTrace',
  'getTraceData',
  'captureCheckIn',
] as const satisfies readonly (keyof SentrySdk)[];

const sdkSchema = z.custom<SentrySdk>(
  (sdk) => SDK_METHODS.every((method) => typeof (sdk as SentrySdk | undefined)?.[method] === 'function'),
  "expected the SDK: `import * as Sentry from '@sentry/nestjs'`, then sentryJobs(Sentry)",
);

interface ResolvedOptions extends z.output<typeof optionsSchema> {
  /** The scopes of attempts here whose ends are reported once Redis has confirmed them. */
  readonly scopes: WeakMap<Job, AsyncResource>;
}

/** The middleware of Sentry. It listens to events only if an option needs them. */
export type JobSentryMiddleware = Required<Omit<JobQueueMiddleware, 'event'>> & Pick<JobQueueMiddleware, 'event'>;

/**
 * Reports the failures of jobs to Sentry, and fills its page of queues. Each attempt has an isolation scope with the queue,
 * the job and the attempt as tags. The trace of the enqueue goes on in the job, if the span of the enqueue is sampled.
 *
 * @param sdk the namespace of `@sentry/nestjs` or `@sentry/node`
 * @throws InvalidOptionError
 * @example
 * import * as Sentry from '@sentry/nestjs';
 * JobQueueModule.forRoot({ middleware: [sentryJobs(Sentry)] });
 */
export function sentryJobs(sdk: SentrySdk, options: JobSentryOptions = {}): JobSentryMiddleware {
  const sentry = checkOptions('sentryJobs', sdkSchema, sdk);
  const checked = checkOptions('sentryJobs', optionsSchema, options);
  const resolved: ResolvedOptions = { ...checked, scopes: new WeakMap() };
  return {
    ...(needsEvents(resolved) && { event: (event: WorkerEvent) => reportEnd(sentry, resolved, event) }),
    enqueue: (request, next) => publish(sentry, request, next),
    attempt: (job, next) => processJob(sentry, resolved, job, next),
    bulk: (jobs, next) => processBulk(sentry, resolved, jobs, next),
  };
}

function needsEvents({ capture: which, checkIns }: Pick<ResolvedOptions, 'capture' | 'checkIns'>): boolean {
  return which === 'dead-letters' || checkIns;
}

function publish(
  sentry: SentrySdk,
  request: EnqueueRequest,
  next: () => Promise<JobHandle[]>,
): Promise<JobHandle[]> {
  const { jobs } = request;
  const name = wholeOfShard(request.queue);
  const attributes = { 'messaging.system': 'nest_job_queue', 'messaging.destination.name': name };
  return sentry.startSpan({ name, op: 'queue.publish', attributes }, async (span) => {
    if (span.spanContext().traceFlags % 2 === 1) {
      sendTrace(sentry, request);
    }
    if (span.isRecording()) {
      const bytes = jobs.reduce((sum, { payload }) => sum + bytesOf(payload), 0);
      span.setAttribute('messaging.message.body.size', bytes);
    }
    const handles = await next();
    if (span.isRecording()) {
      const [first] = handles;
      if (jobs.length === 1 && first) {
        span.setAttribute('messaging.message.id', first.id);
      } else {
        span.setAttribute('messaging.batch.message_count', jobs.length);
      }
    }
    return handles;
  });
}

/** Adds the trace to the metadata of the jobs. */
function sendTrace(sentry: SentrySdk, request: EnqueueRequest): void {
  const { 'sentry-trace': trace, baggage } = sentry.getTraceData();
  if (trace) {
    for (const job of request.jobs) {
      job.options.metadata = { ...job.options.metadata, 'sentry-trace': trace, ...(baggage && { baggage }) };
    }
  }
}

/** Runs an attempt in a scope and a transaction of its own. */
function processJob(
  sentry: SentrySdk,
  options: ResolvedOptions,
  job: Job,
  next: () => Promise<unknown>,
): Promise<unknown> {
  const { 'sentry-trace': sentryTrace, baggage } = job.metadata;
  return inScopeOf(sentry, options, job, () => {
    return sentry.continueTrace({ sentryTrace, baggage }, () =>
      inSpan(sentry, [job], (span) => {
        if (span.isRecording()) {
          span.setAttribute('messaging.message.id', job.id);
          span.setAttribute('messaging.message.body.size', bytesOf(job.payload));
          span.setAttribute('messaging.message.retry.count', job.attempt - 1);
          const latencyMs = job.claimedAt.getTime() - job.readyAt.getTime();
          span.setAttribute('messaging.message.receive.latency', Math.max(0, latencyMs));
        }
        keepScope(options, [job]);
        checkIn(sentry, options, job, 'in_progress');
        return captured(sentry, options, [job], next);
      }),
    );
  });
}

/** Runs a function in an isolation scope of the job. */
function inScopeOf<Value>(sentry: SentrySdk, options: ResolvedOptions, job: Job, run: () => Value): Value {
  return sentry.withIsolationScope((scope) => {
    scope.setTags({
      queue: wholeOfShard(job.queue),
      'job.name': job.name,
      'job.id': job.id,
      'job.attempt': job.attempt,
    });
    scope.setContext('job', contextOf(job, options));
    return run();
  });
}

function processBulk(
  sentry: SentrySdk,
  options: ResolvedOptions,
  jobs: readonly Job[],
  next: () => Promise<unknown>,
): Promise<unknown> {
  const [first] = jobs;
  return sentry.withIsolationScope((scope) => {
    scope.setTags({ queue: wholeOfShard(first!.queue), 'job.name': first!.name });
    scope.setContext('jobs', { ids: jobs.map(({ id }) => id).join(', '), count: jobs.length });
    return inSpan(sentry, jobs, async (span) => {
      keepScope(options, jobs);
      span.setAttribute('messaging.batch.message_count', jobs.length);
      const outcomes = await captured(sentry, options, jobs, next);
      failuresOf(jobs, outcomes).forEach(([job, error]) => capture(sentry, options, [job], error));
      return outcomes;
    });
  });
}

/** The end of what ran in a span. A span is an error only if its function throws. */
type SpanEnd = { returned: unknown } | { thrownWithoutFailure: unknown };

async function inSpan(
  sentry: SentrySdk,
  jobs: readonly Job[],
  run: (span: SentrySpan) => Promise<unknown>,
): Promise<unknown> {
  const name = wholeOfShard(jobs[0]!.queue);
  const attributes = { 'messaging.system': 'nest_job_queue', 'messaging.destination.name': name };
  const options = { name, op: 'queue.process', forceTransaction: true, attributes };
  const end = await sentry.startSpan(options, async (span): Promise<SpanEnd> => {
    try {
      return { returned: await run(span) };
    } catch (error) {
      if (failureOfAttempt(jobs, error)) {
        throw error;
      }
      return { thrownWithoutFailure: error };
    }
  });
  if ('thrownWithoutFailure' in end) {
    throw end.thrownWithoutFailure;
  }
  return end.returned;
}

/** Returns the jobs of a bulk call that failed, with their errors. */
function failuresOf(jobs: readonly Job[], outcomes: unknown): [Job, Error][] {
  return jobs.flatMap((job, i): [Job, Error][] => {
    const error = outcomeOf(outcomes, job, i);
    return error instanceof Error ? [[job, error]] : [];
  });
}

async function captured(
  sentry: SentrySdk,
  options: ResolvedOptions,
  jobs: readonly Job[],
  next: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await next();
  } catch (error) {
    capture(sentry, options, jobs, error);
    throw error;
  }
}

/** Captures the failure of an attempt, or of a call, if the options ask for it. */
function capture(
  sentry: SentrySdk,
  { capture: which }: ResolvedOptions,
  jobs: readonly Job[],
  thrown: unknown,
): void {
  const failing = jobs.filter((job) => which === 'each' || (which === 'last' && isLast(job, thrown)));
  const failure = failureOfAttempt(jobs, thrown);
  const [job] = failing;
  if (job && failure) {
    captureError(sentry, job, jobs, failure.error);
  }
}

/** @param jobs the jobs whose hidden parts the error may quote */
function captureError(sentry: SentrySdk, job: Job, jobs: readonly Job[], error: unknown): void {
  sentry.withScope((scope) => {
    const shown = shownError(error, (text) => jobs.reduce((rest, each) => each.shownText(rest), text));
    scope.setTags({ 'job.id': job.id, 'job.attempt': job.attempt });
    scope.setFingerprint([wholeOfShard(job.queue), job.name, errorFingerprint(serializeError(shown))]);
    sentry.captureException(shown);
  });
}

function isLast(job: Job, error: unknown): boolean {
  return job.attempt >= job.maxAttempts || isNonRetryable(error);
}

/** Returns an error without what it quotes of hidden parts, also of its causes. Returns the error itself if it quotes none. */
function shownError(error: unknown, shown: (text: string) => string): unknown {
  if (!(error instanceof Error)) {
    return typeof error === 'string' ? shown(error) : error;
  }
  const [message, stack] = [shown(error.message), shown(error.stack ?? '')];
  const cause = error.cause === undefined ? undefined : shownError(error.cause, shown);
  if (message === error.message && stack === (error.stack ?? '') && cause === error.cause) {
    return error;
  }
  const copy = new Error(message, cause === undefined ? {} : { cause });
  return Object.assign(copy, { name: error.name, stack });
}

function contextOf(job: Job, { payload }: ResolvedOptions): Record<string, unknown> {
  return {
    queue: job.queue,
    name: job.name,
    id: job.id,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    enqueuedAt: job.enqueuedAt.toISOString(),
    ...(payload && { payload: job.shownPayload }),
  };
}

/** Keeps the scope of an attempt, with the tags and breadcrumbs of its handler, for the report of its end. */
function keepScope(options: ResolvedOptions, jobs: readonly Job[]): void {
  if (needsEvents(options)) {
    const scope = new AsyncResource('nest-job-queue sentry');
    jobs.forEach((job) => options.scopes.set(job, scope));
  }
}

/** The state of a check-in at the end of its run. A cancelled run has not done its work. */
const CHECKED_OUT = { completed: 'ok', failed: 'error', cancelled: 'error' } as const;

/** Reports an end that Redis has confirmed. Other events are no end of a job. */
function reportEnd(sentry: SentrySdk, options: ResolvedOptions, { type, job, error }: WorkerEvent): void {
  const state = Object.hasOwn(CHECKED_OUT, type) ? CHECKED_OUT[type as keyof typeof CHECKED_OUT] : undefined;
  if (!state) {
    return;
  }
  const report = () => {
    checkIn(sentry, options, job, state);
    if (type === 'failed' && options.capture === 'dead-letters') {
      captureError(sentry, job, [job], error);
    }
  };
  const scope = options.scopes.get(job);
  options.scopes.delete(job);
  if (scope) {
    scope.runInAsyncScope(report);
  } else {
    inScopeOf(sentry, options, job, report);
  }
}

/**
 * Tells Sentry's crons of the run of a schedule. All attempts of a run are one check-in. It stays open until the job has
 * ended. Without an end Sentry calls it timed out.
 */
function checkIn(
  sentry: SentrySdk,
  { checkIns }: ResolvedOptions,
  job: Job,
  status: 'in_progress' | 'ok' | 'error',
): void {
  const monitorSlug = checkIns ? scheduleOf(job) : undefined;
  if (monitorSlug !== undefined) {
    sentry.captureCheckIn({ monitorSlug, checkInId: checkInOf(sentry, job), status });
  }
}

/** Returns the id of a check-in: the same in each attempt of a run. Another after a redrive, and in another environment. */
function checkInOf(sentry: SentrySdk, { queue, id, enqueuedAt, startedOverAtMs }: Job): string {
  const { environment = '' } = sentry.getClient?.()?.getOptions() ?? {};
  const run = [environment, queue, id, startedOverAtMs ?? enqueuedAt.getTime()].join('\n');
  return createHash('sha256').update(run).digest('hex').slice(0, CHECK_IN_LENGTH);
}

/** The number of hexadecimal digits of a UUID, as the SDK writes it. */
const CHECK_IN_LENGTH = 32;

/** The id of a job of a schedule: the prefix, the schedule, and the due time. */
const RUN_ID = new RegExp(`^${SCHEDULE_PREFIX}(.*):[^:]*$`, 's');

/** Returns the id of the schedule that made a job. */
function scheduleOf({ id }: Job): string | undefined {
  return RUN_ID.exec(id)?.[1];
}

function bytesOf(payload: unknown): number {
  return Buffer.byteLength(JSON.stringify(payload) ?? '');
}
