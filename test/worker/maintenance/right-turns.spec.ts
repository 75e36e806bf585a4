// The processes of a fleet without the right to maintain ask for it in turn, by virtual time.
import { afterEach, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { casesOf, someOf } from '../../support/run/samples.js';

const INTERVAL_MS = 5_000;

/** The right lasts for two intervals after the last round of its holder. */
const RIGHT_MS = 2 * INTERVAL_MS;

/** The time that a call and a late timer may take, in ms. */
const MARGIN_MS = 100;

/** The time of a call in a Cluster, in ms. */
const CALL_MS = 10;

interface Process {
  readonly sweeper: Sweeper;
  readonly queues: JobQueue[];
  /** The times at which it asked for the right, in ms. */
  readonly asks: number[];
  /** The times at which it looked at the queues, in ms. Only a process with the right does. */
  readonly looks: number[];
  /** The times at which it noted that the queues are maintained, in ms. */
  readonly notes: number[];
  /** In a Cluster, the times at which it looked at each master, in ms. */
  readonly looksAt: Record<string, number[]>;
  isDead: boolean;
  beforeNote?: () => void;
}

const masterOf = (calls: unknown) => (calls as QueueCalls).keys.queue;

const stopped: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(stopped.splice(0).map((stop) => stop()));
});

/**
 * Starts processes that maintain the same queues, each at another part of the interval.
 *
 * @param options.masters the masters of a Cluster. Each has the queue of its name, and a call takes a while there
 */
async function startFleet(
  count: number,
  seed = 1,
  { masters = [] as readonly string[], visibilityMs = 30_000, intervalMs = INTERVAL_MS } = {},
) {
  const clock = new VirtualClock(undefined, seed);
  const server = new ScriptServer(() => clock.now());
  const processes: Process[] = [];
  const frozen = new Set<string>();

  function startProcess(): Process {
    const link = async <Reply>(script: string, run: () => Reply): Promise<Reply> => {
      if (script === 'sweepNoteIdle') each.beforeNote?.();
      if (each.isDead) return new Promise(() => undefined);
      if (script === 'sweepHold') each.asks.push(clock.now());
      if (script === 'queueLook') each.looks.push(clock.now());
      if (script === 'sweepNoteIdle') each.notes.push(clock.now());
      if (masters.length > 0) await new Promise<void>((resolve) => void clock.setTimeout(resolve, CALL_MS));
      return run();
    };
    const store = new ScriptStore(clock, { server, link });
    if (masters.length > 0) {
      const look = store.queues.look.bind(store.queues);
      const open = store.open.bind(store);
      Object.assign(store, {
        serverOf: masterOf,
        open: (...args: Parameters<typeof open>) =>
          frozen.has(args[0]) ? new Promise(() => undefined) : open(...args),
      });
      Object.assign(store.queues, {
        look: (...args: Parameters<typeof look>) => {
          const master = masterOf(args[0][0]);
          (each.looksAt[master] ??= []).push(clock.now());
          return frozen.has(master) ? new Promise(() => undefined) : look(...args);
        },
      });
    }
    const queues = (masters.length > 0 ? masters : ['a', 'b']).map(
      (name) => new JobQueue(store, name, { visibilityMs }),
    );
    const sweeper = new Sweeper(queues, intervalMs, silentLogger);
    const each: Process = { sweeper, queues, asks: [], looks: [], notes: [], looksAt: {}, isDead: false };
    sweeper.start();
    stopped.push(async () => {
      if (!each.isDead && masters.length === 0) await sweeper.stop(); // a call to a master waits for the clock
    });
    return each;
  }

  await clock.advance(clock.random() * intervalMs);
  for (let i = 0; i < count; i++) {
    processes.push(startProcess());
    await clock.advance(clock.random() * 2_000);
  }
  await clock.advance(Math.max(120_000, 4 * intervalMs));
  return { clock, processes, frozen, startProcess };
}

const askedSince = (processes: readonly Process[], sinceMs: number) =>
  processes.flatMap(({ asks }) => asks).filter((at) => at > sinceMs);

/** Returns the holder: the process that looked last. */
const holderOf = (processes: readonly Process[]) =>
  processes.toSorted((a, b) => (b.looks.at(-1) ?? 0) - (a.looks.at(-1) ?? 0))[0]!;

/** Returns the time from `sinceMs` until one of the processes looks, in ms. */
function untilLook(processes: readonly Process[], sinceMs: number): number {
  return Math.min(...processes.flatMap(({ looks }) => looks).filter((at) => at > sinceMs)) - sinceMs;
}

