import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { propagation } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  JobHandler,
  InvalidOptionError,
  JobQueueService,
  type EnqueueJobOptions,
  type JobHandlerOptions,
} from 'nest-job-queue';
import { jobTracing } from 'nest-job-queue/tracing';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, within } from '../../support/faults/wait.js';
import { compileApp, KeptLog, startApp } from '../app.js';
import { inside } from '../../support/queue/inside.js';

const file = (name: string) => new URL(`./threads/${name}`, import.meta.url);
const WORK = file('work.mjs');
const SOON = { timeoutMs: 15_000 };

/** Starts an app with one handler in threads, and returns a function that enqueues for it. */
async function startThreads(options: JobHandlerOptions = {}, jobs: object = {}) {
  const name = uniqueQueueName();

  @JobHandler(name, { thread: WORK, ...options })
  class Handler {}

  const log = new KeptLog();
  // Some jobs run until the app is closed.
  const app = await startApp({ providers: [Handler], jobs: { shutdownTimeoutMs: 200, ...jobs }, log });
  const service = app.get(JobQueueService);
  const enqueue = (payload: unknown, asked?: EnqueueJobOptions) => service.enqueue(name, payload, asked);
  const run = async (payload: unknown) => (await enqueue(payload)).result(SOON);
  return { app, name, log, service, queue: service.queue(name), enqueue, run };
}

