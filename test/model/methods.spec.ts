// Every public method of the core is a step of the sequences, or has a reason here. So no new method is forgotten.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeadLetters } from '#queue/dead-letters/dead-letters.js';
import { JobQueue } from '#queue/job-queue.js';
import { Schedules } from '#queue/schedules/schedules.js';
import { AuditTrail } from '#queue/operate/audit-trail.js';
import { Groups } from '#queue/operate/groups.js';
import { History } from '#queue/operate/history.js';
import { Limits } from '#queue/operate/limits.js';
import { flowSteps } from './flow/steps.js';
import { kinds } from './steps/kinds.js';

const COMPARED = 'what it answers is compared after every step';
const PRIVATE = 'a private part of the others';
const PLUMBING = 'runs a script for the others; it does nothing with jobs by itself';
const LISTENING = 'changes nothing in Redis';
const READS = 'reads what workers wrote, minute by minute; here is no worker';
const TRAIL = 'each sequence on Redis is also held against its trail, by test/support/invariants/audit-gaps';
const BY_CODE = 'for schedules that the code of a worker declares, not for callers';

const NO_STEP: Record<string, string> = {
  get: COMPARED,
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
  sleep: PLUMBING,
  findBatch: 'opens what `batch` has made',
  'groups.list': 'a page of what `groups.get` answers',
  'groups.get': COMPARED,
  'limits.change': 'a set of one limit; test/queue/operate/change-limits.spec.ts',
  'limits.get': 'reads what `limits.set` wrote; test/queue/operate holds it',
  'history.read': READS,
  'auditTrail.read': TRAIL,
  'auditTrail.latest': TRAIL,
  'auditTrail.take': TRAIL,
  'auditTrail.acknowledge': TRAIL,
  'auditTrail.clear': TRAIL,
  awaitResult: PRIVATE,
  'deadLetters.editedPayload': PRIVATE,
  'deadLetters.each': PRIVATE,
  'deadLetters.ask': PRIVATE,
  'deadLetters.exec': PRIVATE,
  'schedules.announceChange': PRIVATE,
  'schedules.withNext': PRIVATE,
  'schedules.call': PRIVATE,
};

/** Returns the names of steps, which are the names of the methods that they call. */
function namesOfSteps(): Set<string> {
  const steps = kinds.flatMap(([, weights]) =>
    weights.flatMap(([, each]) => fc.sample(each, { numRuns: 300, seed: 1 })),
  );
  const flow = fc.sample(flowSteps('a', true), { numRuns: 300, seed: 1 });
  return new Set([...steps, ...flow].map((step) => /^[\w.]*/.exec(step.toString())![0]));
}

/** Returns the methods of a class and of its base classes. */
function methodsOf(prototype: object, path = ''): string[] {
  const above = Object.getPrototypeOf(prototype) as object;
  const inherited = above === Object.prototype ? [] : methodsOf(above, path);
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => path + name);
  return [...inherited, ...own];
}

it('has a step for every method of the core, but for those with a reason', () => {
  const methods = [
    ...methodsOf(JobQueue.prototype),
    ...methodsOf(DeadLetters.prototype, 'deadLetters.'),
    ...methodsOf(Schedules.prototype, 'schedules.'),
    ...methodsOf(Groups.prototype, 'groups.'),
    ...methodsOf(Limits.prototype, 'limits.'),
    ...methodsOf(History.prototype, 'history.'),
    ...methodsOf(AuditTrail.prototype, 'auditTrail.'),
  ];
  const steps = namesOfSteps();

  expect(methods.filter((method) => !steps.has(method)).toSorted()).toEqual(Object.keys(NO_STEP).toSorted());
});
