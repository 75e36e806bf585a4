import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { awaitAll } from '#queue/results/awaited-results.js';
import { defineJob } from '#queue/enqueue/define-job.js';
import { JobQueue } from '#queue/job-queue.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import { Worker } from '#worker/worker.js';
import {
  callAt,
  complaints,
  methodsOf,
  object,
  options,
  text,
  type Call,
  type Parameter,
} from '../../support/queue/bad-arguments.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { HOURLY } from '../../support/queue/schedules.js';
import { Greet, VERBS } from '../../support/queue/verb-arguments.js';

const RATE = { limit: 1, periodMs: 1_000 };

/** The parts of a queue that have methods for callers only. */
const PARTS = ['limits', 'groups', 'history', 'auditTrail', 'actionLog'] as const;

function methodsIn(queue: JobQueue, part: (typeof PARTS)[number]): string[] {
  return methodsOf(queue[part]).map((method) => `${part}.${method}`);
}

describe('every method of a queue refuses an argument that is none, by name, and writes nothing', () => {
  it.each(Object.entries(VERBS))('%s', async (verb, parameters) => {
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
    const rows = Object.keys(VERBS);
    const methods = [...methodsOf(queue), ...PARTS.flatMap((part) => methodsIn(queue, part))];
    expect(methods.filter((name) => ![...takesNothing, ...rows].includes(name))).toEqual([]);
  });
});

describe('every method of a shared limit refuses an argument that is none', () => {
  const rates = [
    { rateLimit: { limit: 0, periodMs: 1 } },
    { rateLimit: [5] },
    { rateLimit: Array.from({ length: 9 }, () => RATE) },
  ];
  it.each<[string, Parameter[]]>([
    ['set', [object({}, { maxRunning: 0 }, { maxRunning: null }, ...rates)]],
    ['change', [object({}, { maxRunning: 0 }, ...rates)]],
    ['pause', [options({}, { forMs: 0 }, { by: '' }, { reason: 5 })]],
  ])('%s', async (method, parameters) => {
    const limit = coreQueue().queue.sharedLimit('partner');
    expect(await complaints(parameters, callAt(limit, method))).toEqual([]);
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
