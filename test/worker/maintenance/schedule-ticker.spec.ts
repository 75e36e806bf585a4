// The ticks of a Cluster's masters. Each master has its own runs.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { encodeSchedule } from '#queue/schedules/schedule.js';
import { ScheduleDeclarer, ScheduleTicker } from '#worker/maintenance/worker-schedules.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { sleep } from '../../support/faults/wait.js';

const EVERY_MS = 1_000;

const hang = () => new Promise<never>(() => undefined);

/** Makes queues on two masters by their first letters, each with a schedule, and a ticker for all. */
async function startTicker(queuesOfMaster: number) {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock);
  const masters = new Map<string, string>();
  const frozen = new Set<string>();
  const masterOf = (calls: unknown) => {
    const name = (calls as QueueCalls).keys.queue;
    return masters.get(name) ?? name.slice(0, 1);
  };
  const look = store.queues.look.bind(store.queues);
  const looked: string[] = [];
  Object.assign(store, { serverOf: masterOf });
  Object.assign(store.queues, {
    look: (...args: Parameters<typeof look>) => {
      const master = masterOf(args[0][0]);
      looked.push(master);
      return frozen.has(master) ? hang() : look(...args);
    },
  });
  const names = Array.from({ length: queuesOfMaster }, (_, i) => [`a${i}`, `b${i}`]).flat();
  const queues = names.map((name) => new JobQueue(store, name));
  for (const queue of queues) await queue.schedules.upsert('s', { everyMs: EVERY_MS });
  const ticker = new ScheduleTicker(queues, silentLogger);
  ticker.start();
  await clock.advance(5_000);
  const freeze = (master: string) => {
    frozen.add(master);
    for (const queue of queues.filter(({ name }) => name.startsWith(master))) {
      Object.assign(queue.schedules, { tick: hang });
    }
  };
  const ticksOf = async (name: string) => (await queues.find((queue) => queue.name === name)!.stats()).pending;
  return { clock, queues, ticker, masters, looked, freeze, ticksOf };
}

it.each([1, 2, 4])('a frozen master delays no tick at another, with %d queues each', async (count) => {
  const { clock, freeze, ticksOf } = await startTicker(count);
  freeze('a');
  const before = await ticksOf('b0');
  await clock.advance(10 * EVERY_MS);
  expect((await ticksOf('b0')) - before).toBe(10);
});

it('a change runs only the ticks of its master', async () => {
  const { clock, queues, ticker, freeze, ticksOf } = await startTicker(2);
  freeze('a');
  await clock.advance(2 * EVERY_MS);
  const before = await ticksOf('b1');
  await queues[3]!.schedules.upsert('more', { everyMs: 100 });
  await clock.advance(EVERY_MS);
  expect((await ticksOf('b1')) - before).toBeGreaterThanOrEqual(10);
  void ticker.stop();
});

it('a queue whose slot moves to a new master ticks there, and a master without queues is looked at no more', async () => {
  const { clock, queues, ticker, masters, looked, ticksOf } = await startTicker(4);
  const before = await ticksOf('b0');
  queues.filter(({ name }) => name.startsWith('b')).forEach(({ name }) => masters.set(name, 'c'));
  await clock.advance(10 * EVERY_MS);
  expect((await ticksOf('b0')) - before).toBe(10);
  looked.length = 0;
  await clock.advance(2 * EVERY_MS);
  expect(new Set(looked)).toEqual(new Set(['a', 'c']));
  await ticker.stop();
  const stopped = await ticksOf('b0');
  await clock.advance(10 * EVERY_MS);
  expect(await ticksOf('b0')).toBe(stopped);
});

it.each(['before', 'after'])(
  'a master that freezes %s the start keeps no declaration of another from its repetition',
  async (when) => {
    const clock = new VirtualClock();
    const store = new ScriptStore(clock);
    const [frozen, alive] = ['a', 'b'].map((name) => new JobQueue(store, name));
    const declared = [frozen!, alive!].map((queue) => ({
      queue,
      schedules: [encodeSchedule(queue, 's', { everyMs: EVERY_MS }, {})],
    }));
    const role = new ScheduleDeclarer('w', declared, silentLogger);
    if (when === 'before') Object.assign(frozen!.schedules, { declare: hang });
    const starting = role.start();
    if (when === 'after') await starting;
    Object.assign(frozen!.schedules, { declare: hang });
    await clock.advance(60_000);
    expect(await alive!.schedules.get('s')).toMatchObject({ isDeclared: true });
  },
);

