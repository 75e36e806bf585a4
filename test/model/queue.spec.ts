// Random sequences of everything that can be done with a queue, on each store and by the rules in test/model/rules.
// After every step the answers and all that can be seen must be equal. A failure is shrunk to a short sequence and printed
// with what brings it back: MODEL_SEED, MODEL_PATH and MODEL_REPLAY. MODEL_RUNS makes more of them.
//
// both-stores.spec compares the stores with each other, and has more verbs. The rules are kept because they depend on
// neither store. They find a fault that both stores have, and a fault in the code that both run: decoders, filters. They
// found each of ten planted faults; both-stores.spec missed one in its default runs. In memory few runs are enough,
// because both-stores.spec holds memory against Redis.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { QueueInMemory } from './memory-queue.js';
import { RedisQueue, type RealQueue } from './real-queue.js';
import { QueueModel } from './rules/queue-model.js';
import { kinds } from './steps/kinds.js';
import type { Step } from './step.js';

const RUNS = Number(process.env.MODEL_RUNS ?? 44);
const SEED = Number(process.env.MODEL_SEED ?? 1);
const LONGEST = 60;

/** Returns sequences of steps, each as often as its weight says. */
function sequences(weights: [number, fc.Arbitrary<Step>][]) {
  const steps = weights.flatMap(([weight, arbitrary]) => Array.from({ length: weight }, () => arbitrary));
  return fc.commands(steps, {
    maxCommands: LONGEST,
    size: 'max',
    ...(process.env.MODEL_REPLAY !== undefined && { replayPath: process.env.MODEL_REPLAY }),
  });
}

const stores: [string, () => (name: string) => RealQueue, share?: number][] = [
  [
    'Redis',
    () =>
      (
        (redis) => (name: string) =>
          new RedisQueue(redis, name)
      )(connect()),
  ],
  [
    'Redis with an audit trail',
    () =>
      (
        (redis) => (name: string) =>
          new RedisQueue(redis, name, { auditTrail: {} })
      )(connect()),
    0.3,
  ],
  ['memory', () => (name) => new QueueInMemory(name), 0.3],
];

describe.each(stores)(
  'the queue on %s does what the rules say, whatever the sequence',
  (_store, open, share = 1) => {
    it.each(kinds)(
      'of %s',
      async (_kind, weights) => {
        const make = open();
        const property = fc.asyncProperty(sequences(weights), async (steps) => {
          const real = make(uniqueQueueName('model'));
          try {
            const model = new QueueModel();
            await fc.asyncModelRun(() => ({ model, real }), steps);
            expect(await real.audit()).toEqual([]);
            expect(await real.violations()).toEqual([]);
          } finally {
            await real.close();
          }
        });
        await fc.assert(property, {
          seed: SEED,
          numRuns: Math.ceil((share * RUNS) / kinds.length),
          ...(process.env.MODEL_PATH !== undefined && { path: process.env.MODEL_PATH }),
        });
      },
      RUNS * 30_000,
    );
  },
);
