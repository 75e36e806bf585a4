// Of the processes with the same queues one maintains for all. Each fault of the right is planted here.
import { describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue } from '../../support/worker/workers.js';
import { sleep } from '../../support/faults/wait.js';

const INTERVAL_MS = 5_000;
const VISIBILITY_MS = 3_000;

/** Makes processes that only maintain, with one server and a time that the test moves. */
function fleet(count: number, intervals: readonly number[] = Array<number>(count).fill(INTERVAL_MS)) {
  // A second after the begin of an interval.
  const clock = { nowMs: Math.ceil(Date.now() / INTERVAL_MS) * INTERVAL_MS + 1_000, steadyMs: 0 };
  const now = () => clock.nowMs;
  const advance = (ms: number) => {
    clock.nowMs += ms;
    clock.steadyMs += ms;
  };
  const server = new ScriptServer(now);
  const called: string[] = [];
  const link = async <Reply>(script: string, run: () => Reply) => {
    called.push(script);
    return run();
  };
  const startProcess = () => {
    const store = new ScriptStore({ ...systemClock, now, monotonic: () => clock.steadyMs }, { server, link });
    return ['c', 'a', 'b'].map((name) => new JobQueue(store, name, { visibilityMs: VISIBILITY_MS }));
  };
  const sweepers = intervals.map((intervalMs) => new Sweeper(startProcess(), intervalMs, silentLogger));
  const round = async (...some: readonly Sweeper[]) => {
    called.length = 0;
    const reports = await Promise.all(some.map((each) => each.runRound()));
    return { reclaimed: reports.map(({ reclaimed }) => reclaimed), called: called.toSorted() };
  };
  const rest = async (ms: number, ...some: readonly Sweeper[]) => {
    for (let left = ms; left > 0; left -= INTERVAL_MS) {
      advance(Math.min(left, INTERVAL_MS));
      await round(...some);
    }
  };
  return { clock, advance, sweepers, queue: startProcess()[0]!, round, rest };
}

/** Adds a job and claims it for a worker that dies. */
async function abandonJob(queue: JobQueue): Promise<void> {
  await queue.enqueue({});
  await queue.claim();
}

describe('a fleet without work', () => {
  it('looks once for all, and one of the other processes asks for the right', async () => {
    const { sweepers, advance, round } = fleet(10);
    const first = await round(...sweepers);
    expect(first.called.filter((script) => script === 'sweepHold')).toHaveLength(10);
    for (let i = 0; i < 3; i++) {
      advance(INTERVAL_MS);
      await round(...sweepers); // the first turns are few, so some share one
    }
    for (let i = 0; i < 30; i++) {
      advance(INTERVAL_MS);
      const { called } = await round(...sweepers);
      const others = called.filter((script) => script !== 'sweepNoteIdle');
      expect(others).toEqual(['queueLook', 'sweepHold', 'sweepHold']);
    }
  });

  it('notes once a minute that the queues were maintained', async () => {
    const { sweepers, advance, round } = fleet(1);
    await round(...sweepers);
    let notes = 0;
    for (let i = 0; i < 24; i++) {
      advance(INTERVAL_MS);
      notes += (await round(...sweepers)).called.filter((script) => script === 'sweepNoteIdle').length;
    }
    expect(notes).toBe(2);
  });
});

