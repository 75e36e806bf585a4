// One verb is one script, one call of its name, and one spec of its name (test/lua/headers.spec.ts).
import { describe, expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';
import { resolveQueueOptions } from '#queue/model/queue-options.js';
import { allCalls, contextOf } from '#queue/scripts/calls/all-calls.js';
import { attemptCalls } from '#queue/scripts/calls/attempt-calls.js';
import { queueCalls } from '#queue/scripts/calls/queue-calls.js';
import { JOB } from '#queue/verbs/job.js';
import { callsOf } from '#queue/verbs/verb.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';

const keys = new QueueKeys('jobs');
const options = resolveQueueOptions('queue', {});
const context = contextOf(keys, options);
const calls = allCalls(keys, options);

/** The calls of each folder of lua. */
const ROOMS: Record<string, object> = {
  attempt: attemptCalls(context),
  job: callsOf(JOB, context),
  queue: queueCalls(context),
  action: calls.actions,
  alert: calls.alerts,
  batch: calls.batches,
  deadLetter: calls.deadLetters,
  doctor: calls.doctor,
  group: calls.groups,
  history: calls.history,
  limits: calls.limits,
  once: calls.once,
  schedule: calls.schedules,
  sweep: calls.sweep,
  worker: calls.workers,
};

/** The calls that are no script of their own. */
const NO_SCRIPT: Record<string, string> = {
  'job.get': 'one command',
  'job.cancelAndReturn': 'job/cancel with a request id',
  'queue.now': 'one command',
  'action.read': 'one command',
  'once.forget': 'one command',
  'once.marks': 'one command',
  'group.named': 'group/list of some groups',
  'history.reportVersion': 'history/close-minute before the minute is over',
  'limits.change': 'limits/set of some limits',
  'schedule.get': 'schedule/list of one schedule',
};

/** The scripts that are no call of a queue. */
const NO_CALL: Record<string, string> = {
  auditFrame: 'wraps the other scripts; see audited-script.ts',
  migrateBeeAcknowledge: 'runs on a queue of bee-queue; see src/migrate',
  migrateBeeGiveBack: 'runs on a queue of bee-queue; see src/migrate',
  migrateBullmqAcknowledge: 'runs on a queue of BullMQ; see src/migrate',
  migrateBullmqGiveBack: 'runs on a queue of BullMQ; see src/migrate',
  migrateBullmqTakeScheduler: 'runs on a queue of BullMQ; see src/migrate',
  migrateBullmqTake: 'runs on a queue of BullMQ; see src/migrate',
  queueCheckKeys: 'transport/wrong-keys.ts sends it, after the error of any call',
  queueCheckPermissions: 'asks Redis about the permissions of its user; see script-permissions.ts',
  queueLook: 'of many queues; see queues-calls.ts',
  registerAdd: 'of all queues of a Redis; see src/queue/register',
  registerNames: 'of all queues of a Redis; see src/queue/register',
  sweepNoteIdle: 'of many queues; see queues-calls.ts',
  workerRenew: 'of many queues; see queues-calls.ts',
};

const scriptOf = (room: string, verb: string) => room + verb[0]!.toUpperCase() + verb.slice(1);

const verbs = Object.entries(ROOMS).flatMap(([room, of]) => Object.keys(of).map((verb) => [room, verb] as const));

it('has a call for each script, and a script for each call, but for those with a reason', () => {
  const scripts = verbs.map(([room, verb]) => scriptOf(room, verb));
  expect(Object.keys(luaScripts).filter((script) => !scripts.includes(script))).toEqual(Object.keys(NO_CALL));
  const own = verbs.filter(([room, verb]) => !(scriptOf(room, verb) in luaScripts));
  expect(own.map((names) => names.join('.')).toSorted()).toEqual(Object.keys(NO_SCRIPT).toSorted());
});

/** The calls whose script a function names that several calls share. */
const SHARED: Record<string, { script: string }> = {
  'group.list': calls.groups.list({ by: 'depth', offset: 0, limit: 1 }),
  'history.closeMinute': calls.history.closeMinute({
    pending: 0,
    processing: 0,
    oldestPendingAgeMs: 0,
    version: '',
    gapMs: 0,
  }),
  'schedule.list': calls.schedules.list(0, 1),
};

describe('each call runs the script of its name', () => {
  const named = verbs.filter(([room, verb]) => scriptOf(room, verb) in luaScripts);
  it.each(named)('%s.%s', (room, verb) => {
    const method = (ROOMS[room] as Record<string, () => unknown>)[verb]!;
    const row = room === 'job' ? JOB[verb as keyof typeof JOB] : SHARED[`${room}.${verb}`];
    const text = row ? JSON.stringify(row) : method.toString();
    expect(text).toMatch(new RegExp(`["']${scriptOf(room, verb)}["']`));
  });
});
