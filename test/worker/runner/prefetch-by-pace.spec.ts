// The default prefetch of a worker, without `prefetch`: quick jobs, and no more than start at once or soon.
import { describe, expect, it, jest } from '@jest/globals';
import type { Attempt } from '#worker/attempt/attempt.js';
import { Prefetcher } from '#worker/runner/prefetcher.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Job } from '#worker/handlers/job.js';
import { behindProxy } from '../../support/browser/behind-proxy.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** Shows that nothing happens: longer than a prefetched job waits before its release. */
const LONGER_THAN_A_WAIT_MS = 150;

/** The payload of a job that runs until the test ends it. */
const LONG = -1;

/** Makes a prefetcher, and keeps the attempts that it releases. */
function prefetcherOf(concurrency: number, prefetch?: number) {
  const back: Attempt[] = [];
  const clock = new VirtualClock(0);
  const release = (attempt: Attempt) => void back.push(attempt);
  const owner = { clock, claims: { inFlight: 0 }, capacity: { hasOwnSlot: false }, host: {}, release };
  const prefetcher = new Prefetcher(concurrency, prefetch, owner);
  /** Ends `jobs` jobs until `now` that ran for `ranMs` each, and returns the room for more. */
  const end = (jobs: number, now: number, ranMs = 1) => {
    for (let i = 0; i < jobs; i++) prefetcher.jobEnded(ranMs);
    prefetcher.measure(now);
    return prefetcher.room;
  };
  prefetcher.measure(0);
  return { prefetcher, owner, back, clock, end };
}

const attempt = (id: string) => ({ id }) as Attempt;

describe('the limit of prefetched jobs', () => {
  it('is nothing before a job has ended', () => {
    const { prefetcher, end } = prefetcherOf(1);
    expect([prefetcher.room, prefetcher.roomForWait]).toEqual([0, 0]);
    expect(end(0, 1_000)).toBe(0);
  });

  it.each([
    ['as many as ended within 7 ms', 1, 3, 7, 3],
    ['as many as end within 7 ms at that pace', 1, 4, 14, 2],
    ['one where a job takes 5 ms, and claims follow each other', 1, 10, 60, 1],
    ['nothing where a job takes longer', 1, 100, 701, 0],
    ['ten, enough for a claim, while a trip takes no time', 1, 1_000, 5, 10],
    ['as many for many slots', 50, 1_000, 5, 10],
  ])('is %s', (_, concurrency, jobs, ms, room) => {
    const { end } = prefetcherOf(concurrency);
    end(jobs, ms);
    expect(end(jobs, 2 * ms)).toBe(room);
  });

  it.each([
    ['what ends while a claim and a settlement travel', 50, 0.5, 20],
    ['no more than starts within 7 ms, however long a trip takes', 50, 8, 140],
  ])('is %s', (_, concurrency, tripMs, room) => {
    const { prefetcher, end } = prefetcherOf(concurrency);
    for (let i = 0; i < 100; i++) prefetcher.tripEnded(tripMs);
    end(100, 5);
    expect(end(100, 10)).toBe(room);
  });

  it('adds up to a hundred with the running jobs, where handlers end at once', () => {
    const rooms = [1, 10, 50, 100, 200].map((concurrency) => {
      const { prefetcher, end } = prefetcherOf(concurrency);
      for (let i = 0; i < 100; i++) prefetcher.tripEnded(5);
      end(1_000, 5, 0);
      return end(1_000, 10, 0);
    });
    expect(rooms).toEqual([99, 90, 50, 0, 0]);
  });

  it('is nothing for long jobs, whatever the concurrency: they would wait', () => {
    for (const concurrency of [1, 10, 35]) {
      const { prefetcher, end } = prefetcherOf(concurrency);
      for (let i = 0; i < 100; i++) prefetcher.tripEnded(2);
      end(concurrency, 250, 250);
      expect([concurrency, end(concurrency, 500, 250)]).toEqual([concurrency, 0]);
    }
  });

  it('is by the lower of two paces', () => {
    const { end } = prefetcherOf(1);
    expect([end(3, 5), end(9, 10), end(6, 15), end(9, 20)]).toEqual([0, 4, 8, 8]);
  });

  it('is nothing where long jobs that began together end together', () => {
    const { end } = prefetcherOf(10);
    const rooms = [200, 400, 600].flatMap((ms) => [0, 3, 6, 9, 12].map((late) => end(2, ms + late)));
    expect(Math.max(...rooms)).toBe(0);
  });

  it('is measured where all slots had a turn, or 50 ms are over', () => {
    const { end } = prefetcherOf(10);
    expect([end(10, 5), end(9, 15), end(1, 20), end(7, 69)]).toEqual([0, 0, 4, 4]);
    expect(end(0, 70)).toBe(0);
  });

  it('is measured again once 5 ms are over', () => {
    const { end } = prefetcherOf(1);
    expect([end(3, 5), end(3, 10), end(9, 14), end(0, 15), end(0, 65)]).toEqual([0, 4, 4, 4, 0]);
  });

  it('is claimed for half at a time, so that a claim brings several jobs; with prefetch each alone', () => {
    const { prefetcher, end } = prefetcherOf(1);
    end(5, 5);
    expect([prefetcher.leastPerClaim, end(5, 10), prefetcher.leastPerClaim]).toEqual([0, 7, 4]);
    expect(prefetcherOf(1, 7).prefetcher.leastPerClaim).toBe(1);
  });

  it('is the number in prefetch, always', () => {
    const { prefetcher, end } = prefetcherOf(20, 7);
    expect([prefetcher.room, prefetcher.roomForWait, end(0, 1_000), end(1_000, 1_005)]).toEqual([7, 7, 7, 7]);
  });
});

