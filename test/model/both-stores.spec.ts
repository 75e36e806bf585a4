// Random sequences with groups, limits, costs, batches and after, on Redis and in memory. After every step the replies
// and all visible state are equal. MODEL_RUNS and MODEL_SEED draw other sequences.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JobQueue } from '#queue/job-queue.js';
import { JOB_STATUSES } from '#queue/model/job.js';
import { systemClock } from '#queue/runtime/clock.js';
import { MemoryServer } from '#testing/memory-store/memory-server.js';
import { MemoryStore } from '#testing/memory-store/memory-store.js';
import { violations } from '../support/invariants/invariants.js';
import { SlotWatch } from '../support/invariants/slot-watch.js';
import { memoryViolations } from '../support/invariants/memory-invariants.js';
import { queueOn } from '../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { flowSteps, maintain, type FlowStep, type Side } from './flow/steps.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 20);
const sequences = fc
  .tuple(fc.constantFrom(undefined, 'a'), fc.boolean())
  .chain(([group, rates]) => fc.array(flowSteps(group, rates), { minLength: 20, maxLength: 60, size: 'max' }));
const SEED = Number(process.env.MODEL_SEED ?? 1);

/** Returns a queue's visible state, without random parts. */
async function seen({ queue, batches }: Side) {
  const { pending, scheduled, processing, completed, failed, cancelled, totals } = await queue.stats();
  const lists = await Promise.all(JOB_STATUSES.map((status) => queue.list(status, { limit: 1_000 })));
  const jobs = lists.flat().map((job) => {
    const { id, name, status, payload, priority, group, attempts, after, lastError, result } = job;
    const { checkpoint, progress } = job;
    const own = { id, status, payload, priority, group, attempts, after, lastError, result };
    return JSON.stringify({ ...own, name, checkpoint, progress });
  });
  const groups = await Promise.all(['a'].map((name) => queue.groups.get(name)));
  return {
    counts: { pending, scheduled, processing, completed, failed, cancelled },
    totals,
    jobs: jobs.toSorted((a, b) => a.localeCompare(b)),
    groups: groups.map(({ name, pending: waiting, running, pausedAt, heldBy, opensAt, limits }) => ({
      name,
      waiting,
      running,
      heldBy,
      limits,
      isPaused: pausedAt !== null,
      opensLater: opensAt !== null,
    })),
    batches: await Promise.all(
      batches.map(async (batch) => {
        const record = await batch.status().catch((error: Error) => error.name);
        if (typeof record === 'string') return record;
        const { state, stopped, total, open } = record;
        const { members } = await batch.results({ limit: 1_000 });
        return { state, stopped, total, open, members };
      }),
    ),
  };
}

async function answer(step: FlowStep, side: Side): Promise<unknown> {
  return step.does(side).catch((error: Error) => error.name);
}

it(
  'a queue on Redis and one in memory do the same, whatever the sequence',
  async () => {
    const redis = connect();
    const property = fc.asyncProperty(sequences, async (steps) => {
      const name = uniqueQueueName('both');
      const state = queueOn(redis, {}, name);
      let time = await state.now();
      const server = new MemoryServer(() => time);
      const memory = new MemoryStore({ ...systemClock, now: () => time }, { server });
      const sides = [redis, memory].map((store): Side => ({
        queue: new JobQueue(store, name),
        claims: [],
        ids: [],
        batches: [],
      }));
      const slots = new SlotWatch();
      for (const step of steps) {
        const [onRedis, inMemory] = sides as [Side, Side];
        const found = await answer(step, onRedis);
        expect(await slots.look(redis, state.scripts)).toEqual([]);
        await maintain(onRedis);
        time = await state.now();
        expect({ step: step.text, answer: await answer(step, inMemory) }).toEqual({
          step: step.text,
          answer: found,
        });
        await maintain(inMemory);
        expect({ step: step.text, ...(await seen(inMemory)) }).toEqual({
          step: step.text,
          ...(await seen(onRedis)),
        });
      }
      // Every step was awaited, so nothing is in flight.
      await state.run(state.scripts.sweep.tidy(500));
      expect(await violations(redis, state.scripts)).toEqual([]);
      expect(memoryViolations(server.queue(name, sides[1]!.queue.options))).toEqual([]);
      sides.forEach(({ queue }) => queue.close());
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
  },
  RUNS * 10_000,
);