describe('a handler in threads', () => {
  it('gets the job as data and returns the result', async () => {
    const { run, name } = await startThreads();
    const found = (await run({ do: 'describe' })) as Record<string, unknown>;
    expect(found).toMatchObject({
      name,
      queue: name,
      attempt: 1,
      maxAttempts: 3,
      fence: 1,
      dates: [true, true],
      isMainThread: false,
    });
    // The thread is kept for the next job.
    expect(await run({ do: 'describe' })).toMatchObject({ threadId: found.threadId, jobsHere: 2 });
  });

  it('has the group, the start and the batch of the job', async () => {
    const { enqueue, service, name } = await startThreads();
    const grouped = await enqueue({ do: 'describe more' }, { group: 'tenant-42' });
    expect(await grouped.result(SOON)).toEqual({ group: 'tenant-42', isReady: true, metadata: {} });
    const batch = service.batch({ id: 'sum', then: { name, payload: { do: 'sum up' } } });
    const [first] = await batch.addMany(
      name,
      [1, 2].map((n) => ({ payload: { do: 'return', n } })),
    );
    await batch.seal();
    await batch.wait({ timeoutMs: SOON.timeoutMs }); // the follow-up is there once all members have ended
    const sum = (await service.queue(name).result('@batch:sum:then', SOON)) as object;
    expect(sum).toMatchObject({ id: 'sum', queue: name, sum: 3, next: 1, refused: 'InvalidOptionError' });
    expect(sum).toMatchObject({ state: 'fired', completed: 2, first: { id: first!.id, status: 'completed' } });
  });

  it('goes on in a full Redis, and uses no attempt where it cannot', async () => {
    const server = await startOwnRedis();
    const boss = connect({}, server.url);
    const { enqueue, queue, service, name } = await startThreads({ maxAttempts: 1 }, { redis: server.url });
    await queue.pause();
    const reports = await enqueue({ do: 'report all' });
    const adds = await service
      .batch({ finally: { name, payload: { do: 'return', n: 1 } } })
      .add(name, { do: 'add' });
    await boss.config('SET', 'maxmemory', '1');
    await queue.resume();
    await reports.result(SOON);
    const outage = expect.objectContaining({ outcome: 'outage' });
    await eventually(async () => (await adds.get())!.attemptLog.length > 0);
    expect(await adds.get()).toMatchObject({ attempts: 0, attemptLog: expect.arrayContaining([outage]) });
    await boss.config('SET', 'maxmemory', '0');
    await adds.result(SOON);
  });

  it('adds members to its sealed batch as a handler in the process does, with the same errors', async () => {
    const { service, name, queue } = await startThreads();
    const batch = service.batch({ id: 'grown', then: { name, payload: { do: 'grow late' } } });
    const member = await batch.add(name, { do: 'grow' });
    await batch.seal();
    const { added, refused } = (await member.result(SOON)) as Record<'added' | 'refused', unknown[]>;
    const handle = { id: expect.any(String), name, queue: name, outcome: 'new' };
    expect(added).toEqual([{ ...handle, id: 'one' }, handle, handle, handle]);
    expect(refused).toEqual([
      'InvalidPayloadError INVALID_PAYLOAD: payload.n: expected a value that JSON can carry, found a function (n).',
      'InvalidPayloadError INVALID_PAYLOAD: enqueueMany[1].payload.n: expected a finite number, found NaN.',
      'InvalidOptionError INVALID_OPTION: enqueueMany: expected an array of { payload, … }, found "pages".',
      'InvalidOptionError INVALID_OPTION: batch.add.unique: expected an option of a member, found "unique".',
      expect.stringMatching(/^InvalidOptionError INVALID_OPTION: enqueue\.priority: expected a whole number/),
      'InvalidOptionError INVALID_OPTION: batch.add: expected an object of enqueue options, found 7.',
      'InvalidPayloadError INVALID_PAYLOAD: payload.n: expected a number, found "four".',
      'InvalidPayloadError INVALID_PAYLOAD: enqueueMany[0].payload.n: expected a number, found "four".',
    ]);
    expect(await batch.wait(SOON)).toMatchObject({ total: 5, completed: 5 });
    expect((await batch.results()).members.map(({ result }) => result).slice(1)).toEqual([1, 2, 3, 4]);
    expect(await queue.get((added[3] as { id: string }).id)).toMatchObject({ priority: 3 });
    expect(await queue.result('@batch:grown:then', SOON)).toMatch(/^BatchSealedError BATCH_SEALED: /);
  });

  it('has the metadata of the job, among it the context of its trace, and is one span', async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    try {
      const middleware = [jobTracing({ tracer: provider.getTracer('test') })];
      const { enqueue, name } = await startThreads({}, { middleware });
      const job = await enqueue({ do: 'describe more' }, { metadata: { tenant: 'acme' } });
      const { metadata } = (await job.result(SOON)) as { metadata: Record<string, string> };
      await eventually(() => exporter.getFinishedSpans().length === 2);
      const spanOf = (what: string) => exporter.getFinishedSpans().find((span) => span.name === `${what} ${name}`);
      const [sent, attempt] = [spanOf('send'), spanOf('process')];
      const { traceId, spanId } = sent!.spanContext();
      expect(metadata).toEqual({ tenant: 'acme', traceparent: `00-${traceId}-${spanId}-01` });
      expect(attempt!.links[0]!.context).toMatchObject({ traceId, spanId });
    } finally {
      propagation.disable();
    }
  });

  it('reads a CommonJS file', async () => {
    const { run } = await startThreads({ thread: file('work.cjs') });
    expect(await run('this')).toBe('CommonJS did this');
  });

  it('takes a path, too', async () => {
    const { run } = await startThreads({ thread: WORK.pathname });
    expect(await run({ do: 'describe' })).toMatchObject({ isMainThread: false });
  });

  it('passes progress and log lines on', async () => {
    const { enqueue } = await startThreads();
    const job = await enqueue({ do: 'report' });
    expect(await job.result(SOON)).toBe('reported');
    const record = await job.get();
    expect(record).toMatchObject({ progress: { percent: 40 } });
    expect(record!.log.map(({ message }) => message)).toEqual(['half way']);
  });

  it('streams what it writes and yields', async () => {
    const { enqueue, service, name } = await startThreads();
    const { id } = await enqueue({ do: 'stream' });
    const found: unknown[] = [];
    for await (const { data } of service.stream(name, id)) found.push(data);
    expect(found).toEqual([Buffer.from([0, 255]), 'text', { json: 1 }, 'done']);
    await expect((await enqueue({ do: 'stream too much' }, { maxAttempts: 1 })).result(SOON)).rejects.toThrow(
      'chunk: expected at most 262144 bytes',
    );
  });

  it('passes on a progress report that it did not await', async () => {
    const { enqueue } = await startThreads();
    const job = await enqueue({ do: 'report in passing' });
    expect(await job.result(SOON)).toBe('reported');
    expect(await job.get()).toMatchObject({ progress: 99 });
  });

  it('runs as many jobs at once as its concurrency says, each in a thread', async () => {
    const { enqueue, queue } = await startThreads({ concurrency: 3 });
    const jobs = await Promise.all([1, 2, 3, 4].map(() => enqueue({ do: 'obey' })));
    await eventually(async () => {
      const records = await Promise.all(jobs.map((job) => job.get()));
      return records.filter((record) => record?.progress === 'waiting').length === 3;
    });
    expect(await queue.stats()).toMatchObject({ processing: 3, pending: 1 });
  });

  it('never has more threads than its concurrency', async () => {
    const { enqueue } = await startThreads({ concurrency: 2 });
    const jobs = await Promise.all(Array.from({ length: 20 }, () => enqueue({ do: 'describe' })));
    const found = (await Promise.all(jobs.map((job) => job.result(SOON)))) as { threadId: number }[];
    expect(new Set(found.map(({ threadId }) => threadId)).size).toBeLessThanOrEqual(2);
  });

  it('leaves the event loop and the heartbeats alone while it is busy', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'threads-'));
    const { enqueue, queue } = await startThreads({ visibilityMs: 300, maxAttempts: 1 });
    const { keys } = await inside(queue).scripts();
    const told = join(folder, 'told');
    const job = await enqueue({ do: 'spin', until: told, atMostMs: 8_000 });
    await eventually(async () => (await job.get())?.progress === 'spinning');
    const claimEnd = async () => Number(await inside(queue).connection.client.zscore(keys.claims, job.id));
    const first = await claimEnd();
    // Twice as long as the claim was: only heartbeats do that.
    await eventually(async () => (await claimEnd()) >= first + 600, { what: 'heartbeats' });
    // The thread ends at the request, which a blocked event loop could not do.
    writeFileSync(told, '');
    expect(await job.result(SOON)).toBe('told');
    expect(await job.get()).toMatchObject({ attempts: 1, crashes: 0 });
    rmSync(folder, { recursive: true });
  });

  it('fails an attempt by the error that it throws', async () => {
    const { enqueue } = await startThreads({ maxAttempts: 2 });
    const job = await enqueue({ do: 'throw' });
    await expect(job.result(SOON)).rejects.toMatchObject({
      name: 'JobFailedError',
      errorName: 'RangeError',
      reason: 'out of range',
      attempts: 2,
    });
    const [first] = (await job.get())!.attemptLog;
    expect(first!.error!.stack).toContain('work.mjs');
  });

  it('stores the causes of a thrown error', async () => {
    const { enqueue } = await startThreads({ maxAttempts: 1 });
    const job = await enqueue({ do: 'throw with causes' });
    await expect(job.result(SOON)).rejects.toMatchObject({ errorName: 'AggregateError' });
    expect((await job.get())!.attemptLog[0]!.error).toMatchObject({
      message: 'both',
      cause: { message: 'why', stack: expect.stringContaining('work.mjs') },
      errors: [{ name: 'TypeError', message: 'one' }, { message: 'two' }],
    });
  });

  it('can give a job up, and send it back for later', async () => {
    const { enqueue, run } = await startThreads();
    const lost = await enqueue({ do: 'give up' });
    await expect(lost.result(SOON)).rejects.toMatchObject({ errorName: 'Rejected', attempts: 1 });
    const { fence } = (await lost.get())!;
    expect(await run({ do: 'snooze', fence: fence! + 1 })).toBe('awake');
  });

  it('is told that it has no waits', async () => {
    const { run } = await startThreads();
    expect(await run({ do: 'wait' })).toEqual([
      expect.stringMatching(
        /^waitFor "approved": a handler in a thread has no waits\. Run the handler in the process/,
      ),
      expect.stringMatching(/^sleep 5 ms: a handler in a thread has no waits/),
    ]);
  });

  it('can rest the queue for a limit that it met, and its attempt does not count', async () => {
    const { enqueue } = await startThreads({ maxAttempts: 1 });
    const job = await enqueue({ do: 'meet a limit', retryAfterMs: 20 });
    expect(await job.result(SOON)).toBe('let in');
    expect(await job.get()).toMatchObject({ attempts: 1, rateLimited: 1 });
    const wrong = await enqueue({ do: 'meet a limit', retryAfterMs: 1e9 });
    await expect(wrong.result(SOON)).rejects.toThrow('retryAfterMs: expected a number of ms from 1 to a day');
  });

  it('fails an attempt whose result is no data', async () => {
    const { run } = await startThreads({ maxAttempts: 1 });
    await expect(run({ do: 'no data' })).rejects.toMatchObject({
      errorName: 'InvalidPayloadError',
      reason: 'result: expected a value that JSON can carry, found a function.',
    });
  });

  it('fails with the reason where the file has no default export', async () => {
    const { run } = await startThreads({ thread: file('no-default.mjs'), maxAttempts: 1 });
    await expect(run(null)).rejects.toThrow(/no-default\.mjs has no function as its default export/);
  });
});

