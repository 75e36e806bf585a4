// Each script is cut after each of its writes. The doctor names each state that this leaves, or maintenance heals it. Then
// all jobs can end.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { violations } from '../../support/invariants/invariants.js';
import { cutScript } from '../../support/queue/cut-script.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { type Scenario, SCENARIOS, type World } from './cut-scenarios.js';

const MOST_ROUNDS = 12;

let redis: Redis;

beforeAll(async () => {
  redis = connect({}, (await startOwnRedis()).url); // the doctor scans the whole database
});

/** Returns the faults, but for ended jobs that no history lists: they expire. */
async function faultsOf({ state }: World): Promise<string[]> {
  const faults = await violations(state.redis, state.scripts);
  return faults.filter((fault) => !/is nowhere, and lives on \(\d+ ms\)/.test(fault));
}

/** Runs what a fleet runs by the clock, when all claims have expired. */
async function maintain({ queue, state }: World): Promise<void> {
  const { scripts, keys } = state;
  await state.expireClaims(...(await state.ranked(keys.claims)));
  await state.run(scripts.sweep.reclaim({ limit: 100, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
  await state.run(scripts.sweep.adoptForeign({ limit: 100 }));
  await state.run(scripts.sweep.promote({ limit: 100 }));
  await state.run(scripts.sweep.tidy({ limit: 100 }));
  await state.redis.hdel(keys.sweep, 'tidied_at_ms', 'adopted_at_ms');
  for (const id of await state.ranked(keys.awaiting)) {
    await state.redis.zadd(keys.awaiting, 'XX', 0, id);
  }
  await maintainBatches(queue, { all: true });
}

/** Completes jobs until none waits or runs. */
async function drain(world: World): Promise<void> {
  const { queue, state } = world;
  await state.redis.del(`${state.keys.groupsPrefix}state:g`);
  await queue.limits.clear();
  await queue.groups.resume('g');
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const due = await state.redis.zrangebyscore(state.keys.scheduled, 0, Date.now() + 3_600_000);
    await state.makeDue(...due);
    for (const job of await queue.claimMany(20)) {
      await queue.complete(job);
    }
    await maintain(world);
    const { pending, scheduled, processing } = await queue.stats();
    const sealed = (await queue.listBatches()).filter(({ sealedAt }) => sealedAt);
    if (pending + scheduled + processing + sealed.length === 0) {
      return;
    }
  }
  expect({ left: await queue.stats(), batches: await queue.listBatches() }).toEqual('nothing');
}

/** Returns whether the script was cut after its n-th write. */
async function cutAfter(scenario: Scenario, n: number): Promise<boolean> {
  const name = uniqueQueueName();
  const world = { queue: new JobQueue(redis, name), state: queueOn(redis, {}, name) };
  world.state.broken = true;
  const call = await scenario.seed(world);
  if (!(await cutScript(world.state.redis, call, n))) {
    await world.state.deleteKeys();
    return false;
  }
  const faults = await faultsOf(world);
  const { counts, findings } = await world.queue.doctor();
  if (Object.keys(counts).length === 0 && faults.length > 0) {
    await maintain(world);
    expect({ n, faults, left: await faultsOf(world) }).toEqual({ n, faults, left: [] });
  }
  await world.queue.doctor({ repair: true });
  await maintain(world);
  const after = await world.queue.doctor({ repair: true });
  expect({ n, findings, left: after.findings }).toEqual({ n, findings, left: [] });
  expect({ n, faults: await faultsOf(world) }).toEqual({ n, faults: [] });
  if (scenario.repeats) await world.state.run(call);
  await drain(world);
  expect({ n, faults: await faultsOf(world) }).toEqual({ n, faults: [] });
  await world.state.deleteKeys();
  return true;
}

it.each(SCENARIOS)('$name', async (scenario) => {
  let n = 1;
  while (await cutAfter(scenario, n)) {
    n++;
  }
  expect(n).toBeGreaterThan(2);
});
