// Nothing that a handler throws or returns, and no listener or logger, keeps an attempt from its settlement.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { RetryLaterError } from '#queue/errors/errors.js';
import { gate } from '../../support/faults/wait.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const BRAND = Symbol.for('nest-job-queue:brand');

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});

afterEach(async () => {
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

function raise(what: unknown = new Error('no')): never {
  throw what;
}

function retryLater(delayMs: unknown): unknown {
  return Object.assign(new RetryLaterError(1), { delayMs });
}

const throwingGetter = (key: string) => Object.defineProperty({ [BRAND]: 'RetryLaterError' }, key, { get: raise });

onEachStore('a thrown error that only looks like a RetryLaterError fails its attempt', () => {
  it.each<[string, unknown]>([
    ['with NaN', retryLater(Number.NaN)],
    ['with Infinity', retryLater(Infinity)],
    ['with a negative delay', retryLater(-1)],
    ['with text', retryLater('5')],
    ['with a BigInt', retryLater(5n)],
    ['with a symbol', retryLater(Symbol('x'))],
    ['with an object that throws', retryLater({ valueOf: raise, toString: raise })],
    ['without a delay', { [BRAND]: 'RetryLaterError' }],
    ['whose delay throws when it is read', throwingGetter('delayMs')],
    ['whose brand throws when it is read', Object.defineProperty({}, BRAND, { get: raise })],
    ['that is a proxy which throws', new Proxy({}, { get: raise, getPrototypeOf: raise, ownKeys: raise })],
  ])('%s', async (_, thrown) => {
    const queue = newQueue({ maxAttempts: 2 });
    const { id } = await queue.enqueue({ bad: true });
    const others = await queue.enqueueMany(Array.from({ length: 40 }, () => ({ payload: {} })));
    const handler = ({ payload }: { payload: { bad?: boolean } }) => (payload.bad ? raise(thrown) : 'done');
    const worker = await startWorker(queue, handler);
    await worker.event('completed', others.length);
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 2, errors: 2 });
    expect(worker.count('released')).toBe(0);
  });
});

onEachStore('a returned value that cannot be read fails its attempt', () => {
  it.each<[string, () => unknown]>([
    ['with a then that throws', () => new Proxy({}, { get: raise })],
    [
      'with a then that throws when it is called',
      () => new Proxy({}, { get: (_target, key) => (key === 'then' ? raise : undefined) }),
    ],
    [
      'with a getter that throws',
      () => ({ nested: Object.defineProperty({}, 'a', { get: raise, enumerable: true }) }),
    ],
    ['of a promise that rejects with a proxy', () => Promise.reject(new Proxy({}, { get: raise }))],
  ])('%s', async (_, handler) => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, handler);
    await worker.event('failed');
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 1 });
  });
});

it.each<[string, () => number]>([
  ['throws what cannot be read', () => raise(new Proxy({}, { get: raise, getPrototypeOf: raise }))],
  ['answers NaN', () => Number.NaN],
  ['answers Infinity', () => Infinity],
  ['answers a BigInt', () => 5n as never],
])('a backoff function that %s does not keep the error of the job from its store', async (_, backoff) => {
  const queue = newQueue({ maxAttempts: 2, backoff });
  const { id } = await queue.enqueue({});
  const worker = await startWorker(queue, () => raise(new Error('its own')));
  await worker.event('failed');
  expect((await queue.get(id))!.attemptLog[0]!.error!.message).toMatch(/^its own/);
});

it('an unawaited report of a job whose claim is lost does not end the process', async () => {
  const queue = newQueue();
  const { id } = await queue.enqueue({});
  const { keys } = await inside(queue).scripts();
  const aborted = gate();
  const worker = await startWorker(queue, async (job) => {
    await inside(queue).connection.client.hset(keys.job(id), 'claim_token', 'of another');
    void job.progress({ percent: 1 });
    void job.log('half way');
    void job.log(5 as never);
    job.signal.addEventListener('abort', () => aborted.open());
    await aborted.promise;
  });
  await aborted.promise;
  await worker.worker.stop();
  await queue.purge({ confirm: queue.name });
});

it('a logger that throws, and listeners that throw and reject, keep no job from its end', async () => {
  const queue = newQueue({ maxAttempts: 2, visibilityMs: 150 });
  const logger = { log: raise, warn: raise, error: () => Promise.reject(new Error('no log')) };
  const jobs = await queue.enqueueMany(Array.from({ length: 3 }, () => ({ payload: {} })));
  let calls = 0;
  const onEvent = () => (calls++ % 2 ? raise() : (Promise.reject(new Error('listener')) as never));
  const worker = await startWorker(queue, () => raise(), {
    logger,
    onEvent,
    logFailures: true,
    sweepIntervalMs: 20,
  });
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  const failing = new Set<string>(); // of the heartbeat and the sweep, which then log
  inside(queue).runner.run = async (call) => {
    const fails = call.script !== 'get' && !failing.has(call.script) && failing.add(call.script);
    return fails ? raise(new Error('away')) : run(call);
  };
  await worker.event('failed', 3);
  for (const { id } of jobs) expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 2 });
});
