// Every public method of the core is a step of the sequences, or has a reason here. So has every call of the store. So no
// verb is forgotten.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeadLetters } from '#queue/dead-letters/dead-letters.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { Schedules } from '#queue/schedules/schedules.js';
import { ActionLog } from '#queue/actions/action-log.js';
import { AuditTrail } from '#queue/operate/audit-trail.js';
import { Groups } from '#queue/operate/groups.js';
import { History } from '#queue/operate/history.js';
import { Limits } from '#queue/operate/limits.js';
import { MemoryStore } from '#memory/memory-store.js';
import { maintain, operate } from './flow/operate.js';
import { seen } from './flow/seen.js';
import { newSide } from './flow/side.js';
import { flowSteps } from './flow/steps.js';

const COMPARED = 'what it answers is compared after every step';
const PRIVATE = 'a private part of the others';
const PLUMBING = 'runs a script for the others; it does nothing with jobs by itself';
const LISTENING = 'changes nothing in Redis';
const TRAIL = 'each sequence on Redis is also held against its trail, by test/support/invariants/audit-gaps';

const NO_STEP: Record<string, string> = {
  stats: COMPARED,
  workers: LISTENING,
  'schedules.list': COMPARED,
  doctor: 'ends every sequence on Redis; it finds nothing there',
  close: 'ends every sequence; it changes nothing in Redis',
  onCancelled: LISTENING,
  'schedules.onChange': LISTENING,
  calls: PLUMBING,
  exec: PLUMBING,
  sleep: PLUMBING,
  coded: PLUMBING,
  as: PLUMBING,
  asAction: PLUMBING,
  audit: PRIVATE,
  checkKeys: PLUMBING,
  lostMembers: LISTENING,
  uncheckedCalls: PLUMBING,
  findBatch: 'opens what `batch` has made',
  'groups.list': COMPARED,
  'groups.get': COMPARED,
  'limits.get': COMPARED,
  'limits.record': PRIVATE,
  'groups.cleanSlices': PRIVATE,
  'groups.extendPause': PRIVATE,
  'deadLetters.record': PRIVATE,
  'schedules.record': PRIVATE,
  'schedules.resumeWithNext': PRIVATE,
  'actionLog.latest': COMPARED,
  'actionLog.record': PLUMBING,
  'actionLog.recordOfJob': PLUMBING,
  'actionLog.note': PLUMBING,
  'actionLog.noteEnd': PRIVATE,
  'auditTrail.read': TRAIL,
  'auditTrail.latest': TRAIL,
  'auditTrail.take': TRAIL,
  'auditTrail.acknowledge': TRAIL,
  'auditTrail.clear': TRAIL,
  awaitResult: PRIVATE,
  extendPause: PRIVATE,
  'deadLetters.editedPayload': PRIVATE,
  'deadLetters.each': PRIVATE,
  'deadLetters.kinds': COMPARED,
  'schedules.announceChange': PRIVATE,
  'schedules.withNext': PRIVATE,
  'schedules.call': PRIVATE,
};

/** Returns the names of steps, which are the names of the methods that they call. */
function namesOfSteps(): Set<string> {
  const rare = fc.sample(operate, { numRuns: 1_500, seed: 1 });
  const flow = fc.sample(flowSteps('a', true), { numRuns: 1_500, seed: 1 });
  return new Set([...rare, ...flow].map((step) => /^[\w.]*/.exec(step.toString())![0]));
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

it('the model has a step for every method of the core, but for those with a reason', () => {
  const methods = [
    ...methodsOf(JobQueue.prototype),
    ...methodsOf(DeadLetters.prototype, 'deadLetters.'),
    ...methodsOf(Schedules.prototype, 'schedules.'),
    ...methodsOf(Groups.prototype, 'groups.'),
    ...methodsOf(Limits.prototype, 'limits.'),
    ...methodsOf(History.prototype, 'history.'),
    ...methodsOf(AuditTrail.prototype, 'auditTrail.'),
    ...methodsOf(ActionLog.prototype, 'actionLog.'),
  ];
  const steps = namesOfSteps();

  expect(methods.filter((method) => !steps.has(method)).toSorted()).toEqual(Object.keys(NO_STEP).toSorted());
});

const NO_CALL: Record<string, string> = {
  now: 'both stores have the clock of the test',
  'audit.read': 'the memory store has no trail, and says so',
  'audit.latest': 'the memory store has no trail, and says so',
  'audit.take': 'the memory store has no trail, and says so',
  'audit.acknowledge': 'the memory store has no trail, and says so',
  'audit.clear': 'the memory store has no trail, and says so',
  'batches.deliver':
    'in memory an end reaches a batch in another queue at once; on Redis maintenance makes the call',
  'batches.cancel': 'as batches.deliver',
  'batches.ends': 'as batches.deliver',
  'batches.openMembers': LISTENING,
  'sweep.hold': 'the right of a process to maintain changes no job; test/lua/sweep/hold holds it',
};

/** Returns the calls of a store by their paths, such as `sweep.reclaim`, each replaced by `replace`. */
function eachCall(calls: object, replace: (path: string, call: Function) => unknown, path = ''): object {
  const entries = Object.entries(calls).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    if (typeof value === 'function') {
      return [[name, replace(path + name, value)]];
    }
    const isRoom = typeof value === 'object' && value !== null && !['options', 'queue'].includes(name);
    return [[name, isRoom ? eachCall(value, replace, `${path}${name}.`) : value]];
  });
  return Object.assign(
    Object.create(Object.getPrototypeOf(calls) as object) as object,
    Object.fromEntries(entries),
  );
}

/** A store in memory that notes which calls are made. */
class NotingStore extends MemoryStore {
  readonly made = new Set<string>();
  readonly known = new Set<string>();

  override async open(...asked: Parameters<MemoryStore['open']>) {
    return eachCall(await super.open(...asked), (path, call) => {
      this.known.add(path);
      return (...given: unknown[]) => {
        this.made.add(path);
        return call(...given) as unknown;
      };
    }) as Awaited<ReturnType<MemoryStore['open']>>;
  }
}

it('the model makes every call of the store in a random sequence, but for those with a reason', async () => {
  let now = Date.now();
  const store = new NotingStore({ ...systemClock, now: () => now });
  const sequences = fc.array(flowSteps(undefined, false), { minLength: 60, maxLength: 60 });
  for (const [i, steps] of fc.sample(sequences, { numRuns: 40, seed: 1 }).entries()) {
    const side = newSide(new JobQueue(store, `queue-${i}`), new JobQueue(store, `other-${i}`), () => now);
    for (const { does, passesMs = 0 } of steps) {
      now += passesMs;
      await does(side).catch(() => undefined); // a refusal is an answer too
      await maintain(side);
    }
    await seen(side);
  }

  expect([...store.known].filter((call) => !store.made.has(call)).toSorted()).toEqual(
    Object.keys(NO_CALL).toSorted(),
  );
});
