// No job waits behind a busy slot while another worker is free: workers of unequal pace, in virtual time.
import { expect, it, jest } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { Fields } from '#memory/server/observed-server.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Job } from '#worker/handlers/job.js';
import { Prefetcher, PrefetchLimit } from '#worker/runner/prefetcher.js';
import { Worker } from '#worker/worker.js';
import { isMarked, viewOf } from '../../support/memory/memory-view.js';
import { casesOf, someOf } from '../../support/run/samples.js';

const TRIP_MS = 1;

interface Work {
  ms: number;
}

interface Fleet {
  /** How many times as long as others each worker needs. */
  paces: readonly number[];
  concurrency: number;
  /** With several queues, each worker has these slots for all of them. */
  queues?: number;
  /** The number of groups that the jobs are in. */
  groups?: number;
  /** Set for the planted fault: ahead without a bound. */
  prefetch?: number;
  limits?: Pick<QueueOptions, 'maxRunning' | 'rateLimit'>;
}

/** Returns a server in virtual time, and a link to it whose trips take time. */
function newServer() {
  const clock = new VirtualClock(0);
  const server = new ScriptServer(() => clock.now());
  const link: StoreLink = async (_, call) => {
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, TRIP_MS / 2));
    const reply = call();
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, TRIP_MS / 2));
    return reply;
  };
  return { clock, server, link };
}

/** Runs a fleet until `jobs` are done. They come in bursts, so that the queue is shallow. */
async function run(
  { paces, concurrency, queues = 1, groups, prefetch, limits }: Fleet,
  bursts: readonly (readonly number[])[],
) {
  const { clock, server, link } = newServer();
  const names = Array.from({ length: queues }, (_, i) => `work${i}`);
  const open = () => {
    const store = new ScriptStore(clock, { server, link });
    return names.map((name) => new JobQueue(store, name, limits));
  };
  const started = new Set<string>();
  const holds: number[] = [];
  const order: number[] = [];
  let done = 0;
  const workers = paces.map((pace, i) => {
    const handle = async (job: Job<Work>) => {
      started.add(keyOf(job));
      holds.push(clock.now() - job.claimedAt.getTime());
      order.push(Number(job.id));
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, job.payload.ms * pace));
      done++;
    };
    const served = open().map((queue) => ({
      queue,
      concurrency,
      handlers: { [queue.name]: handle },
      ...(prefetch && { prefetch }),
    }));
    const shared = queues > 1 && { concurrency };
    return new Worker(served, { id: `w${i}`, sweepIntervalMs: 0, logFailures: false, ...shared });
  });
  const starting = Promise.all(workers.map((worker) => worker.start()));
  await clock.advance(50);
  await starting;
  const producers = open();
  const stored = await Promise.all(producers.map(viewOf));
  const held = () =>
    stored.flatMap((view) => {
      const isHeld = (id: string) => !started.has(keyOf({ id, fence: view.field(view.keys.job(id), 'fence') }));
      return view.claims.members().filter(isHeld).map((id): Fields => ({ ...view.job(id), id })); // prettier-ignore
    });
  /** How long each claimed job has waited for its start, in ms, while a worker had a free slot. */
  let waits = new Map<string, number>();
  let longestWaitMs = 0;
  /** The jobs that waited, and that the death of their worker would charge. */
  let charged = 0;
  let total = 0;
  for (let at = 0; at < bursts.length || done < total; at++) {
    const burst = bursts[at] ?? [];
    const first = total;
    const added = burst.map((ms, i) => ({
      id: String(first + i),
      payload: { ms },
      ...(groups !== undefined && { group: `g${(first + i) % groups}` }),
    }));
    producers.forEach((producer, q) => {
      const own = added.filter(({ id }) => Number(id) % queues === q);
      void (own.length > 0 && producer.enqueueMany(own));
    });
    total += burst.length;
    await clock.advance(1);
    const isIdle = workers.some(({ running }) => running < concurrency);
    const waiting = held();
    const inFlightMs = 2 * TRIP_MS;
    charged += waiting.filter(
      (job) => !isMarked(job) && clock.now() - Number(job['claimed_at_ms']) > inFlightMs,
    ).length;
    waits = new Map(waiting.map((job) => [keyOf(job), isIdle ? (waits.get(keyOf(job)) ?? 0) + 1 : 0]));
    longestWaitMs = Math.max(longestWaitMs, ...waits.values());
  }
  const doneAtMs = clock.now();
  const stopping = workers.map((worker) => worker.stop({ timeoutMs: 0 }));
  await clock.advance(10_000);
  await Promise.all(stopping);
  const leaked = workers.filter((worker) => {
    const { shared } = worker['parts'].slots;
    return shared && shared.room.slots !== concurrency;
  }).length;
  const ahead = holds.filter((ms) => ms > 2 * TRIP_MS).length;
  const p99 = holds.toSorted((a, b) => a - b)[Math.floor(holds.length * 0.99)]!;
  return { ahead, charged, leaked, p99, longestWaitMs, order, runs: order.length, total, doneAtMs };
}

const keyOf = ({ id, fence }: { id?: string; fence?: string | number | undefined }) => `${id} ${fence}`;

/** The length of the longest jobs, in ms. */
const LONGEST_MS = 10_000;

/** Draws bursts of short jobs, with a long one now and then: of up to a second, or of ten. */
function shallow(seed: number, count: number): number[][] {
  const clock = new VirtualClock(0, seed);
  const long = () => (clock.random() < 0.3 ? LONGEST_MS : 100 + Math.floor(clock.random() * 900));
  const draw = () => (clock.random() < 0.01 ? long() : 1 + clock.random() * 2);
  return Array.from({ length: count }, () =>
    Array.from({ length: clock.random() < 0.3 ? Math.floor(clock.random() * 40) : 1 }, draw),
  );
}