/** Starts a ticker of a worker that waits for jobs, and so rests without a schedule. */
async function startResting() {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock);
  const [queue, elsewhere] = [new JobQueue(store, 'q'), new JobQueue(store, 'q')];
  const ticker = new ScheduleTicker([queue], silentLogger, { turns: () => undefined, isWaiting: () => true });
  const pending = async () => (await queue.stats()).pending;
  return { clock, queue, elsewhere, ticker, pending };
}

it('looks for a schedule also if its wake comes soon after another wake without a job', async () => {
  const { clock, queue, elsewhere, ticker, pending } = await startResting();
  ticker.start();
  await clock.advance(5_000);
  ticker.lookAgain(queue, false);
  await clock.advance(500);
  await elsewhere.schedules.upsert('s', { everyMs: EVERY_MS });
  ticker.lookAgain(queue, false);
  await clock.advance(5 * EVERY_MS);
  expect(await pending()).toBeGreaterThanOrEqual(4);
  await ticker.stop();
});

it('looks for a schedule also if its wake came with a job', async () => {
  const { clock, queue, elsewhere, ticker, pending } = await startResting();
  ticker.start();
  await clock.advance(100);
  await elsewhere.schedules.upsert('s', { everyMs: EVERY_MS });
  ticker.lookAgain(queue, true);
  await clock.advance(10 * EVERY_MS);
  expect(await pending()).toBeGreaterThanOrEqual(5);
  await ticker.stop();
});

it('looks no more often for wakes with jobs than a process that does not rest', async () => {
  const { clock, queue, ticker } = await startResting();
  ticker.start();
  await clock.advance(100);
  const tick = queue.schedules.tick.bind(queue.schedules);
  let looks = 0;
  Object.assign(queue.schedules, { tick: () => ((looks += 1), tick()) });
  for (let i = 0; i < 400; i += 1) {
    ticker.lookAgain(queue, true);
    await clock.advance(50);
  }
  expect(looks).toBe(4);
  await ticker.stop();
});

it('makes no more than one look a second after wakes without a job', async () => {
  const { clock, queue, ticker } = await startResting();
  ticker.start();
  await clock.advance(5_000);
  const tick = queue.schedules.tick.bind(queue.schedules);
  let looks = 0;
  Object.assign(queue.schedules, { tick: () => ((looks += 1), tick()) });
  for (let i = 0; i < 100; i += 1) {
    ticker.lookAgain(queue, false);
    await clock.advance(50);
  }
  expect(looks).toBe(6); // at both ends of 5 s too
  await ticker.stop();
  await clock.advance(5_000);
  expect(looks).toBe(6); // at both ends of 5 s too
});

it('does not rest after a tick that failed', async () => {
  const { clock, queue, elsewhere, ticker, pending } = await startResting();
  await elsewhere.schedules.upsert('s', { everyMs: EVERY_MS });
  const tick = queue.schedules.tick.bind(queue.schedules);
  Object.assign(queue.schedules, {
    tick: () => {
      Object.assign(queue.schedules, { tick });
      throw new Error('no reply');
    },
  });
  ticker.start();
  await clock.advance(10 * EVERY_MS);
  expect(await pending()).toBeGreaterThanOrEqual(4);
  await ticker.stop();
});

it('in a Cluster a frozen master delays no tick at another', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 60_000 });
  const client = cluster.connect();
  const queues = Array.from({ length: 8 }, () => new JobQueue(client, uniqueQueueName()));
  const names = queues.map(({ name }) => `queue:{${name}}:pending`);
  const owners = await Promise.all(names.map((key) => cluster.ownerOf(key)));
  const alive = queues.filter((_, i) => owners[i] !== owners[0]);
  for (const queue of queues) await queue.schedules.upsert('s', { everyMs: 100 });
  const ticker = new ScheduleTicker(queues, silentLogger);
  ticker.start();
  const ticksOf = () => Promise.all(alive.map(async (queue) => (await queue.schedules.get('s'))!.ticks));
  await owners[0]!.kill('SIGSTOP');
  try {
    const [before, sinceMs] = [await ticksOf(), performance.now()];
    const late = () => performance.now() - sinceMs >= 5_000;
    while (!late() && (await ticksOf()).some((ticks, i) => ticks - before[i]! < 10)) {
      await sleep(50);
    }
    expect(late()).toBe(false); // a look at the frozen master would cost 5 s before each tick
  } finally {
    await owners[0]!.kill('SIGCONT');
  }
  await ticker.stop();
}, 60_000);
