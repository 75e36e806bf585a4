// The errors, spans and check-ins of jobs, by an SDK that notes what it is told. test/long/sentry has the real SDK.
import { once } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  ClaimLostError,
  type Job,
  JobCancelledError,
  JobQueue,
  NonRetryableError,
  RateLimitedError,
  RetryLaterError,
} from 'nest-job-queue/core';
import { type SentrySdk, sentryJobs } from 'nest-job-queue/sentry';
import { errorFingerprint } from '#queue/errors/error-kind.js';
import { serializeError } from '#queue/errors/stored-error.js';
import { shardName } from '#queue/model/spread.js';
import { eventually } from '../support/faults/wait.js';
import { serverOf } from '../support/queue/inside.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startWorker } from '../support/worker/workers.js';

interface Noted {
  errors: {
    error: unknown;
    tags: Record<string, unknown>;
    fingerprint: string[];
    context: Record<string, unknown>;
  }[];
  spans: {
    name: string;
    op: string;
    attributes: Record<string, unknown>;
    trace: string | undefined;
    isError?: boolean;
  }[];
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
      const span: Noted['spans'][0] = { name, op, attributes: { ...attributes }, trace };
      noted.spans.push(span);
      const returned = run({
        spanContext: () => ({ traceFlags: isSampled ? 1 : 0 }),
        isRecording: () => isSampled,
        setAttribute: (key, value) => (span.attributes[key] = value),
      });
      void Promise.resolve(returned).catch(() => (span.isError = true));
      return returned;
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

class NotYet extends RetryLaterError {}
class TooMany extends RateLimitedError {}

async function wrapWait(job: Job): Promise<void> {
  try {
    await job.waitFor('go');
  } catch (cause) {
    throw new Error('no answer yet', { cause });
  }
}

/** Runs a schedule once, until its job has ended. Returns the states of its check-in. */
async function statesOf(
  handle: (job: Job) => unknown,
  end: 'completed' | 'failed' | 'cancelled',
  job: object = {},
) {
  const { queue, worker } = await started(handle, { checkIns: true });
  await queue.schedules.upsert('nightly', { everyMs: 86_400_000 }, { payload: {}, maxAttempts: 2, ...job });
  await queue.schedules.runNow('nightly');
  await worker.event(end);
  const ids = new Set(
    noted.checkIns.map(({ monitorSlug, checkInId }) => `${String(monitorSlug)} ${String(checkInId)}`),
  );
  expect([...ids]).toEqual([expect.stringMatching(/^nightly [0-9a-f]{32}$/)]);
  return noted.checkIns.map(({ status }) => status);
}

/** Rejects with the reason of the abort of an attempt. */
async function aborted({ signal }: Job): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
}

async function cancelItself(job: Job): Promise<void> {
  await new JobQueue(connect(), job.queue).cancel(job.id);
  await aborted(job);
}

