// Random sequences of all that can be done with a queue. They run on Redis and in memory, by one clock. After every step
// the replies and all visible state are equal.
import { expect } from '@jest/globals';
import fc from 'fast-check';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { drawnDialect } from '#memory/lua/numbers.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { gapsIn } from '../support/invariants/audit-gaps.js';
import { violations } from '../support/invariants/invariants.js';
import { SlotWatch } from '../support/invariants/slot-watch.js';
import { queueOn, type TestQueue } from '../support/queue/queue-state.js';
import { clientOfStore } from '../support/memory/memory-client.js';
import { Random } from '../../tools/chaos/random.js';
import { connectClocked } from '../support/redis/clocked-redis.js';
import { uniqueQueueName } from '../support/redis/redis.js';
import { keysLike } from '../support/redis/redis-reads.js';
import { maintain } from './flow/operate.js';
import { seen } from './flow/seen.js';
import { newSide, type FlowStep, type Side } from './flow/side.js';
import { flowSteps } from './flow/steps.js';

export const OPTIONS = { unhandledAgeMs: 30 * 60_000 };
/** Options that workers announce. */
export const ANNOUNCED = {
  maxRunning: 2,
  groups: { weight: 2, overrides: { a: { maxPending: 4 } } },
  maxPendingBytes: 40,
  deadLetterCap: 3,
  deadLetterAgeMs: 40 * 60_000,
  completedHistory: 3,
  cancelledHistory: 3,
  failedHistory: 3,
};
export const sequences = fc
  .tuple(fc.constantFrom(undefined, 'a'), fc.boolean())
  .chain(([group, rates]) => fc.array(flowSteps(group, rates), { minLength: 20, maxLength: 60, size: 'max' }));

export async function answer(step: FlowStep, side: Side): Promise<unknown> {
  return step.does(side).catch((error: Error) => `${error.name}: ${error.message}`);
}

/** Lets time pass for the keys that Redis deletes by its own clock. */
async function shorten({ redis, name }: TestQueue, ms: number): Promise<void> {
  for (const key of await keysLike(redis, `queue:*${name}*`)) {
    const left = await redis.pttl(key);
    await (left >= 0 && redis.pexpire(key, left - ms));
  }
}

interface Drawn {
  runs: number;
  seed: number;
  /** Draws one of the sequences again. */
  path?: string | undefined;
}

/** Runs sequences on both stores. Rejects with the sequence after which they differ. */
export async function compareStores({ runs, seed, path }: Drawn): Promise<void> {
  const clock = { nowMs: 0 };
  const redis = connectClocked(clock);
  const property = fc.asyncProperty(sequences, async (steps) => {
    const name = uniqueQueueName('both');
    clock.nowMs = Date.now();
    const now = () => clock.nowMs;
    const state = queueOn(redis, {}, name);
    const byClock = { ...systemClock, now };
    const random = new Random(steps.length);
    const draw = () => random.next();
    const memory = new ScriptStore(byClock, {
      server: new ScriptServer(now, { random: draw, dialect: drawnDialect(draw) }),
    });
    const isAudited = steps.length % 3 === 0;
    const announced = steps.length % 4 === 1 ? ANNOUNCED : {};
    const outcomes = steps.length % 2 === 0 ? { outcomes: { ageMs: 5_000_001 } } : {};
    const [onRedis, inMemory] = [redis, memory].map((store) =>
      newSide(
        new JobQueue(store, name, { ...OPTIONS, ...announced, ...outcomes, ...(isAudited && { auditTrail: {} }) }),
        new JobQueue(store, `${name}-other`),
        now,
      ),
    ) as [Side, Side];
    const slots = new SlotWatch();
    const story: string[] = [];
    for (const step of steps) {
      const { text, passesMs = 0 } = step;
      clock.nowMs += 1 + passesMs;
      await (passesMs > 0 && shorten(state, passesMs));
      const found = await answer(step, onRedis);
      story.push(`${text} -> ${JSON.stringify(found)}`);
      expect(await slots.look(redis, state.scripts)).toEqual([]);
      await maintain(onRedis);
      const onBoth = await seen(onRedis);
      try {
        expect({ answer: await answer(step, inMemory) }).toEqual({ answer: found });
        await maintain(inMemory);
        expect(await seen(inMemory)).toEqual(onBoth);
      } catch (failure) {
        const told = story.map((line, i) => `  ${i + 1}. ${line}`).join('\n');
        throw new Error(`In memory it is not as on Redis, after\n${told}\n${(failure as Error).message}`, {
          cause: failure,
        });
      }
    }
    // Every step was awaited, so nothing is in flight.
    await state.run(state.scripts.sweep.tidy({ limit: 500 }));
    await inMemory.queue.exec((calls) => calls.sweep.tidy({ limit: 500 }));
    expect(await violations(redis, state.scripts)).toEqual([]);
    const calls = (await inMemory.queue.calls()) as QueueCalls;
    expect(await violations(clientOfStore(memory), calls)).toEqual([]);
    for (const { queue } of [onRedis, inMemory]) {
      expect((await queue.doctor({ repair: true, exclusive: true })).findings).toEqual([]);
      expect(isAudited ? await gapsIn(queue) : []).toEqual([]);
    }
    [onRedis, inMemory].forEach(({ queue, other }) => [queue, other].forEach((each) => each.close()));
  });
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: true, ...(path !== undefined && { path }) });
}