it.each(someOf([1, 2, 5, 10, 11], 2))('asks twice in an interval at most: %d processes', async (count) => {
  const { clock, processes } = await startFleet(count);
  const fromMs = clock.now();
  await clock.advance(600_000);
  expect(askedSince(processes, fromMs).length).toBeLessThanOrEqual((600_000 / INTERVAL_MS) * 2 + 2);
  expect(processes.filter(({ looks }) => looks.some((at) => at > fromMs))).toHaveLength(1);
});

it.each(someOf([30, 60], 2))('asks at an even pace: %d processes', async (count) => {
  const { clock, processes } = await startFleet(count);
  const fromMs = clock.now();
  await clock.advance(300_000);
  const holder = holderOf(processes);
  const asks = askedSince(
    processes.filter((each) => each !== holder),
    fromMs,
  ).toSorted((a, b) => a - b);
  expect(asks.length / (300_000 / INTERVAL_MS)).toBeLessThan(count / 9 + 1);
  const atOnce = asks.map((at) => asks.filter((each) => each >= at && each < at + MARGIN_MS).length);
  expect(Math.max(...atOnce)).toBeLessThanOrEqual(2);
});

it.each(someOf([2, 3, 5, 10, 20], 2))(
  'a dead holder is followed within three intervals: %d processes',
  async (count) => {
    for (let seed = 1; seed <= casesOf(5, 1); seed++) {
      const { clock, processes } = await startFleet(count, seed);
      await clock.advance(clock.random() * INTERVAL_MS);
      const holder = holderOf(processes);
      holder.isDead = true;
      const diedMs = clock.now();
      await clock.advance(60_000);
      const others = processes.filter((each) => each !== holder);
      expect(untilLook(others, diedMs)).toBeLessThanOrEqual(RIGHT_MS + INTERVAL_MS + MARGIN_MS);
    }
  },
);

it.each(someOf([1, 4, 8], 2))(
  'each process that dies with the holder adds an interval at most: %d of ten',
  async (count) => {
    for (let seed = 1; seed <= casesOf(5, 1); seed++) {
      const { clock, processes } = await startFleet(10, seed);
      const holder = holderOf(processes);
      const others = processes.filter((each) => each !== holder);
      [holder, ...others.slice(0, count)].forEach((each) => (each.isDead = true));
      const diedMs = clock.now();
      await clock.advance(90_000);
      const left = others.slice(count);
      expect(untilLook(left, diedMs)).toBeLessThanOrEqual(RIGHT_MS + (count + 1) * INTERVAL_MS + MARGIN_MS);
    }
  },
);

/** Returns the time without maintenance after which health calls it overdue, in ms; see lua/queue/stats. */
const overdueMs = (intervalMs: number) =>
  60_000 + 3 * intervalMs + Math.max(intervalMs, Math.min(10 * intervalMs, 50_000));

it.each(someOf([1_000, 5_000, 20_000, 30_000, 120_000], 2))(
  'health does not call maintenance overdue if one of many outlives the holder, with an interval of %d ms',
  async (intervalMs) => {
    const gaps: number[] = [];
    for (let i = 0; i < 11; i += casesOf(1, 10)) {
      const { clock, processes } = await startFleet(12, i + 1, { intervalMs });
      const holder = holderOf(processes);
      const others = processes.filter((each) => each !== holder);
      const left = others.toSorted((a, b) => a.asks.at(-1)! - b.asks.at(-1)!)[i]!;
      const notedMs = holder.notes.at(-1)!;
      holder.beforeNote = () => processes.forEach((each) => (each.isDead = each !== left));
      while (!holder.isDead) await clock.advance(1_000);
      await clock.advance(2 * overdueMs(intervalMs));
      gaps.push(left.notes.find((at) => at > notedMs)! - notedMs);
    }
    expect(Math.max(...gaps)).toBeLessThan(overdueMs(intervalMs));
  },
);

it('the last of many processes takes the right within ten intervals after its end', async () => {
  const { clock, processes } = await startFleet(30);
  const holder = holderOf(processes);
  const [left, ...others] = processes.filter((each) => each !== holder);
  [holder, ...others].forEach((each) => (each.isDead = true));
  const diedMs = clock.now();
  await clock.advance(90_000);
  expect(untilLook([left!], diedMs)).toBeLessThanOrEqual(RIGHT_MS + 10 * INTERVAL_MS + MARGIN_MS);
});

it('the successors of a whole fleet that was killed take the right soon', async () => {
  for (let seed = 1; seed <= casesOf(5, 1); seed++) {
    const { clock, processes, startProcess } = await startFleet(10, seed);
    await clock.advance(clock.random() * INTERVAL_MS);
    processes.forEach((each) => (each.isDead = true));
    const diedMs = clock.now();
    const successors = processes.map(() => startProcess());
    await clock.advance(90_000);
    expect(untilLook(successors, diedMs)).toBeLessThanOrEqual(RIGHT_MS + 3 * INTERVAL_MS + MARGIN_MS);
  }
});