async function returnLate(job: Job): Promise<void> {
  await aborted(job).catch(() => undefined);
}

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
    const kind = errorFingerprint(serializeError(event!.error));
    expect(event!.fingerprint).toEqual([queue.name, queue.name, kind]);
    expect(event!.context['job']).toMatchObject({ id, attempt: 3, maxAttempts: 3 });
    expect(JSON.stringify(event!.context)).not.toContain('ada');
  });

  it('names the queue of a shard, so that its shards are one queue and their errors one issue', async () => {
    const middleware = [sentryJobs(fakeSdk())];
    const name = uniqueQueueName();
    const queue = new JobQueue(connect(), shardName(name, 3), { middleware });
    const handlers = { [name]: () => Promise.reject(new Error('no')) };
    const worker = await startWorker([{ queue, handlers }], undefined, { middleware });
    await queue.enqueue({}, { name, maxAttempts: 1 });
    await worker.event('failed');
    expect(noted.errors).toMatchObject([{ tags: { queue: name }, fingerprint: [name, name, expect.any(String)] }]);
    const destinations = noted.spans.map((span) => [span.name, span.attributes['messaging.destination.name']]);
    expect(destinations).toEqual([
      [name, name],
      [name, name],
    ]);
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

  it('captures each dead letter by option, with the scope of its last attempt', async () => {
    const { queue, worker } = await started(() => Promise.reject(new Error('no')), { capture: 'dead-letters' });
    const { id } = await queue.enqueue({}, { maxAttempts: 2 });
    await worker.event('failed');
    expect(noted.errors).toHaveLength(1);
    expect(noted.errors[0]!.tags).toEqual(expect.objectContaining({ 'job.id': id, 'job.attempt': 2 }));
    expect((noted.errors[0]!.error as Error).message).toBe('no');
  });

  it('captures no last failure of a job that was cancelled meanwhile, and so is no dead letter', async () => {
    const { queue, worker } = await started(
      async ({ id }) => {
        await queue.cancel(id);
        throw new Error('no');
      },
      { capture: 'dead-letters' },
    );
    await queue.enqueue({}, { maxAttempts: 1 });
    await worker.event('cancelled');
    expect(noted.errors).toEqual([]);
  });

  it('captures a dead letter that ran no code', async () => {
    const { queue, worker } = await started(() => undefined, { capture: 'dead-letters' });
    await queue.pause();
    const { id } = await queue.enqueue({}, { expiresInMs: 60_000 });
    const { client, scripts } = await serverOf(queue);
    await client.hset(scripts.keys.job(id), 'expires_at_ms', 1);
    await queue.resume();
    await worker.event('failed');
    expect(noted.errors).toMatchObject([
      { error: { name: 'JobExpired' }, tags: { queue: queue.name, 'job.id': id } },
    ]);
  });

  it('captures a dead letter whose worker was killed, without what the queue hides', async () => {
    const middleware = [sentryJobs(fakeSdk(), { capture: 'dead-letters', payload: true })];
    const queue = new JobQueue(connect(), uniqueQueueName(), { maxAttempts: 1, redact: ['iban'] });
    const { id } = await queue.enqueue({ to: 'ada', iban: 'DE1234567890' });
    await queue.claim();
    const { client, scripts } = await serverOf(queue);
    await client.zadd(scripts.keys.claims, 1, id);
    const handlers = { [queue.name]: () => undefined };
    const worker = await startWorker([{ queue, handlers }], undefined, { middleware, sweepIntervalMs: 50 });
    await worker.event('failed');
    expect(noted.errors).toMatchObject([{ error: { name: 'WorkerCrash' }, tags: { 'job.id': id } }]);
    expect(noted.errors[0]!.context['job']).toMatchObject({ payload: { to: 'ada' } });
    expect(JSON.stringify(noted.errors[0]!.context)).not.toContain('DE1234567890');
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

  it('captures a rest of a limit that the queue does not have, which fails the attempt', async () => {
    const { queue, worker } = await started(() => {
      throw new RateLimitedError({ limit: 'openai', retryAfterMs: 1 });
    });
    await queue.enqueue({}, { maxAttempts: 1 });
    await worker.event('failed');
    expect(noted.errors.map(({ error }) => (error as Error).message)).toEqual([
      expect.stringContaining('RateLimitedError.limit'),
    ]);
  });

  it.each([
    ['a wait for a signal', (job: Job) => job.waitFor('go')],
    ['a sleep', (job: Job) => job.sleep(1)],
    ['a wait that the handler wraps in an error', wrapWait],
    ['a subclass of a snooze', () => Promise.reject(new NotYet(1))],
    ['a subclass of a rest', () => Promise.reject(new TooMany({ retryAfterMs: 1 }))],
  ])('captures nothing for %s, and its span is no error', async (_, pause) => {
    let isFirst = true;
    const { queue, worker } = await started(async (job) => {
      if (isFirst) {
        isFirst = false;
        await pause(job);
      }
    });
    const { id } = await queue.enqueue({}, { maxAttempts: 1 });
    await worker.event('released');
    await queue.signal(id, 'go');
    await worker.event('completed');
    expect(noted.errors).toEqual([]);
    const runs = noted.spans.filter(({ op }) => op === 'queue.process');
    expect(runs.map(({ isError }) => isError)).toEqual([undefined, undefined]);
  });

  it.each([
    ['cancelled', new JobCancelledError('another')],
    ['claimed by another worker', new ClaimLostError('another')],
  ])('captures that a job which the handler awaits was %s', async (_, error) => {
    const { queue, worker } = await started(() => Promise.reject(error));
    await queue.enqueue({}, { maxAttempts: 1 });
    await worker.event('failed');
    expect(noted.errors).toMatchObject([{ error }]);
    expect(noted.spans.filter(({ op }) => op === 'queue.process')).toMatchObject([{ isError: true }]);
  });

  it('makes the span of each failed attempt an error', async () => {
    const { queue, worker } = await started(() => Promise.reject(new Error('no')));
    await queue.enqueue({}, { maxAttempts: 2 });
    await worker.event('failed');
    expect(noted.spans.map(({ op, isError }) => [op, isError])).toEqual([
      ['queue.publish', undefined],
      ['queue.process', true],
      ['queue.process', true],
    ]);
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

  describe('checks in with the crons by the schedule of a job', () => {
    it('which completes', async () => {
      expect(await statesOf(() => undefined, 'completed')).toEqual(['in_progress', 'ok']);
    });

    it.each([
      ['is snoozed', (job: Job) => job.snooze(1)],
      ['sleeps', (job: Job) => job.sleep(1)],
      ['fails once', () => Promise.reject(new Error('no'))],
    ])('which %s, without an alarm', async (_, first) => {
      let isFirst = true;
      const handle = (job: Job): unknown => {
        if (!isFirst) return undefined;
        isFirst = false;
        return first(job);
      };
      expect(await statesOf(handle, 'completed')).toEqual(['in_progress', 'in_progress', 'ok']);
    });

    it.each([
      ['with the last attempt', () => new Error('no'), ['in_progress', 'in_progress', 'error']],
      ['for good', () => new NonRetryableError('no'), ['in_progress', 'error']],
    ])('which fails %s', async (_, error, states) => {
      expect(await statesOf(() => Promise.reject(error()), 'failed')).toEqual(states);
    });

    it('which is cancelled, as an error', async () => {
      expect(await statesOf(cancelItself, 'cancelled')).toEqual(['in_progress', 'error']);
    });

    it('whose handler returns after its timeout, as an error', async () => {
      const states = await statesOf(returnLate, 'failed', { timeoutMs: 1, maxAttempts: 1 });
      expect(states).toEqual(['in_progress', 'error']);
    });

    it('with another id after a redrive', async () => {
      let fails = true;
      const handle = () => (fails ? Promise.reject(new Error('no')) : undefined);
      const { queue, worker } = await started(handle, { checkIns: true });
      await queue.schedules.upsert('nightly', { everyMs: 86_400_000 }, { payload: {}, maxAttempts: 2 });
      await queue.schedules.runNow('nightly');
      const { job } = await worker.event('failed');
      fails = false;
      await queue.deadLetters.redrive(job.id);
      await worker.event('completed');
      const states = (id: unknown) =>
        noted.checkIns.flatMap(({ checkInId, status }) => (checkInId === id ? [status] : []));
      const [first, second, ...others] = new Set(noted.checkIns.map(({ checkInId }) => checkInId));
      expect(others).toEqual([]);
      expect(states(first)).toEqual(['in_progress', 'in_progress', 'error']);
      expect(states(second)).toEqual(['in_progress', 'ok']);
    });

    it('with the same id in each attempt, and another in another environment', async () => {
      let ran: Job | undefined;
      await statesOf((job) => void (ran = job), 'completed');
      noted.checkIns = [];
      for (const environment of ['staging', 'production', 'production']) {
        const sdk = { ...fakeSdk(), getClient: () => ({ getOptions: () => ({ environment }) }) };
        await sentryJobs(sdk, { checkIns: true }).attempt(ran!, () => Promise.resolve());
      }
      const [staging, production, again] = noted.checkIns
        .filter(({ status }) => status === 'in_progress')
        .map(({ checkInId }) => checkInId);
      expect(again).toBe(production);
      expect(staging).not.toBe(production);
    });
  });

  it('says what it expects if it gets no SDK', () => {
    expect(() => sentryJobs(undefined as never)).toThrow(/@sentry\/nestjs/);
    expect(() => sentryJobs(fakeSdk(), { capture: 'never' as never })).toThrow(/'last', 'each' or 'dead-letters'/);
  });
});
