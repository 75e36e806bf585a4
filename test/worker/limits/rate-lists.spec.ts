// A queue with several rates of its own: such as a limit per minute and per hour.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import { verdictOf } from '#inspect/verdict.js';
import { readSigns } from '#inspect/signs.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const MINUTE_MS = 60_000;
const PER_MINUTE = { limit: 60, periodMs: MINUTE_MS, burst: 5 };
const LONG_MS = 10 * MINUTE_MS;
const IN_LONG = { limit: 120, periodMs: LONG_MS, burst: 60 };

const many = (count: number) => Array.from({ length: count }, (_, payload) => ({ payload }));

it('keeps all its rates over two workers, by virtual time', async () => {
  const clock = new VirtualClock();
  const server = new ScriptServer(() => clock.now());
  const starts: number[] = [];
  const queueOf = (store = new ScriptStore(clock, { server })) =>
    new JobQueue(store, 'mail', { rateLimit: [PER_MINUTE, IN_LONG] });
  const handle = () => void starts.push(clock.now());
  const workers = [1, 2].map(() => new Worker([{ queue: queueOf(), handlers: { mail: handle } }]));
  const started = Promise.all(workers.map((worker) => worker.start()));
  await clock.advance(10);
  await started;
  const adding = queueOf().enqueueMany(many(300));
  await clock.advance(10);
  await adding;
  await clock.advance(12 * MINUTE_MS);
  const mostIn = (ms: number) =>
    Math.max(...starts.map((at) => starts.filter((other) => other >= at && other < at + ms).length));
  expect(mostIn(MINUTE_MS)).toBeLessThanOrEqual(PER_MINUTE.limit + PER_MINUTE.burst);
  expect(mostIn(LONG_MS)).toBeLessThanOrEqual(IN_LONG.limit + IN_LONG.burst);
  // At first the rate of a minute decides, and then that of the longer time.
  const first = starts[0]!;
  expect(starts.filter((at) => at < first + MINUTE_MS).length).toBeGreaterThanOrEqual(0.9 * PER_MINUTE.limit);
  expect(starts.length).toBeGreaterThanOrEqual(0.9 * (IN_LONG.burst + 1.2 * IN_LONG.limit));
  const stopped = Promise.all(workers.map((worker) => worker.stop({ timeoutMs: 0 })));
  await clock.advance(1_000);
  await stopped;
});

onEachStore('a list of rates', () => {
  it('makes a limit of the queue, which is read, set and paused by its name', async () => {
    const queue = newQueue({ rateLimit: [PER_MINUTE, IN_LONG] });
    const worker = await startWorker(queue, () => undefined);
    await queue.enqueueMany(many(20));
    await worker.event('completed', 5); // the burst
    const own = queue.sharedLimit(`@queue:${queue.name}`);
    await eventually(async () => (await own.get()).waiting.includes(queue.name));
    expect(await own.get()).toMatchObject({ rateLimit: [PER_MINUTE, IN_LONG], source: 'configuration' });
    expect((await queue.limits.get()).rateLimit).toBeUndefined();
    expect((await queue.workers())[0]).toMatchObject({ limits: [`@queue:${queue.name}`] });
    await own.set({ rateLimit: { limit: 1_000_000, periodMs: 1_000, burst: 100 } });
    await worker.event('completed', 20);
  });

  it('of one rate is that rate, and of none is none', async () => {
    for (const rateLimit of [[PER_MINUTE], []]) {
      const queue = newQueue({ rateLimit });
      const worker = await startWorker(queue, () => undefined);
      await queue.enqueue(1);
      await worker.event('completed');
      expect((await queue.limits.get()).rateLimit).toEqual(rateLimit[0]);
      expect((await queue.workers())[0]).not.toHaveProperty('limits');
    }
  });

  it('is named in the verdict of a queue that waits for it', async () => {
    const queue = newQueue({ rateLimit: [{ ...PER_MINUTE, burst: 1 }, IN_LONG] });
    const worker = await startWorker(queue, () => undefined);
    await queue.enqueueMany(many(3));
    await worker.event('completed');
    const own = queue.sharedLimit(`@queue:${queue.name}`);
    await eventually(async () => (await own.get()).waiting.includes(queue.name));
    const signs = await readSigns(queue);
    const old = { ...signs.stats, oldestPendingAgeMs: 120_000, oldestUnheldAgeMs: 120_000 };
    expect(verdictOf({ ...signs, stats: old })).toMatchObject({
      state: 'limited',
      summary: 'limited by its rates; 2 waiting for 2 min',
      cause: 'the queue has used up one of its rates: 60 in 1 min; 120 in 10 min, 60 at once',
    });
  });
});

it('an enqueue with a cost is refused where the code has several rates', async () => {
  const queue = newQueue({ rateLimit: [PER_MINUTE, IN_LONG] });
  await expect(queue.enqueue(1, { cost: 2 })).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    subject: 'cost',
    hint: expect.stringContaining('limits: [{ limit, cost: { most } }]'),
  });
});

it.each([
  ['limits', { limits: ['@queue:mail'] }, 'a name that does not begin with @queue:'],
  ['rateLimit', { rateLimit: Array.from({ length: 9 }, () => PER_MINUTE) }, 'a list of at most 8'],
  ['rateLimit', { rateLimit: [{ limit: 1 }] }, 'periodMs'],
])('refuses %s that are none', (_, options, said) => {
  expect(() => newQueue(options as never)).toThrow(said);
});
