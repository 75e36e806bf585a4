// The errors, spans and check-ins of jobs, by an SDK that notes what it is told. test/long/sentry has the real SDK.
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Job, JobQueue, NonRetryableError, RetryLaterError } from 'nest-job-queue/core';
import { type SentrySdk, sentryJobs } from 'nest-job-queue/sentry';
import { eventually } from '../support/faults/wait.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startWorker } from '../support/worker/workers.js';

interface Noted {
  errors: {
    error: unknown;
    tags: Record<string, unknown>;
    fingerprint: string[];
    context: Record<string, unknown>;
  }[];
  spans: { name: string; op: string; attributes: Record<string, unknown>; trace: string | undefined }[];
  checkIns: Record<string, unknown>[];
}

let noted: Noted;
let isSampled = true;

beforeEach(() => {
  noted = { errors: [], spans: [], checkIns: [] };
  isSampled = true;
});

/** Returns an SDK whose scopes and traces are plain stacks. It serves one job at a time. */
function fakeSdk(): SentrySdk {
  const scopes: { tags: Record<string, unknown>; fingerprint: string[]; context: Record<string, unknown> }[] = [];
  const within = <Value>(run: (scope: never) => Value): Value => {
    const before = scopes.at(-1);
    const scope = { tags: { ...before?.tags }, fingerprint: [] as string[], context: { ...before?.context } };
    scopes.push(scope);
    return run({
      setTags: (tags: object) => Object.assign(scope.tags, tags),
      setContext: (name: string, context: object) => Object.assign(scope.context, { [name]: context }),
      setFingerprint: (fingerprint: string[]) => (scope.fingerprint = fingerprint),
    } as never);
  };
  let trace: string | undefined;
  return {
    withIsolationScope: within,
    withScope: within,
    captureException: (error) => {
      noted.errors.push({ error, ...scopes.at(-1)! });
      return 'event';
    },
    startSpan: ({ name, op, attributes }, run) => {
      const span = { name, op, attributes: { ...attributes } as Record<string, unknown>, trace };
      noted.spans.push(span);
      return run({
        spanContext: () => ({ traceFlags: isSampled ? 1 : 0 }),
        isRecording: () => isSampled,
        setAttribute: (key, value) => (span.attributes[key] = value),
      });
    },
    continueTrace: ({ sentryTrace }, run) => {
      trace = sentryTrace;
      return run();
    },
    getTraceData: () => ({ 'sentry-trace': 'trace-of-the-request', baggage: 'b=1' }),
    captureCheckIn: (checkIn) => {
      noted.checkIns.push(checkIn);
      return 'check-in';
    },
  };
}

async function started(
  handle: (job: Job) => unknown,
  options: Parameters<typeof sentryJobs>[1] = {},
  queueOptions: object = {},
) {
  const middleware = [sentryJobs(fakeSdk(), options)];
  const name = uniqueQueueName();
  const backoff = { type: 'fixed' as const, delayMs: 0 };
  const queue = new JobQueue(connect(), name, { middleware, backoff, ...queueOptions });
  const worker = await startWorker([{ queue, handlers: { [name]: handle } }], undefined, { middleware });
  return { queue, worker };
}

const failSecond = (jobs: readonly Job[]) =>
  jobs.map(({ payload }) => (payload === 2 ? new Error('second') : payload));

