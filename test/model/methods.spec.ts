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
import { ScriptStore } from '#memory/script-store.js';
import { methodsOf } from '../support/queue/bad-arguments.js';
import { maintain, operate } from './flow/operate.js';
import { seen } from './flow/seen.js';
import { newSide } from './flow/side.js';
import { flowSteps } from './flow/steps.js';

const COMPARED = 'what it answers is compared after every step';
const LISTENING = 'changes nothing in Redis';
const TRAIL = 'each sequence is also held against its trail, by test/support/invariants/audit-gaps';
const TOPICS = 'changes no key of a queue; test/lua/topic and test/nest/service/topics hold both stores';
const SHARED = 'changes no key of a queue; test/lua/shared-limit and test/worker/limits hold both stores';
const DOCTOR = 'ends every sequence; it finds nothing';

/** Streams change no place of a job. */
const STREAMS = 'test/lua/stream runs its scripts on both stores, and test/worker/attempt/stream.spec.ts a job';
const NO_STEP: Record<string, string> = {
  stats: COMPARED,
  workers: LISTENING,
  'schedules.list': COMPARED,
  doctor: DOCTOR,
  close: 'ends every sequence; it changes nothing in Redis',
  stream: STREAMS,
  findBatch: 'opens what `batch` has made',
  'groups.list': COMPARED,
  'groups.get': COMPARED,
  'limits.get': COMPARED,
  'actionLog.latest': COMPARED,
  'auditTrail.read': TRAIL,
  'auditTrail.latest': TRAIL,
  'auditTrail.take': TRAIL,
  'auditTrail.acknowledge': TRAIL,
  'auditTrail.clear': TRAIL,
  'deadLetters.kinds': COMPARED,
  sharedLimit: SHARED,
};

/** Returns the names of steps, which are the names of the methods that they call. */
function namesOfSteps(): Set<string> {
  const rare = fc.sample(operate, { numRuns: 1_500, seed: 1 });
  const flow = fc.sample(flowSteps('a', true), { numRuns: 1_500, seed: 1 });
  return new Set([...rare, ...flow].map((step) => /^[\w.]*/.exec(step.toString())![0]));
}

const methodsAt = (prototype: object, path: string) => methodsOf(prototype).map((name) => path + name);

it('the model has a step for every method of the core, but for those with a reason', () => {
  const methods = [
    ...methodsOf(JobQueue.prototype),
    ...methodsAt(DeadLetters.prototype, 'deadLetters.'),
    ...methodsAt(Schedules.prototype, 'schedules.'),
    ...methodsAt(Groups.prototype, 'groups.'),
    ...methodsAt(Limits.prototype, 'limits.'),
    ...methodsAt(History.prototype, 'history.'),
    ...methodsAt(AuditTrail.prototype, 'auditTrail.'),
    ...methodsAt(ActionLog.prototype, 'actionLog.'),
  ];
  const steps = namesOfSteps();

  expect(methods.filter((method) => !steps.has(method)).toSorted()).toEqual(Object.keys(NO_STEP).toSorted());
});

const NO_CALL: Record<string, string> = {
  holdResult: 'no caller of a sequence waits for two seconds; test/queue/results/promised-for-a-day holds it',
  'sweep.lookAtKept': 'as holdResult',
  'batches.readers': 'as holdResult',
  'streams.read': STREAMS,
  'streams.tidy': STREAMS,
  'streams.write': STREAMS,
  ...Object.fromEntries(
    ['download', 'read', 'request', 'store', 'take'].map((name) => [
      `profiles.${name}`,
      'no job is changed; test/worker/attempt/asked-profile holds it',
    ]),
  ),
  checkEnqueue: 'sent for calls of more jobs than a sequence has; test/queue/enqueue/bulk-checks holds it',
  now: 'both stores have the clock of the test',
  'audit.read': TRAIL,
  'audit.latest': TRAIL,
  'audit.take': TRAIL,
  'audit.acknowledge': TRAIL,
  'audit.clear': TRAIL,
  'batches.openMembers': LISTENING,
  'doctor.batches': DOCTOR,
  'doctor.clocks': DOCTOR,
  'doctor.counters': DOCTOR,
  'doctor.groups': DOCTOR,
  'doctor.histories': DOCTOR,
  'doctor.inspect': DOCTOR,
  'doctor.scan': DOCTOR,
  'doctor.unique': DOCTOR,
  ...Object.fromEntries(
    ['clear', 'declare', 'extend', 'get', 'giveBack', 'lease', 'noteKeys', 'pause', 'rest', 'resume', 'set'].map(
      (name) => [`sharedLimits.${name}`, SHARED],
    ),
  ),
  ...Object.fromEntries(['declare', 'list', 'remove', 'unhandled'].map((name) => [`topics.${name}`, TOPICS])),
  'groups.awaitingPermit': 'it changes no job; test/lua/group/awaiting-permit.spec.ts has both stores',
  'groups.endRest': 'it needs a limit with a key; test/worker/limits/limit-keys.spec.ts has both stores',
  'sweep.hold': 'the right of a process to maintain changes no job; test/lua/sweep/hold holds it',
};

/** Returns the calls of a store by their paths, such as `sweep.reclaim`, each replaced by `replace`. */
function eachCall(calls: object, replace: (path: string, call: Function) => unknown, path = ''): object {
  const entries = Object.entries(calls).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    if (typeof value === 'function') {
      return [[name, replace(path + name, value)]];
    }
    const isRoom = typeof value === 'object' && value !== null && !['options', 'keys'].includes(name);
    return [[name, isRoom ? eachCall(value, replace, `${path}${name}.`) : value]];
  });
  return Object.assign(
    Object.create(Object.getPrototypeOf(calls) as object) as object,
    Object.fromEntries(entries),
  );
}

/** A store in memory that notes which calls are made. */
class NotingStore extends ScriptStore {
  readonly made = new Set<string>();
  readonly known = new Set<string>();

  override async open(...asked: Parameters<ScriptStore['open']>) {
    return eachCall(await super.open(...asked), (path, call) => {
      this.known.add(path);
      return (...given: unknown[]) => {
        this.made.add(path);
        return call(...given) as unknown;
      };
    }) as Awaited<ReturnType<ScriptStore['open']>>;
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