describe('the right to maintain', () => {
  it('a dead holder delays a reclaim by at most three intervals', async () => {
    const { sweepers, advance, queue, round } = fleet(3);
    const [holder, ...others] = sweepers;
    await round(holder!);
    await abandonJob(queue);
    const reclaimed: number[] = [];
    for (let i = 0; i < 3; i++) {
      advance(INTERVAL_MS);
      reclaimed.push(...(await round(...others)).reclaimed);
    }
    expect(reclaimed.reduce((sum, each) => sum + each)).toBe(1);
  });

  it('a holder that stops gives it back at once', async () => {
    const { sweepers, advance, queue, round } = fleet(2);
    await round(sweepers[0]!);
    await abandonJob(queue);
    await sweepers[0]!.stop();
    advance(VISIBILITY_MS + 1);
    expect((await round(sweepers[1]!)).reclaimed).toEqual([1]);
  });

  it('a frozen holder is refused when it wakes', async () => {
    const { sweepers, advance, queue, round, rest } = fleet(2);
    const [frozen, next] = sweepers;
    await round(frozen!);
    await rest(2 * INTERVAL_MS, next!);
    await abandonJob(queue);
    advance(VISIBILITY_MS + 1);
    expect((await round(frozen!)).called).toEqual(['sweepHold']);
    expect((await round(next!)).reclaimed).toEqual([1]);
  });

  it('of a process with a longer interval does not slow the others down', async () => {
    const { sweepers, advance, queue, round } = fleet(2, [600_000, INTERVAL_MS]);
    const [slow, quick] = sweepers;
    await round(slow!);
    await round(quick!);
    await abandonJob(queue);
    advance(VISIBILITY_MS + 1);
    expect((await round(quick!)).reclaimed).toEqual([1]);
  });

  it('two holders at once do no harm', async () => {
    const queue = newQueue({ visibilityMs: 100 });
    await abandonJob(queue);
    const sweepers = Array.from({ length: 2 }, () => new Sweeper([queue], INTERVAL_MS, silentLogger));
    const sweep = async () =>
      (await Promise.all(sweepers.map((each) => each.runOnce()))).map((each) => each.reclaimed);
    let reclaimed = 0;
    while (reclaimed === 0) reclaimed = (await sweep()).reduce((sum, each) => sum + each);
    expect(reclaimed).toBe(1);
    expect(await queue.list('pending')).toMatchObject([{ crashes: 1 }]);
  });

  it('is of one process again after the clock of the server has jumped, forwards or back', async () => {
    for (const jumpMs of [3_600_000, -3_600_000]) {
      const { sweepers, clock, queue, round } = fleet(2);
      await queue.enqueue({}, { delayMs: 86_400_000 }); // else the holder looks with its call for the right
      await round(...sweepers);
      clock.nowMs += jumpMs;
      await round(...sweepers);
      const { called } = await round(...sweepers);
      expect(called.filter((script) => script === 'queueLook')).toHaveLength(1);
    }
  });
});

it('a queue whose claims expire after a long rest waits for no heartbeat, because the looks show that the server was there', async () => {
  const { sweepers, advance, queue, round, rest } = fleet(1);
  await abandonJob(queue);
  advance(VISIBILITY_MS + 1);
  await round(...sweepers);
  await queue.complete((await queue.claim())!);
  await rest(300_000, ...sweepers);
  await abandonJob(queue);
  advance(VISIBILITY_MS + 1);
  expect((await round(...sweepers)).reclaimed).toEqual([1]);
});

it('a queue with nothing but groups that rest no longer is swept, so that their state goes', async () => {
  const queue = newQueue();
  const groups = `queue:${queue.name}:groups`;
  const redis = connect();
  await redis.hset(`${groups}:states`, 'tenant', '1');
  await redis.hset(`${groups}:state:tenant`, { rests_until_ms: '1', rest_ms: '1' });
  await redis.zadd(`${groups}:resting`, 1, 'tenant');
  await new Sweeper([queue], INTERVAL_MS, silentLogger).runRound();
  expect(await redis.exists(`${groups}:resting`, `${groups}:state:tenant`)).toBe(0);
});

it('in a Cluster a frozen master delays no reclaim at another', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 60_000 });
  const client = cluster.connect();
  const queues = Array.from({ length: 8 }, () => new JobQueue(client, uniqueQueueName(), { visibilityMs: 1_000 }));
  for (const queue of queues) await abandonJob(queue);
  const owners = await Promise.all(queues.map(({ name }) => cluster.ownerOf(`queue:{${name}}:pending`)));
  const frozen = owners[0]!;
  const alive = queues.filter((_, i) => owners[i] !== frozen);
  const sweeper = new Sweeper(queues, 1_000, silentLogger);
  await sweeper.runRound(); // so that a look came before
  await frozen.kill('SIGSTOP');
  const round = sweeper.runRound();
  try {
    while ((await Promise.all(alive.map((queue) => queue.list('pending')))).some((jobs) => jobs.length === 0)) {
      void sweeper.runRound();
      await sleep(50);
    }
  } finally {
    await frozen.kill('SIGCONT');
  }
  await round;
  await sweeper.stop();
}, 60_000);