it.each(someOf([3_000, 12_000, 20_000, 30_000], 2))(
  'a job runs again soon after the death of the holder and of its worker, with a visibility timeout of %d ms',
  async (visibilityMs) => {
    for (let seed = 1; seed <= casesOf(8, 1); seed++) {
      const { clock, processes } = await startFleet(3, seed, { visibilityMs });
      const holder = holderOf(processes);
      const [, other] = processes.filter((each) => each !== holder);
      const queue = other!.queues[0]!;
      await queue.enqueue({}, { id: 'waits', delayMs: 3_600_000 }); // so that each round sweeps the queue
      await clock.advance(20_000);
      await clock.advance(holder.looks.at(-1)! + INTERVAL_MS + 1 - clock.now()); // the right has just been renewed
      await queue.enqueue({}, { id: 'lost' });
      await queue.claim();
      holder.isDead = true;
      const diedMs = clock.now();
      while ((await queue.get('lost'))!.status === 'processing') await clock.advance(50);
      const leastMs = visibilityMs < 6 * INTERVAL_MS ? 5.5 * INTERVAL_MS : 0;
      const bound = Math.max(visibilityMs + INTERVAL_MS, leastMs) + 1_000;
      expect(clock.now() - diedMs).toBeLessThanOrEqual(bound);
    }
  },
);

it('asks each master of a Cluster in its turn, although their turns begin together', async () => {
  for (let seed = 1; seed <= casesOf(20, 2); seed++) {
    const { clock, processes } = await startFleet(5, seed, { masters: ['a', 'b', 'c'] });
    const holder = holderOf(processes);
    await clock.advance(holder.looks.at(-1)! + INTERVAL_MS + MARGIN_MS - clock.now());
    holder.isDead = true;
    const diedMs = clock.now();
    await clock.advance(60_000);
    const others = processes.filter((each) => each !== holder);
    for (const master of ['a', 'b', 'c']) {
      const looks = others.flatMap(({ looksAt }) => looksAt[master] ?? []).filter((at) => at > diedMs);
      expect(Math.min(...looks) - diedMs).toBeLessThanOrEqual(RIGHT_MS + INTERVAL_MS + MARGIN_MS);
    }
  }
});

it('a master without a reply delays no round of another', async () => {
  const { clock, processes, frozen } = await startFleet(1, 1, { masters: ['a', 'b'], visibilityMs: 10_000 });
  const [each] = processes;
  frozen.add('a');
  const fromMs = clock.now();
  await clock.advance(60_000);
  expect(each!.asks.filter((at) => at > fromMs).length).toBeGreaterThanOrEqual(11); // it looks with the same call
  each!.isDead = true; // its round of the other master has no end
});

it('a process that starts beside a master without a reply maintains the others', async () => {
  const { clock, frozen, startProcess } = await startFleet(0, 1, { masters: ['a', 'b'], visibilityMs: 10_000 });
  frozen.add('a');
  const each = startProcess();
  await clock.advance(60_000);
  expect(each.asks.length).toBeGreaterThanOrEqual(11);
  each.isDead = true; // its round of the other master has no end
});

it('the next process in turn follows a holder that stops', async () => {
  const { clock, processes } = await startFleet(10);
  const holder = holderOf(processes);
  await holder.sweeper.stop();
  const stoppedMs = clock.now();
  await clock.advance(20_000);
  const others = processes.filter((each) => each !== holder);
  expect(untilLook(others, stoppedMs)).toBeLessThanOrEqual(INTERVAL_MS + MARGIN_MS);
});

it('asks for a set of queues that has changed in the next round', async () => {
  const { clock, processes } = await startFleet(10);
  const holder = holderOf(processes);
  const other = processes.find((each) => each !== holder)!;
  other.queues.push(new JobQueue(other.queues[0]!.store, 'c'));
  const changedMs = clock.now();
  await clock.advance(INTERVAL_MS + MARGIN_MS);
  expect(untilLook([other], changedMs)).toBeLessThanOrEqual(INTERVAL_MS + MARGIN_MS);
});

it('begins no turn while the server is away', async () => {
  const { clock, processes } = await startFleet(3);
  for (const { sweeper, queues } of processes) {
    clock.clear(sweeper['timer']);
    Object.defineProperty(queues[0]!.store, 'isReady', { value: false });
  }
  const awayMs = clock.now();
  await clock.advance(20_000);
  expect(askedSince(processes, awayMs)).toEqual([]);
});

it('asks no more after a stop', async () => {
  const { clock, processes } = await startFleet(3);
  await Promise.all(processes.map(({ sweeper }) => sweeper.stop()));
  const stoppedMs = clock.now();
  await clock.advance(120_000);
  expect(askedSince(processes, stoppedMs)).toEqual([]);
});
