// The calls that reach many queues. Some servers accept less than 4,000 arguments.
import { expect, it } from '@jest/globals';
import { resolveQueueOptions } from '#queue/model/queue-options.js';
import { allCalls } from '#queue/scripts/all-calls.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { queuesVerbs } from '#queue/scripts/queues-calls.js';
import type { ScriptCall } from '#queue/transport/script-runner.js';
import { LOOKED_AT, REMAINS } from '#worker/maintenance/maintenance-right.js';

const QUEUES = 5_000;
const LIMIT = { timeoutMs: 1_000 };
const options = resolveQueueOptions('test queue', {});
const queues = Array.from({ length: QUEUES }, (_, i) => allCalls(new QueueKeys(`q${i}`), options));

/** Returns the verbs, and the number of arguments of each call that they send. The script and the number of keys are two. */
function verbsOf(isSharded: boolean) {
  const sizes: number[] = [];
  const exec = ({ keys, args }: ScriptCall<unknown>) => {
    sizes.push(keys.length + args.length + 2);
    return Promise.reject(new Error('no server'));
  };
  const store = { isSharded, serverOf: () => '', exec };
  return { verbs: queuesVerbs(store as Parameters<typeof queuesVerbs>[0]), sizes };
}

it('only the queue that was asked for gets the list of its workers', async () => {
  const store = {
    isSharded: false,
    serverOf: () => '',
    exec: ({ decode }: ScriptCall<unknown>) => Promise.resolve(decode([[], [], []])),
  };
  const verbs = queuesVerbs(store as unknown as Parameters<typeof queuesVerbs>[0]);
  const announced = queues.slice(0, 25).map((calls) => ({ calls, handlers: [] }));
  const lists = { calls: queues[1]!, most: 100 };
  const outcomes = await verbs.renew(announced, { worker: 'w', checks: false, lists }, LIMIT);
  expect(outcomes.flatMap((each, i) => (each.ok && each.reply.workers ? [i] : []))).toEqual([1]);
});

it.each([false, true])('have at most 3,999 arguments for 5,000 queues, in a Cluster: %s', async (isSharded) => {
  const { verbs, sizes } = verbsOf(isSharded);
  const announced = queues.map((calls) => ({ calls, handlers: [{ name: 'mail', maxAttempts: 3, maxCrashes: 3 }] }));
  const lists = { calls: queues[0]!, most: 100 };
  const outcomes = await Promise.all([
    verbs.look(queues, ['pending'], LIMIT),
    verbs.look(queues, ['pending', 'prioritized', 'due', 'groupDepths'], LIMIT),
    verbs.look(queues, LOOKED_AT, LIMIT),
    verbs.look(queues, REMAINS, LIMIT),
    verbs.noteIdle(queues, { everyMs: 5_000, gapMs: 60_000 }, LIMIT),
    verbs.renew(announced, { worker: 'w', checks: false, lists }, LIMIT),
    verbs.renew(announced, { worker: 'w', checks: true, lists }, LIMIT),
    verbs.register(queues, LIMIT),
  ]);
  expect(outcomes.map((each) => each.length)).toEqual(outcomes.map(() => QUEUES));
  expect(Math.max(...sizes)).toBeLessThan(4_000);
  expect(Math.max(...sizes)).toBeGreaterThan(3_800);
});
