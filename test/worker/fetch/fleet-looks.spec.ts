// Workers with the same queues and handlers look for jobs in turn, by virtual time.
import { afterEach, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import { enqueueUnheard } from '../../support/memory/memory-view.js';
import { casesOf, someOf } from '../../support/run/samples.js';

const QUEUES = 6;

/** A call and the end of a timer take no virtual time, but a look follows the calls of others. */
const MARGIN_MS = 100;

interface Member {
  readonly worker: Worker;
  /** The times of its looks for jobs, in ms. */
  readonly looks: number[];
  /** The lengths of its waits for jobs, in ms, with the number of claims behind each. */
  readonly waits: { ms: number; claims: number }[];
  /** The times at which it woke another worker, in ms. */
  readonly passes: number[];
  /** The jobs that it has started, with the times, in ms. */
  readonly ran: Map<string, number>;
  /** Its lines of debugging. */
  readonly debugged: ReadonlySet<string>;
  isDead: boolean;
}

interface Fleet {
  readonly clock: VirtualClock;
  readonly server: ScriptServer;
  readonly members: Member[];
}

const fleets: Fleet[] = [];

afterEach(async () => {
  for (const { clock, members } of fleets.splice(0)) {
    const stopping = Promise.all(members.map(({ worker }) => worker.stop({ timeoutMs: 0 })));
    await clock.advance(60_000);
    await stopping;
  }
});

const long = ({ signal }: { signal: AbortSignal }) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

/** Starts workers with the same queues. A job named `long` runs until it is aborted. */
async function startFleet(
  count: number,
  {
    seed = 1,
    extraName = (_i: number): string[] => [],
    refuses = '',
    queues = QUEUES,
    concurrency = undefined as number | undefined,
  } = {},
): Promise<Fleet> {
  const clock = new VirtualClock(undefined, seed);
  const server = new ScriptServer(() => clock.now());
  const fleet: Fleet = { clock, server, members: [] };
  fleets.push(fleet);
  for (let i = 0; i < count; i++) {
    const member = {
      looks: [] as number[],
      waits: [] as Member['waits'],
      passes: [] as number[],
      ran: new Map<string, number>(),
      debugged: new Set<string>(),
      isDead: false,
    };
    const link = <Reply>(script: string, run: () => Reply): Promise<Reply> => {
      if (member.isDead) return new Promise(() => undefined);
      if (script === refuses) return Promise.reject(new Error('refused'));
      if (script === 'queueLook') member.looks.push(clock.now());
      if (script === 'workerPassWake') member.passes.push(clock.now());
      return Promise.resolve().then(run);
    };
    const store = new ScriptStore(clock, { server, link });
    noteWaits(store, member.waits);
    const run = ({ id }: { id: string }) => void member.ran.set(id, clock.now());
    const served = Array.from({ length: queues }, (_, q) => ({
      queue: new JobQueue(store, `q${q}`),
      concurrency: 1,
      handlers: { [`q${q}`]: run, long, ...Object.fromEntries(extraName(i).map((name) => [name, run])) },
    }));
    const log = { log() {}, warn() {}, error() {}, debug: (line: string) => void member.debugged.add(line) };
    const worker = new Worker(served, { id: `w${i}`, sweepIntervalMs: 0, logger: log, concurrency });
    const starting = worker.start();
    await clock.advance(100);
    await starting;
    fleet.members.push(Object.assign(member, { worker }));
    await clock.advance(clock.random() * 700);
  }
  await clock.advance(45_000); // each has the list of workers with all of them
  return fleet;
}

function noteWaits(store: ScriptStore, waits: Member['waits']): void {
  const open = store.workerWait.bind(store);
  store.workerWait = (...opened) => {
    const wait = open(...opened);
    const begin = wait.wait.bind(wait);
    wait.wait = (queues, ms, calls, running) => {
      waits.push({ ms, claims: calls.length });
      return begin(queues, ms, calls, running);
    };
    return wait;
  };
}

/** Adds a job whose wake is lost. */
async function addUnheard({ clock, server }: Fleet, queue: string, id: string): Promise<void> {
  await enqueueUnheard(new JobQueue(new ScriptStore(clock, { server }), queue), { id });
}

/** Returns the longest time between two looks for jobs of some members since a time, in ms. */
function longestGap(members: readonly Member[], sinceMs: number, untilMs: number): number {
  const times = members.flatMap(({ looks }) => looks).filter((at) => at > sinceMs);
  const sorted = [sinceMs, ...times.toSorted((a, b) => a - b), untilMs];
  return Math.max(...sorted.slice(1).map((at, i) => at - sorted[i]!));
}

function looksOf(members: readonly Member[], sinceMs: number): number {
  return members.reduce((sum, { looks }) => sum + looks.filter((at) => at > sinceMs).length, 0);
}

function startedAt({ members }: Fleet, id: string): number {
  return Math.min(...members.map(({ ran }) => ran.get(id) ?? Infinity));
}

it.each([2, 5, 10, 13])('looks about once a second together: %d workers', async (count) => {
  const { clock, members } = await startFleet(count);
  const fromMs = clock.now();
  await clock.advance(60_000);
  // Each second one for jobs. Each five seconds some for schedules.
  const perSecond = Math.ceil(count / 10);
  expect(looksOf(members, fromMs)).toBeLessThanOrEqual(60 * perSecond + 12 * Math.ceil(count / 3) + count);
  expect(longestGap(members, fromMs, clock.now())).toBeLessThanOrEqual(1_000 + MARGIN_MS);
});

it('looks a second later for each worker that has just died, and then once a second again', async () => {
  const { clock, members } = await startFleet(5);
  members.slice(0, 2).forEach((each) => (each.isDead = true));
  const diedMs = clock.now();
  await clock.advance(55_000);
  const rest = members.slice(2);
  expect(longestGap(rest, diedMs, clock.now())).toBeLessThanOrEqual(3_000 + MARGIN_MS);
  const calmMs = clock.now();
  await clock.advance(20_000);
  expect(longestGap(rest, calmMs, clock.now())).toBeLessThanOrEqual(1_000 + MARGIN_MS);
});

it('looks each ten seconds by itself, once it is alone', async () => {
  const { clock, members } = await startFleet(12);
  members.slice(1).forEach((each) => (each.isDead = true));
  const diedMs = clock.now();
  await clock.advance(55_000);
  expect(longestGap(members.slice(0, 1), diedMs, clock.now())).toBeLessThanOrEqual(10_000 + MARGIN_MS);
  const aloneMs = clock.now();
  await clock.advance(20_000);
  expect(longestGap(members.slice(0, 1), aloneMs, clock.now())).toBeLessThanOrEqual(10_000 + MARGIN_MS);
});

it.each([
  ['its handlers differ', { extraName: (i: number) => [`only-of-${i}`] }],
  ['it cannot read which workers live', { refuses: 'workerRenew' }],
])('looks by itself where %s', async (_where, options) => {
  const { clock, members } = await startFleet(2, options);
  const fromMs = clock.now();
  await clock.advance(20_000);
  members.forEach((each) => expect(longestGap([each], fromMs, clock.now())).toBeLessThanOrEqual(1_000 + MARGIN_MS));
  const refused = 'Could not read the workers of queue "q0"; this worker looks for jobs by itself: Error: refused';
  const lines = members.flatMap(({ debugged }) => [...debugged].map((line) => line.slice(0, refused.length)));
  expect(new Set(lines)).toEqual(new Set('refuses' in options ? [refused] : []));
});

it('wakes a free worker for a job that the looking worker cannot claim', async () => {
  const fleet = await startFleet(10);
  const { clock, server, members } = fleet;
  const queue = new JobQueue(new ScriptStore(clock, { server }), 'q3');
  await queue.enqueueMany(Array.from({ length: 9 }, (_, i) => ({ name: 'long', payload: {}, id: `long-${i}` })));
  await clock.advance(12_000);
  const busy = members.filter(({ worker }) => worker.running === 1);
  expect(busy).toHaveLength(9);
  for (let i = 0; i < 5; i++) {
    await addUnheard(fleet, 'q3', `job-${i}`);
    const addedMs = clock.now();
    await clock.advance(13_300);
    expect(startedAt(fleet, `job-${i}`) - addedMs).toBeLessThanOrEqual(1_000 + MARGIN_MS);
  }
});

/** Lets `count` workers run a job of each queue without an end. */
async function keepBusy({ clock, server }: Fleet, queues: readonly string[], count: number): Promise<void> {
  for (const name of queues) {
    const queue = new JobQueue(new ScriptStore(clock, { server }), name);
    await queue.enqueueMany(
      Array.from({ length: count }, (_, i) => ({ name: 'long', payload: {}, id: `${name}-long-${i}` })),
    );
  }
  await clock.advance(12_000);
}

it('wakes a free worker for a job behind many queues whose jobs nobody can claim', async () => {
  const fleet = await startFleet(10, { queues: 22 });
  const { clock, members } = fleet;
  const busy = Array.from({ length: 21 }, (_, q) => `q${q}`);
  await keepBusy(fleet, busy, 11);
  await keepBusy(fleet, ['q21'], 9);
  expect(members.reduce((sum, { worker }) => sum + worker.running, 0)).toBe(10 * 21 + 9);
  for (let i = 0; i < casesOf(5, 2); i++) {
    await addUnheard(fleet, 'q21', `job-${i}`);
    const addedMs = clock.now();
    await clock.advance(13_300);
    expect(startedAt(fleet, `job-${i}`) - addedMs).toBeLessThanOrEqual(1_000 + MARGIN_MS);
  }
});

it('wakes a free worker for a job behind twenty paused queues, whose wakes lead to no claim', async () => {
  const fleet = await startFleet(10, { queues: 22, concurrency: 1 });
  const { clock, server, members } = fleet;
  await keepBusy(fleet, ['q21'], 9);
  expect(members.reduce((sum, { worker }) => sum + worker.running, 0)).toBe(9);
  for (let q = 0; q < 21; q++) {
    const queue = new JobQueue(new ScriptStore(clock, { server }), `q${q}`);
    await queue.pause();
    await queue.enqueue({});
  }
  for (let i = 0; i < casesOf(5, 2); i++) {
    await addUnheard(fleet, 'q21', `job-${i}`);
    const addedMs = clock.now();
    await clock.advance(13_300);
    expect(startedAt(fleet, `job-${i}`) - addedMs).toBeLessThanOrEqual(3_000 + MARGIN_MS);
  }
});

it('wakes nobody while no worker has a free slot', async () => {
  const fleet = await startFleet(5);
  const { clock, members } = fleet;
  const queues = Array.from({ length: QUEUES }, (_, q) => `q${q}`);
  await keepBusy(fleet, queues, 8);
  expect(members.reduce((sum, { worker }) => sum + worker.running, 0)).toBe(5 * QUEUES);
  const busyMs = clock.now();
  await clock.advance(60_000);
  expect(members.flatMap(({ passes }) => passes).filter((at) => at > busyMs)).toEqual([]);
  expect(longestGap(members, busyMs, clock.now())).toBeLessThanOrEqual(1_000 + MARGIN_MS);
});

it('waits long where no claim travels behind the wait, and for a share of the visibility timeout where one does', async () => {
  const { clock, server, members } = await startFleet(2);
  const [first] = members;
  expect(first!.waits.at(-1)).toEqual({ ms: 15_000, claims: 0 });
  for (let q = 0; q < 3; q++) {
    const queue = new JobQueue(new ScriptStore(clock, { server }), `q${q}`);
    await queue.enqueueMany(Array.from({ length: 2 }, (_, i) => ({ name: 'long', payload: {}, id: `${q}-${i}` })));
  }
  await clock.advance(20_000);
  expect(members.map(({ worker }) => worker.running)).toEqual([3, 3]);
  const { visibilityMs } = new JobQueue(new ScriptStore(clock, { server }), 'q3').options;
  members.forEach(({ waits }) => {
    const last = waits.at(-1)!;
    expect(last.claims).toBe(3);
    expect(last.ms).toBeLessThanOrEqual(Math.min(5_000, visibilityMs / 4));
  });
});

it('counts its long waits as fetches, so that no threshold of health trips while it is idle', async () => {
  const { clock, members } = await startFleet(10);
  for (let i = 0; i < casesOf(300, 160); i++) {
    await clock.advance(100);
    members.forEach(({ worker }) => expect(worker.sinceLastFetchMs).toBeLessThan(100));
  }
});

it('does not look after its stop', async () => {
  const { clock, members } = await startFleet(3);
  const stopping = members[0]!.worker.stop({ timeoutMs: 1_000 });
  await clock.advance(1_000);
  await stopping;
  const stoppedMs = clock.now();
  await clock.advance(60_000);
  expect(looksOf(members.slice(0, 1), stoppedMs)).toBe(0);
  expect(longestGap(members.slice(1), clock.now() - 20_000, clock.now())).toBeLessThanOrEqual(1_000 + MARGIN_MS);
});

it('leaves no turn to a worker that waits for its last jobs before it stops', async () => {
  const { clock, server, members } = await startFleet(5);
  await new JobQueue(new ScriptStore(clock, { server }), 'q0').enqueueMany([
    { name: 'long', payload: {} },
    { name: 'long', payload: {} },
  ]);
  await clock.advance(12_000);
  const [, draining] = members.filter(({ worker }) => worker.running === 1); // looks for schedules fill a gap of the first
  const stopping = draining!.worker.stop({ timeoutMs: 90_000 });
  await clock.advance(55_000);
  expect(draining!.worker.running).toBe(1);
  const fromMs = clock.now();
  await clock.advance(20_000);
  expect(longestGap(members, fromMs, clock.now())).toBeLessThanOrEqual(1_000 + MARGIN_MS);
  await clock.advance(20_000);
  await stopping;
});

it('starts a delayed job within a second of its due time where only busy workers know of it', async () => {
  const fleet = await startFleet(10);
  const { clock, server, members } = fleet;
  const queue = new JobQueue(new ScriptStore(clock, { server }), 'q3');
  await enqueueUnheard(queue, { id: 'late', delayMs: 1_500 });
  const dueMs = clock.now() + 1_500;
  await queue.enqueueMany(Array.from({ length: 9 }, (_, i) => ({ name: 'long', payload: {}, id: `long-${i}` })));
  await clock.advance(15_000);
  expect(members.filter(({ worker }) => worker.running === 1)).toHaveLength(9);
  expect(startedAt(fleet, 'late') - dueMs).toBeLessThanOrEqual(1_000 + MARGIN_MS);
});

it.each(someOf([1, 2, 3, 4, 5, 6], 6))(
  'finds each job whose wake was lost, whichever workers die, seed %d',
  async (seed) => {
    const fleet = await startFleet(7, { seed });
    const { clock, members } = fleet;
    for (let i = 0; i < 25; i++) {
      if (clock.random() < 0.2 && members.filter(({ isDead }) => !isDead).length > 1) {
        members[Math.floor(clock.random() * members.length)]!.isDead = true;
      }
      const dead = members.filter(({ isDead }) => isDead).length;
      if (dead === members.length) break;
      await addUnheard(fleet, `q${Math.floor(clock.random() * QUEUES)}`, `job-${i}`);
      const addedMs = clock.now();
      await clock.advance(clock.random() * 3_000 + 10_000);
      const isAlone = dead === members.length - 1;
      const latestMs = isAlone ? 10_000 : 1_000 * (dead + 2);
      expect(startedAt(fleet, `job-${i}`) - addedMs).toBeLessThanOrEqual(latestMs + MARGIN_MS);
    }
  },
);
