import { describe, expect, it } from '@jest/globals';
import { defineJob, JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import {
  anything,
  callAt,
  complaints,
  methodsOf,
  object,
  options,
  payload,
  text,
  type Parameter,
} from '../../support/queue/bad-arguments.js';
import { queueOn } from '../../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { HOURLY } from '../../support/queue/schedules.js';
import { startApp } from '../app.js';

const name = uniqueQueueName('bad');
const Greet = defineJob(name, { payload: z.object({ to: z.string() }) });
const greeting = { to: 'ada' };
const job: Parameter = [name, [null, undefined, 5, {}, [], '', { name }]];
/** One that may be left out, and then means all. */
const anyJob: Parameter = [name, [null, 5, {}, [], '']];
const page = options({}, { limit: null }, { limit: '5' }, { offset: -1 });
const requests: Parameter = [
  [{ payload: 1 }],
  [null, undefined, 5, 'text', {}, [null], [5], [{}], [{ payload: 1, id: 5 }]],
];
const greetings: Parameter = [[{ payload: greeting }], [null, undefined, 5, 'text', {}, [null], [{}]]];
const recurrence = object(HOURLY, {}, { cron: null });

/** Each method of the service; behind a colon, other arguments that it can take. */
const verbs: Record<string, Parameter[]> = {
  enqueue: [job, payload(1), options({}, { id: null }, { queue: null }, { queue: 5 })],
  'enqueue: definition': [anything(Greet), payload(greeting), options({}, { queue: null })],
  enqueueMany: [job, requests, options({}, { queue: null })],
  'enqueueMany: definition': [anything(Greet), greetings, options({}, { queue: 5 })],
  publish: [
    ['order.paid', [null, undefined, 5, {}, [], '', 'order/paid']],
    payload(1),
    options(
      { fanOut: 'worker' },
      { id: null },
      { id: 5 },
      { ifNone: 'no' },
      { fanOut: 5 },
      { group: '' },
      { ordered: true },
    ),
  ],
  'topics.list': [['order.paid', [null, 5, {}, []]]],
  'topics.remove': [text('order.paid'), text('receipts')],
  batch: [object({ queue: name, then: { name, payload: 1 } }, {}, { then: 5 }, { failFast: 1 })],
  findBatch: [job, text('none'), options({}, { queue: null }, { queue: 5 })],
  queue: [[name, [null, undefined, 5, {}, '']]],
  shards: [job, options({}, { queue: null }, { queue: 5 })],
  shardOf: [job, text('a'), options({}, { queue: null }, { queue: 5 })],
  limits: [['partner', [null, undefined, 5, {}, '', 'a b']]],
  get: [job, text('a')],
  result: [job, text('a'), options({ timeoutMs: 1 }, { timeoutMs: null })],
  stream: [
    job,
    text('a'),
    options({}, { after: null }, { after: 'x' }, { signal: 5 }, { cancelOnLeave: 1 }, { queue: 5 }),
  ],
  signal: [job, text('none'), text('approved'), anything(1), options({}, { queue: null }, { queue: 5 })],
  pauseWorker: [[name, [null, 5, {}, '']]],
  resumeWorker: [[name, [null, 5, {}, '']]],
  cancel: [job, text('none')],
  pause: [job],
  resume: [job],
  'schedules.upsert': [job, text('s'), recurrence, options({}, { queue: null }, { queue: 5 })],
  'schedules.upsert: definition': [anything(Greet), text('s'), recurrence, [{ payload: greeting }, [null, 5, {}]]],
  'schedules.list': [anyJob, page],
  'schedules.get': [job, text('none')],
  'schedules.pause': [job, text('none')],
  'schedules.resume': [job, text('none')],
  'schedules.remove': [job, text('none')],
  'schedules.runNow': [job, text('none')],
  'events.where': [
    object({}, { id: null }, { id: 5 }, { queue: [] }, { status: 'waiting' }, { statuse: 'failed' }),
  ],
};

describe('every method of the service refuses an argument that is none, by name, and writes nothing', () => {
  it.each(Object.entries(verbs))('%s', async (verb, parameters) => {
    const jobs = (await startApp({ jobs: { worker: false, maintenance: false } })).get(JobQueueService);
    const state = queueOn(connect(), {}, name);
    await jobs.enqueue(name, 1, { id: 'a' });
    const before = await state.snapshot();
    const known = jobs.queueNames();
    expect(await complaints(parameters, callAt(jobs, verb))).toEqual([]);
    expect(await state.snapshot()).toEqual(before);
    expect(jobs.queueNames()).toEqual(known);
    await jobs.queue(name).purge({ confirm: name });
  });

  it('has a row here', async () => {
    const jobs = (await startApp({})).get(JobQueueService);
    const others = ['queueNames', 'startWorkers', 'drain', 'setConcurrency', 'once']; // `once` in test/outbox
    const rows = Object.keys(verbs);
    expect(methodsOf(jobs).filter((method) => ![...others, ...rows].includes(method))).toEqual([]);
  });
});

it('names the call of a job without an id', async () => {
  const jobs = (await startApp({})).get(JobQueueService) as Record<
    string,
    (...args: unknown[]) => Promise<unknown>
  >;
  await expect(jobs.cancel!('some-id')).rejects.toThrow(
    'cancel: expected a job and an id, found "some-id" alone. Write cancel(\'email\', id).',
  );
  await expect(jobs.get!('email', 7)).rejects.toThrow('get: expected a job and an id, found "email" and 7.');
  const { schedules } = jobs as unknown as JobQueueService;
  await expect(schedules.upsert('nightly', { cron: '0 3 * * *' } as never, undefined as never)).rejects.toThrow(
    'schedules.upsert: expected a job, an id and a recurrence, found "nightly" and an object with cron. Write upsert(',
  );
});