it.each([
  ['by process.exit', { do: 'exit' }, /ended with code 3 before the job did/],
  ['by a stray error', { do: 'stray error' }, /before the job did: Error: stray/],
  ['out of memory', { do: 'fill memory' }, /ERR_WORKER_OUT_OF_MEMORY|memory/],
])('a thread that dies %s fails its own job alone', async (_, payload, message) => {
  const { enqueue, run, service, name } = await startThreads({
    concurrency: 2,
    thread: { file: WORK, resourceLimits: { maxOldGenerationSizeMb: 32 } },
  });
  const other = await enqueue({ do: 'obey' });
  await eventually(async () => (await other.get())?.progress === 'waiting');
  const doomed = await service.enqueue(name, payload, { maxAttempts: 1 });
  await expect(doomed.result(SOON)).rejects.toMatchObject({
    errorName: 'ThreadCrashedError',
    reason: expect.stringMatching(message),
  });
  expect(await doomed.get()).toMatchObject({ status: 'failed', errors: 1, crashes: 0 });
  expect(await other.get()).toMatchObject({ status: 'processing', attempts: 1 });
  expect(await run({ do: 'describe' })).toMatchObject({ jobsHere: 1 }); // in a new thread
});

it('a thread that dies without a job harms nothing', async () => {
  const { run } = await startThreads({ concurrency: 1 });
  expect(await run({ do: 'stray error afterwards' })).toBe('returned');
  await eventually(async () => ((await run({ do: 'describe' })) as { jobsHere: number }).jobsHere === 1);
});