const fleets: [string, Fleet][] = [
  ['two workers', { paces: [1, 3], concurrency: 2 }],
  ['three workers with one slot each', { paces: [1, 1, 5], concurrency: 1 }],
  ['eight workers with twenty slots each', { paces: [1, 1, 1, 2, 2, 4, 4, 8], concurrency: 20 }],
  ['two workers that share their slots among ten queues', { paces: [1, 3], concurrency: 2, queues: 10 }],
  ['four workers that share their slots among three queues', { paces: [1, 1, 2, 5], concurrency: 10, queues: 3 }],
  ['four workers with jobs of five groups', { paces: [1, 1, 3, 5], concurrency: 5, groups: 5 }],
];

it('the bursts have jobs of ten seconds beside jobs of some milliseconds', () => {
  const lengths = shallow(7, 150).flat();
  expect([Math.max(...lengths), Math.min(...lengths) < 2]).toEqual([LONGEST_MS, true]);
});

it.each(someOf(fleets, 3))('%s hold no job for 10 ms while one of them is idle', async (_, fleet) => {
  const { ahead, charged, leaked, p99, longestWaitMs, runs, total } = await run(
    fleet,
    shallow(7, casesOf(150, 60)),
  );
  expect(runs).toBe(total);
  expect(ahead).toBeGreaterThan(0);
  expect([charged, leaked]).toEqual([0, 0]);
  expect(p99).toBeLessThanOrEqual(10);
  expect(longestWaitMs).toBeLessThanOrEqual(10);
});

it('the check finds jobs that are claimed ahead without a bound', async () => {
  const { p99, longestWaitMs } = await run({ paces: [1, 3], concurrency: 2, prefetch: 1_000 }, shallow(7, 60));
  expect(p99).toBeGreaterThan(10);
  expect(longestWaitMs).toBeGreaterThan(10);
});

it('the check finds jobs that wait without a bound for slots of several queues', async () => {
  jest.spyOn(PrefetchLimit.prototype, 'room', 'get').mockReturnValue(1_000);
  jest.spyOn(Prefetcher.prototype as unknown as { watch(): void }, 'watch').mockReturnValue();
  const { p99, longestWaitMs } = await run({ paces: [1, 3], concurrency: 2, queues: 3 }, shallow(7, 60));
  expect(p99).toBeGreaterThan(10);
  expect(longestWaitMs).toBeGreaterThan(10);
});

it('one worker that holds jobs ahead starts them in the order of the queue', async () => {
  const bursts = Array.from({ length: 40 }, () => Array<number>(50).fill(1));
  const { order } = await run({ paces: [1], concurrency: 20 }, bursts);
  expect(order).toEqual(Array.from(order.keys()));
});

it('two workers start the jobs of one slot at its rate, whichever of them learns when the next may start', async () => {
  const limits = { maxRunning: 1, rateLimit: { limit: 1, periodMs: 10 } };
  const { doneAtMs } = await run({ paces: [1, 1], concurrency: 7, limits }, [Array<number>(200).fill(4)]);
  expect(doneAtMs).toBeLessThan(200 * (10 + 4 + 4 * TRIP_MS));
});

/** Runs the jobs of two queues in one worker with two slots for both. Returns when each has started, by queue. */
async function runTwo(
  jobs: { quick: readonly number[]; other: readonly number[] },
  other: { maxRunning?: number; prefetch?: number; bulk?: boolean } = {},
) {
  const { clock, server, link } = newServer();
  const store = new ScriptStore(clock, { server, link });
  const starts: Record<keyof typeof jobs, number[]> = { quick: [], other: [] };
  const runs = async (name: keyof typeof jobs, ms: number) => {
    starts[name].push(clock.now());
    await new Promise<void>((resolve) => void clock.setTimeout(resolve, ms));
  };
  const { bulk, prefetch, ...options } = other;
  const names = ['quick', 'other'] as const;
  const served = names.map((name) => {
    const queue = new JobQueue(store, name, name === 'other' ? options : {});
    const one = (job: Job<Work>) => runs(name, job.payload.ms);
    const many = {
      bulk: { size: 2, waitMs: 0 },
      handle: async (all: readonly Job<Work>[]) => void (await Promise.all(all.map(one))),
    };
    const handler = name === 'other' && bulk ? many : one;
    return { queue, handlers: { [name]: handler as never }, ...(name === 'other' && { prefetch }) };
  });
  served.forEach(({ queue }, i) => void queue.enqueueMany(jobs[names[i]!].map((ms) => ({ payload: { ms } }))));
  const worker = new Worker(served, { sweepIntervalMs: 0, logFailures: false, concurrency: 2 });
  const starting = worker.start();
  await clock.advance(1_000);
  await starting;
  const stopping = worker.stop({ timeoutMs: 0 });
  await clock.advance(1_000);
  await stopping;
  return starts;
}

it.each([
  ['with limits', { maxRunning: 1 }],
  ['that prefetches nothing', { prefetch: 0 }],
  ['of a bulk handler', { bulk: true }],
])('a queue %s gets its turn beside one whose jobs wait here', async (_, options) => {
  const { quick, other } = await runTwo(
    { quick: Array<number>(400).fill(1), other: Array<number>(20).fill(1) },
    options,
  );
  expect([quick.length, other.length]).toEqual([400, 20]);
  expect(other.at(-1)).toBeLessThan(quick.at(-1)!);
});

it('a waiting job begins at once where the claim of another queue finds nothing for a free slot', async () => {
  jest.spyOn(PrefetchLimit.prototype, 'room', 'get').mockReturnValue(10);
  const { quick } = await runTwo({ quick: [500, 1], other: [] });
  expect(quick[1]).toBe(quick[0]);
});
