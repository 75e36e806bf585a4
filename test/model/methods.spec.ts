// Every public method of the core is a step of the sequences, by its name, or it is told here why not: so a new one is
// not forgotten.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeadLetters } from '#queue/dead-letters/dead-letters.js';
import { JobQueue } from '#queue/job-queue.js';
import { Schedules } from '#queue/schedules/schedules.js';
import { kinds } from './steps/kinds.js';

const COMPARED = 'what it answers is compared after every step';
const PRIVATE = 'a private part of the others';
const PLUMBING = 'runs a script for the others; it does nothing with jobs by itself';
const LISTENING = 'changes nothing in Redis';
const BY_CODE = 'for schedules that the code of a worker declares, not for callers';

const NO_STEP: Record<string, string> = {
  get: COMPARED,
  list: COMPARED,
  stats: COMPARED,
  workers: LISTENING,
  'schedules.list': COMPARED,
  close: 'ends every sequence; it changes nothing in Redis',
  onCancelled: LISTENING,
  'schedules.onChange': LISTENING,
  'schedules.put': BY_CODE,
  'schedules.declare': BY_CODE,
  calls: PLUMBING,
  exec: PLUMBING,
  batch: 'batches have random sequences of their own, in test/queue/batches/races.spec.ts',
  findBatch: 'as `batch`',
  listBatches: 'as `batch`',
  enqueueOne: PRIVATE,
  enqueueAll: PRIVATE,
  closeResults: 'ends what waits in this process; it changes nothing in Redis',
  enqueuePayload: PRIVATE,
  claimOnce: PRIVATE,
  'deadLetters.editedPayload': PRIVATE,
  'deadLetters.each': PRIVATE,
  'deadLetters.ask': PRIVATE,
  'deadLetters.exec': PRIVATE,
  'schedules.announceChange': PRIVATE,
  'schedules.withNext': PRIVATE,
  'schedules.call': PRIVATE,
};

/** A step is named as the method that it calls. */
function namesOfSteps(): Set<string> {
  const steps = kinds.flatMap(([, weights]) =>
    weights.flatMap(([, each]) => fc.sample(each, { numRuns: 300, seed: 1 })),
  );
  return new Set(steps.map((step) => /^[\w.]*/.exec(step.toString())![0]));
}

/** Those of a class and of what it extends. */
function methodsOf(prototype: object, path = ''): string[] {
  const above = Object.getPrototypeOf(prototype) as object;
  const inherited = above === Object.prototype ? [] : methodsOf(above, path);
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => path + name);
  return [...inherited, ...own];
}

it('has a step for every method of JobQueue, DeadLetters and Schedules, but for those with a reason', () => {
  const methods = [
    ...methodsOf(JobQueue.prototype),
    ...methodsOf(DeadLetters.prototype, 'deadLetters.'),
    ...methodsOf(Schedules.prototype, 'schedules.'),
  ];
  const steps = namesOfSteps();

  expect(methods.filter((method) => !steps.has(method)).toSorted()).toEqual(Object.keys(NO_STEP).toSorted());
});