describe('sentryJobs', () => {
  it('captures the last failure with its cause, and the queue, the job and the attempt as tags', async () => {
    const cause = new Error('connection refused');
    const { queue, worker } = await started(() => {
      throw new Error('smtp is down', { cause });
    });
    const { id } = await queue.enqueue({ to: 'ada' }, { maxAttempts: 3 });
    await worker.event('failed');
    expect(noted.errors).toHaveLength(1);
    const [event] = noted.errors;
    expect(event!.error).toMatchObject({ message: 'smtp is down', cause });
    expect(event!.tags).toEqual({ queue: queue.name, 'job.name': queue.name, 'job.id': id, 'job.attempt': 3 });
    expect(event!.fingerprint).toEqual([queue.name, queue.name, expect.any(String)]);
    expect(event!.context['job']).toMatchObject({ id, attempt: 3, maxAttempts: 3 });
    expect(JSON.stringify(event!.context)).not.toContain('ada');
  });

  it('captures each failure by option, and with the payload if it is asked for', async () => {
    const { queue, worker } = await started(
      () => {
        throw new Error('no');
      },
      { capture: 'each', payload: true },
    );
    await queue.enqueue({ to: 'ada' }, { maxAttempts: 2 });
    await worker.event('failed');
    expect(noted.errors.map(({ tags }) => tags['job.attempt'])).toEqual([1, 2]);
    expect(noted.errors[0]!.context['job']).toMatchObject({ payload: { to: 'ada' } });
  });

  it('captures an error that is not retried at once, and no snooze', async () => {
    let isLate = false;
    const { queue, worker } = await started(({ payload }) => {
      const { told } = payload as { told: string };
      if (told === 'later' && !isLate) {
        isLate = true; // a snooze uses no attempt
        throw new RetryLaterError(1);
      }
      if (told === 'never') throw new NonRetryableError('bad address');
    });
    await queue.enqueue({ told: 'later' }, { maxAttempts: 2 });
    await worker.event('completed');
    await queue.enqueue({ told: 'never' });
    await worker.event('failed');
    expect(noted.errors.map(({ error }) => (error as Error).message)).toEqual(['bad address']);
  });

  it('shows nothing that the queue hides, neither in the payload nor in the message of an error', async () => {
    const { queue, worker } = await started(
      ({ payload }) => {
        throw new Error(`refused for ${(payload as { iban: string }).iban}`, { cause: new Error('DE1234567890') });
      },
      { payload: true },
      { redact: ['iban'] },
    );
    await queue.enqueue({ iban: 'DE1234567890' }, { maxAttempts: 1 });
    await worker.event('failed');
    const [{ error, context }] = noted.errors as [Noted['errors'][0]];
    const thrown = error as Error;
    expect([thrown.message, thrown.stack, String(thrown.cause)].join()).not.toContain('DE1234567890');
    expect(thrown.message).toContain('refused for');
    expect(JSON.stringify(context)).not.toContain('DE1234567890');
  });

  it('makes the spans of the page of queues, and the trace of the request goes on in the job', async () => {
    const { queue, worker } = await started(() => undefined);
    const { id } = await queue.enqueue({ to: 'ada' });
    await worker.event('completed');
    const [publish, process] = noted.spans;
    const known = {
      'messaging.destination.name': queue.name,
      'messaging.message.id': id,
      'messaging.message.body.size': 12,
    };
    expect(publish).toMatchObject({ op: 'queue.publish', attributes: known });
    expect(process).toMatchObject({ op: 'queue.process', trace: 'trace-of-the-request', attributes: known });
    expect(process!.attributes['messaging.message.retry.count']).toBe(0);
    expect(process!.attributes['messaging.message.receive.latency']).toBeGreaterThanOrEqual(0);
  });

  it('leaves a job plain if its trace is not sampled', async () => {
    isSampled = false;
    const { queue, worker } = await started(() => undefined);
    const { id } = await queue.enqueue({ to: 'ada' });
    await worker.event('completed');
    expect((await queue.get(id))!.metadata).toBeUndefined();
  });

  it('captures the failures of a bulk call, each with its job', async () => {
    const middleware = [sentryJobs(fakeSdk(), { capture: 'each' })];
    const name = uniqueQueueName();
    const queue = new JobQueue(connect(), name, { middleware });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, maxAttempts: 1 })));
    const bulk = { bulk: { size: 10 }, handle: failSecond };
    const worker = await startWorker([{ queue, handlers: { [name]: bulk } }], undefined, { middleware });
    await worker.event('failed');
    await eventually(() => noted.errors.length === 1, { what: 'an event' });
    expect((noted.errors[0]!.error as Error).message).toBe('second');
  });

  it('checks in with the crons by the schedule of a job', async () => {
    const { queue, worker } = await started(() => undefined, { checkIns: true });
    await queue.schedules.upsert('nightly', { everyMs: 86_400_000 }, { payload: {} });
    await queue.schedules.runNow('nightly');
    await worker.event('completed');
    expect(noted.checkIns).toEqual([
      { monitorSlug: 'nightly', status: 'in_progress' },
      { monitorSlug: 'nightly', checkInId: 'check-in', status: 'ok', duration: expect.any(Number) },
    ]);
  });

  it('says what it expects if it gets no SDK', () => {
    expect(() => sentryJobs(undefined as never)).toThrow(/@sentry\/nestjs/);
    expect(() => sentryJobs(fakeSdk(), { capture: 'never' as never })).toThrow(/'last' or 'each'/);
  });
});