describe('a prefetched job', () => {
  it('comes in its order', () => {
    const { prefetcher, back } = prefetcherOf(1);
    ['a', 'b', 'c'].forEach((id) => prefetcher.add(attempt(id), 0));
    expect(prefetcher.next()!.attempt).toEqual(attempt('a'));
    prefetcher.releaseWaiting();
    expect(back).toEqual([attempt('b'), attempt('c')]);
    expect([prefetcher.isEmpty, prefetcher.next()]).toEqual([true, undefined]);
  });

  it('goes back where it waits for long, and nothing is prefetched for a second, later for longer', async () => {
    const { prefetcher, back, clock, end } = prefetcherOf(1);
    end(3, 5);
    expect(end(3, 10)).toBe(4);
    ['a', 'b'].forEach((id) => prefetcher.add(attempt(id), 0));
    await clock.advance(9);
    expect(back).toEqual([]);
    await clock.advance(1);
    expect(back).toEqual([attempt('a'), attempt('b')]);
    expect([prefetcher.room, prefetcher.isEmpty]).toEqual([0, true]);
    expect(end(1_000, 1_009)).toBe(0);
    end(1_000, 1_020);
    expect(end(1_000, 1_030)).toBeGreaterThan(0);
    await clock.advance(1_020);
    prefetcher.add(attempt('c'), 0);
    await clock.advance(10); // at 1,040
    end(1_000, 2_500);
    expect([back.length, end(1_000, 3_039)]).toEqual([3, 0]);
    end(1_000, 3_050);
    expect(end(1_000, 3_060)).toBeGreaterThan(0);
  });

  it('stays while the job before it begins', async () => {
    const { prefetcher, back, clock } = prefetcherOf(1);
    prefetcher.add(attempt('a'), 0);
    await clock.advance(2);
    prefetcher.next();
    prefetcher.add(attempt('b'), 0);
    await clock.advance(9); // the first look, for a, finds that b has waited less
    expect(back).toEqual([]);
    await clock.advance(3);
    expect(back).toEqual([attempt('b')]);
  });

  it('I8: stays while a claim is in flight, then goes back with its jobs', async () => {
    const { prefetcher, owner, back, clock } = prefetcherOf(1);
    owner.claims.inFlight = 1;
    prefetcher.add(attempt('a'), 0);
    await clock.advance(LONGER_THAN_A_WAIT_MS);
    expect(back).toEqual([]);
    owner.claims.inFlight = 0;
    prefetcher.add(attempt('b'), 0);
    await clock.advance(50);
    expect(back).toEqual([attempt('a'), attempt('b')]);
  });

  it('stays for as long again if the process was suspended, and the job before it too', async () => {
    const { prefetcher, back, clock } = prefetcherOf(1);
    prefetcher.add(attempt('a'), 0);
    await clock.jump(LONGER_THAN_A_WAIT_MS);
    expect(back).toEqual([]);
    await clock.advance(50);
    expect(back).toEqual([attempt('a')]);
  });

  it('stays where prefetch asked for it', async () => {
    const { prefetcher, back, clock } = prefetcherOf(1, 2);
    prefetcher.add(attempt('a'), 0);
    await clock.advance(LONGER_THAN_A_WAIT_MS);
    expect(back).toEqual([]);
  });
});