describe('a thread that does not even start', () => {
  it('fails its own job, and so does the next', async () => {
    const { run } = await startThreads({
      maxAttempts: 1,
      thread: { file: WORK, resourceLimits: { maxOldGenerationSizeMb: 1 } },
    });
    const crash = {
      errorName: 'ThreadCrashedError',
      reason: expect.stringMatching(/ERR_WORKER_OUT_OF_MEMORY|memory/),
    };
    await expect(run({ do: 'describe' })).rejects.toMatchObject(crash);
    await expect(run({ do: 'describe' })).rejects.toMatchObject(crash);
  });

  it('does so where it fails to load its file, which the next tries again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'threads-'));
    const broken = join(folder, 'work.mjs');
    writeFileSync(broken, 'throw new RangeError("not yet");');
    const { run } = await startThreads({ thread: broken, concurrency: 1, maxAttempts: 1 });
    await expect(run(null)).rejects.toMatchObject({ errorName: 'RangeError', reason: 'not yet' });
    writeFileSync(broken, 'export default () => "now";');
    expect(await run(null)).toBe('now');
    rmSync(folder, { recursive: true });
  });
});

describe('the abort of a job in a thread', () => {
  it('reaches its signal with the reason', async () => {
    const { enqueue, service, name } = await startThreads({ visibilityMs: 300 });
    const job = await enqueue({ do: 'obey' });
    await eventually(async () => (await job.get())?.progress === 'waiting');
    expect(await service.cancel(name, job.id)).toBe('requested');
    await expect(job.result(SOON)).rejects.toMatchObject({ name: 'JobCancelledError' });
    const { attemptLog } = (await job.get())!;
    expect(attemptLog.at(-1)!.error!.message).toContain(`stopped because of JobCancelledError: Job ${job.id}`);
  });

  it('ends the thread when the job ignores it for the grace', async () => {
    const { enqueue, run } = await startThreads({
      concurrency: 1,
      maxAttempts: 1,
      thread: { file: WORK, graceMs: 50 },
    });
    const job = await enqueue({ do: 'ignore' }, { timeoutMs: 300 });
    await expect(job.result(SOON)).rejects.toMatchObject({ errorName: 'HandlerTimeoutError' });
    // The only slot is free again, and its thread a new one.
    expect(await run({ do: 'describe' })).toMatchObject({ jobsHere: 1 });
  });

  it('comes at the shutdown, which waits for no thread beyond its deadline', async () => {
    const { app, enqueue } = await startThreads(
      { thread: { file: WORK, graceMs: 60_000 } },
      { shutdownTimeoutMs: 500 },
    );
    const job = await enqueue({ do: 'ignore' });
    await eventually(async () => (await job.get())?.progress === 'waiting');
    await within(6_000, 'the close', app.close());
  });
});

