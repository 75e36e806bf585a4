import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { awaitAll } from '#queue/results/await-all.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import { JobQueue } from '#queue/job-queue.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import { Worker } from '#worker/worker.js';
import {
  anything,
  callAt,
  complaints,
  methodsOf,
  object,
  options,
  payload,
  text,
  type Call,
  type Parameter,
} from '../../support/queue/bad-arguments.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { HOURLY } from '../../support/queue/schedules.js';

const Greet = defineJob('greet', { payload: z.object({ to: z.string() }) });
const greeting = { to: 'ada' };
const claim = { id: 'claimed', token: 'wrong', fence: 1, options: {}, attempt: 1 };
const claimed = object(claim, {}, { ...claim, id: null }, { ...claim, token: null }, { ...claim, fence: 'x' });
const failing = object(claim, {}, { ...claim, options: null }, { ...claim, attempt: '1' });
const start = object({ delayMs: 5 }, {}, { delayMs: null }, { runAt: null }, { delayMs: 'soon' });
const status: Parameter = ['pending', [null, undefined, 5, 'waiting', {}]];
const cleanable: Parameter = ['cancelled', [null, undefined, 5, 'processing']];
const page = options({}, { limit: null }, { limit: '5' }, { offset: -1 });
const ids: Parameter = [['none'], [null, undefined, 'none', 5, {}, [null], [5]]];
const many: Parameter = [
  [{ payload: 1 }],
  [null, undefined, 5, 'text', {}, [null], [5], [{}], [{ payload: 1, id: 5 }]],
];
const greetings: Parameter = [[{ payload: greeting }], [null, undefined, 5, 'text', {}, [null], [{}]]];
const group = text('g');
const entries: Parameter = [[], [null, undefined, 5, 'text', {}, [null], [5], [{}], [{ entryId: 5 }]]];
const recurrence = object(HOURLY, {}, { cron: null }, { everyMs: '5' });