describe('a worker without prefetch', () => {
  it('prefetches quick jobs, runs them in their order, and releases them if one turns out to be long', async () => {
    const queue = newQueue();
    const payloads = [...Array(500).keys(), LONG, ...Array(20).keys()];
    const jobs = payloads.map((payload) => ({ payload }));
    let [ran, long] = [[] as number[], gate()];
    const handle = ({ payload }: Job<number>) => {
      ran.push(payload);
      return payload === LONG ? long.promise : undefined;
    };
    const handlers = { [queue.name]: handle };
    const worker = await startWorker([{ queue, concurrency: 1, handlers }]);
    // On a machine that is slow at the moment nothing is prefetched: then once more.
    for (let round = 0; round < 10 && worker.count('released') === 0; round++) {
      [ran, long] = [[], gate()];
      await queue.enqueueMany(jobs);
      await eventually(() => ran.includes(LONG));
      await eventually(async () => (await queue.stats()).pending === 20);
      long.open();
      await eventually(() => ran.length === jobs.length);
      expect(ran).toEqual(payloads);
    }
    expect(worker.count('released')).toBeGreaterThan(0);
    const [back] = worker.events.filter(({ type }) => type === 'released');
    await worker.event('completed', 1, { id: back!.job.id });
    const job = (await queue.get(back!.job.id))!;
    expect(job).toMatchObject({ attempts: 1, interruptions: 1, errors: 0, crashes: 0 });
    expect(job.attemptLog.map(({ outcome }) => outcome)).toEqual(['interruption', 'completed']);
  });

  it.each([10, 50])('prefetches quick jobs for %s slots too', async (concurrency) => {
    const queue = newQueue();
    const started = jest.spyOn(await inside(queue).scripts(), 'start');
    const worker = await startWorker([{ queue, concurrency, handlers: { [queue.name]: () => undefined } }]);
    const before = started.mock.calls.length; // so that the server knows the script
    // On a machine that is slow at the moment nothing is prefetched: then once more.
    for (let round = 1; round <= 10 && started.mock.calls.length === before; round++) {
      await queue.enqueueMany(Array.from({ length: 1_000 }, (_, i) => ({ payload: i })));
      await worker.event('completed', 1_000 * round);
    }
    expect(started.mock.calls.length).toBeGreaterThan(before);
  });

  it('prefetches for the slots that its queues share', async () => {
    const queues = [newQueue(), newQueue(), newQueue()];
    const started = await Promise.all(
      queues.map(async (queue) => jest.spyOn(await inside(queue).scripts(), 'start')),
    );
    const served = queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
    const worker = await startWorker(served, undefined, { concurrency: 2 });
    const counts = () => started.map(({ mock }) => mock.calls.length);
    const before = counts();
    const jobs = Array.from({ length: 200 }, (_, i) => ({ payload: i }));
    // On a machine that is slow at the moment nothing is prefetched: then once more.
    for (let round = 1; round <= 10 && counts().some((count, i) => count === before[i]); round++) {
      await Promise.all(queues.map((queue) => queue.enqueueMany(jobs)));
      await worker.event('completed', 600 * round);
    }
    counts().forEach((count, i) => expect(count).toBeGreaterThan(before[i]!));
  });

  it('prefetches nothing where a round trip takes more than 7 ms, since no pace is seen', async () => {
    const { proxy, queue, other } = await behindProxy();
    proxy.delay(4);
    const started = jest.spyOn(await inside(queue).scripts(), 'start');
    const worker = await startWorker([{ queue, concurrency: 1, handlers: { [queue.name]: () => undefined } }]);
    const before = started.mock.calls.length;
    await other.enqueueMany(Array.from({ length: 50 }, (_, i) => ({ payload: i })));
    await worker.event('completed', 50);
    expect(started.mock.calls.length).toBe(before);
  });

  it.each([
    ['with as many slots as it would have jobs at hand', { concurrency: 100 }, {}],
    ['where prefetch forbids it', { concurrency: 1, prefetch: 0 }, {}],
    ['where prefetch forbids it for slots of the process', { concurrency: 5, prefetch: 0 }, { concurrency: 1 }],
  ])('prefetches nothing %s', async (_, slots, options) => {
    const queue = newQueue();
    const started = jest.spyOn(await inside(queue).scripts(), 'start');
    const list = [{ queue, ...slots, handlers: { [queue.name]: () => undefined } }];
    const worker = await startWorker(list, undefined, options);
    const before = started.mock.calls.length; // so that the server knows the script
    await queue.enqueueMany(Array.from({ length: 100 }, (__, i) => ({ payload: i })));
    await worker.event('completed', 100);
    expect([before, started.mock.calls.length]).toEqual([1, 1]);
  });

  it('is not behind with its fetches while a long job follows quick ones, and nothing else waits', async () => {
    const queue = newQueue();
    const long = gate();
    const handle = ({ payload }: Job<number>) => (payload === LONG ? long.promise : undefined);
    const worker = await startWorker([{ queue, concurrency: 1, handlers: { [queue.name]: handle } }]);
    await queue.enqueueMany([...Array(500).keys(), LONG].map((payload) => ({ payload })));
    await worker.event('completed', 500);
    await sleep(LONGER_THAN_A_WAIT_MS);
    expect(worker.worker.sinceLastFetchMs).toBe(0);
    long.open();
  });
});