it('a thread inside native code holds up no shutdown', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'threads-'));
  const { app, enqueue } = await startThreads({}, { shutdownTimeoutMs: 500 });
  const job = await enqueue({ do: 'native code', until: join(folder, 'end') });
  await eventually(async () => (await job.get())?.progress === 'waiting');
  await within(6_000, 'the close', app.close());
  writeFileSync(join(folder, 'end'), '');
});

/** Returns the error with which an app with such a handler fails to boot. */
async function bootError(options: object, handler: object = {}) {
  @JobHandler(uniqueQueueName(), options as JobHandlerOptions)
  class Handler {}
  Object.assign(Handler.prototype, handler);
  const app = await compileApp({ providers: [Handler] });
  const error: unknown = await app.init().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidOptionError);
  return (error as Error).message;
}

describe('the app does not boot with', () => {
  it.each([
    ['a file that is not there', { thread: file('nowhere.mjs') }, 'thread: expected a file that exists'],
    ['a relative path', { thread: './threads/work.mjs' }, 'thread: expected a file URL or an absolute path'],
    ['a URL of another kind', { thread: new URL('https://example.com/a.js') }, 'file URL'],
    ['a number', { thread: 4 }, 'thread: expected a file URL, an absolute path, or { file, … }, found 4'],
    ['no file', { thread: { graceMs: 5 } }, 'thread.file: expected a file URL'],
    ['a negative grace', { thread: { file: WORK, graceMs: -1 } }, 'thread.graceMs: expected a whole number'],
    ['an unknown option', { thread: { file: WORK, grace: 5 } }, 'thread.grace: expected a known option'],
    [
      'an unknown limit',
      { thread: { file: WORK, resourceLimits: { maxOldGenerationSizeMB: 5 } } },
      'thread.resourceLimits.maxOldGenerationSizeMB: expected a known option',
    ],
    [
      'a bad limit',
      { thread: { file: WORK, resourceLimits: { stackSizeMb: 0 } } },
      'thread.resourceLimits.stackSizeMb: expected a number of MB above 0',
    ],
  ])('%s', async (_, options, message) => {
    expect(await bootError(options)).toContain(message);
  });

  it('a handle beside the thread', async () => {
    const message = await bootError({ thread: WORK }, { handle: () => undefined });
    expect(message).toContain('thread: expected a class without handle, since the file does the work');
  });
});