/** Each method of a queue; behind a colon, other arguments that it can take. */
const verbs: Record<string, Parameter[]> = {
  enqueue: [payload(1), options({}, { id: null }, { unique: null })],
  'enqueue: definition': [anything(Greet), payload(greeting), options({}, { name: 'other' })],
  enqueueMany: [many],
  'enqueueMany: definition': [anything(Greet), greetings],
  claim: [options({}, { timeoutMs: null }, { worker: null })],
  claimMany: [[1, [null, undefined, '1', {}, NaN]], options({}, { worker: 5 })],
  complete: [claimed, [1, [() => {}, 5n]]],
  fail: [failing, anything('no'), options({}, { final: 1 })],
  release: [claimed, options({}, { delayMs: null })],
  extend: [claimed, options({}, { visibilityMs: null }, { visibilityMs: '5' })],
  reclaim: [options({}, { limit: null })],
  get: [text('a')],
  list: [status, page],
  result: [text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  'result: definition': [anything(Greet), text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  awaitResult: [text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  cancel: [text('none')],
  onCancelled: [[() => {}, [null, undefined, 5, {}]]],
  remove: [text('none')],
  promote: [text('none')],
  update: [text('none'), payload(1)],
  'update: definition': [anything(Greet), text('none'), payload(greeting)],
  setPriority: [text('none'), [5, [null, undefined, '5', -1, 1_001, NaN]]],
  runAgain: [text('none')],
  outcome: [text('none')],
  clean: [cleanable, options({}, { limit: null })],
  batch: [options({}, { then: 5 }, { failFast: 1 })],
  findBatch: [text('none')],
  listBatches: [options({}, { limit: null }, { offset: -1 }, { page: 1 }, { ended: 1 })],
  reschedule: [text('none'), start],
  purge: [object({ confirm: 'another' }, { confirm: null })],
  doctor: [options({}, { repair: 1 })],
  'schedules.upsert': [text('s'), recurrence, options({}, { name: 5 }, { definition: {} })],
  'schedules.list': [page],
  'schedules.get': [text('none')],
  'schedules.pause': [text('none')],
  'schedules.resume': [text('none')],
  'schedules.remove': [text('none')],
  'schedules.runNow': [text('none')],
  'schedules.tick': [options({}, { limit: null })],
  'deadLetters.list': [options({}, { name: null }, { cursor: 5 })],
  'deadLetters.get': [text('none')],
  'deadLetters.redrive': [text('none'), options({})],
  'deadLetters.redrive: definition': [anything(Greet), text('none'), options({})],
  'deadLetters.redriveAsNew': [text('none'), options({})],
  'deadLetters.redriveMany': [ids],
  'deadLetters.redriveAll': [options({}, { name: 5 }, { filter: {} })],
  'deadLetters.discard': [text('none')],
  'deadLetters.discardAll': [options({}, { name: 5 }, { filter: {} })],
  pause: [options({}, { by: 5 }, { reason: null }, { forMs: 0 }, { forMs: '2h' })],
  'limits.set': [object({}, { maxRunning: 0 }, { rateLimit: null }, { maxPending: '5' })],
  'limits.change': [object({}, { maxRunning: 0 }, { rateLimit: { burst: 2 } }, { groups: 5 })],
  'groups.list': [options({}, { by: 'name' }, { limit: null }, { offset: -1 })],
  'groups.get': [group],
  'groups.set': [group, object({}, { maxRunning: 0 }, { weight: null })],
  'groups.clear': [group],
  'groups.pause': [group, options({}, { by: 5 })],
  'groups.resume': [group],
  'groups.clean': [group, options({}, { limit: null }, { olderThanMs: '5' })],
  'history.read': [options({}, { lastMs: null }, { stepMs: 5 })],
  'auditTrail.read': [options({}, { after: 5 }, { limit: null })],
  'auditTrail.latest': [options({}, { limit: null }, { after: '1-0' })],
  'auditTrail.take': [object({ group: 'g', consumer: 'c' }, {}, { group: 5, consumer: 'c' }, { group: 'g' })],
  'actionLog.latest': [options({}, { limit: null }, { before: 5 }, { action: 5 }, { by: '' }, { via: 'web' })],
  'auditTrail.acknowledge': [text('g'), entries],
};

/** The parts of a queue that have methods for callers only. */
const PARTS = ['limits', 'groups', 'history', 'auditTrail', 'actionLog'] as const;

function methodsIn(queue: JobQueue, part: (typeof PARTS)[number]): string[] {
  return methodsOf(queue[part]).map((method) => `${part}.${method}`);
}

describe('every method of a queue refuses an argument that is none, by name, and writes nothing', () => {
  it.each(Object.entries(verbs))('%s', async (verb, parameters) => {
    const { queue, state } = coreQueue();
    await queue.enqueueMany(['claimed', 'letter', 'a'].map((id) => ({ payload: 1, id })));
    await queue.claim();
    await queue.fail((await queue.claim())!, 'no', { final: true });
    await queue.schedules.upsert('standing', HOURLY);
    const { actions: _log, ...before } = await state.snapshot();
    expect(await complaints(parameters, callAt(queue, verb))).toEqual([]);
    const { actions: _later, ...after } = await state.snapshot(); // a verb that Redis refuses leaves a void entry
    expect(after).toEqual(before);
  });

  it('has a row here', () => {
    const { queue } = coreQueue();
    const takesNothing = ['stats', 'workers', 'resume', 'close', 'limits.get', 'limits.clear', 'auditTrail.clear'];
    const internal = [
      'as asAction audit calls checkKeys coded exec extendPause lostMembers outbox queueOfMember sleep uncheckedCalls',
      'limits.record groups.cleanSlices groups.extendPause actionLog.record actionLog.recordOfJob actionLog.note actionLog.noteEnd',
    ].flatMap((names) => names.split(' '));
    const rows = Object.keys(verbs);
    const methods = [...methodsOf(queue), ...PARTS.flatMap((part) => methodsIn(queue, part))];
    expect(methods.filter((name) => ![...takesNothing, ...internal, ...rows].includes(name))).toEqual([]);
  });
});

describe('a function without a queue refuses an invalid argument, by name', () => {
  const client = connect();
  const queue = new JobQueue(client, 'jobs');
  const handlers = { a: () => 1 };
  const noHandles = [null, undefined, 5, {}, 'text', [null], [5], [{}]];
  const noQueues = [null, undefined, 5, {}, [], [null], [{ queue }], [{ queue, handlers: { a: null } }]];
  const noSchedules = [null, undefined, 5, {}, { recurrence: null }, { recurrence: HOURLY, options: null }];
  it.each<[string, Parameter[], Call]>([
    [
      'new JobQueue',
      [[client, [null, undefined, 5, 'redis://', {}]], text('jobs'), options({})],
      (...[redis, name, given]) => new JobQueue(redis as never, name as never, given as never),
    ],
    [
      'awaitAll',
      [[[], noHandles], options({})],
      (...[handles, given]) => awaitAll(handles as never, given as never),
    ],
    [
      'defineJob',
      [text('x'), object({ payload: z.null() }, {}, { payload: null })],
      (...[name, given]) => defineJob(name as never, given as never),
    ],
    [
      'defineHandler',
      [object(Greet, {}), [() => 1, [null, undefined, 5, {}]], options({})],
      (...[definition, handle, given]) => defineHandler(definition as never, handle as never, given as never),
    ],
    [
      'new Worker',
      [[[{ queue, handlers }], noQueues], options({})],
      (...[queues, given]) => new Worker(queues as never, given as never),
    ],
    [
      'a schedule of a worker',
      [[{ recurrence: HOURLY }, noSchedules]],
      (nightly) => new Worker([{ queue, handlers, schedules: { nightly: nightly as never } }]),
    ],
  ])('%s', async (_, parameters, call) => {
    expect(await complaints(parameters, call)).toEqual([]);
  });

  it('the result of a handle', async () => {
    const handle = await coreQueue().queue.enqueue(1);
    const parameters = [options({ timeoutMs: 1 }, { timeoutMs: null }, { signal: null })];
    expect(await complaints(parameters, callAt(handle, 'result'))).toEqual([]);
  });
});
