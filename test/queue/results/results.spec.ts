import { expect, it } from '@jest/globals';
import {
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  JobTimeoutError,
  QueueClosedError,
  type JobQueueError,
} from '#queue/errors/errors.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { connect } from '../../support/redis/redis.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';

/** Resolves when somebody listens to the events of a queue. */
async function listened(channel: string): Promise<void> {
  const redis = connect();
  while (Number((await redis.pubsub('NUMSUB', channel))[1]) === 0);
}

it.each([
  ['an object', { sent: true, at: [1, 'two', null] }],
  ['null', null],
  ['undefined', undefined],
  ['false', false],
  ['an empty text', ''],
])('%s comes to a handle of another process', async (_what, result) => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue('work');
  const waiting = handle.result({ timeoutMs: 15_000 });
  await listened(state.keys.events);
  const worker = sameQueue(queue);
  await worker.complete((await worker.claim())!, result);
  expect(await waiting).toEqual(result);
  expect(await handle.result({ timeoutMs: 0 })).toEqual(result);
});

it('a plain job that is claimed by hand ends for a caller who came after the claim', async () => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue('work');
  const claim = (await queue.claim())!;
  await state.run(state.scripts.holdResult({ id: handle.id, forMs: 60_000 }));
  expect(await queue.complete(claim, 'done')).toBe(true);
  expect(await handle.result({ timeoutMs: 0 })).toBe('done');
});

it('a failed job throws, with the error of its last attempt', async () => {
  const { queue } = coreQueue({ maxAttempts: 1 });
  const handle = await queue.enqueue('work');
  await queue.fail((await queue.claim())!, new RangeError('too far'));
  const error = (await handle.result().catch((thrown: unknown) => thrown)) as JobFailedError;
  expect(error).toBeInstanceOf(JobFailedError);
  expect(error).toMatchObject({ reason: 'too far', errorName: 'RangeError', attempts: 1, jobId: handle.id });
  expect(error.message).toBe(`Job ${handle.id} failed after 1 attempt: RangeError: too far`);
});

it('a retry is not the end: the result is that of the next attempt', async () => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue('work');
  const waiting = handle.result({ timeoutMs: 15_000 });
  await listened(state.keys.events);
  await queue.fail((await queue.claim())!, new Error('once'));
  await queue.complete((await queue.claim())!, 'done');
  expect(await waiting).toBe('done');
});

it.each([
  ['cancelled', 'cancel', JobCancelledError],
  ['removed', 'remove', JobNotFoundError],
] as const)('a job that is %s meanwhile throws', async (_, verb, error) => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue('work');
  const waiting = handle.result({ timeoutMs: 15_000 }).catch((thrown: unknown) => thrown);
  await listened(state.keys.events);
  await queue[verb](handle.id);
  expect(await waiting).toBeInstanceOf(error);
});

it('five results come by their events, sooner than the looks behind them would bring them, 2 s each', async () => {
  const { queue, state } = coreQueue();
  const began = performance.now();
  for (const result of [1, 2, 3, 4, 5]) {
    const handle = await queue.enqueue('work');
    const waiting = handle.result({ timeoutMs: 15_000 });
    await listened(state.keys.events);
    await queue.complete((await queue.claim())!, result);
    expect(await waiting).toBe(result);
  }
  expect(performance.now() - began).toBeLessThan(8_000); // by looks 10 s
});

it('a job that is missing throws', async () => {
  const { queue } = coreQueue();
  const error = (await queue.result('nobody').catch((thrown: unknown) => thrown)) as JobNotFoundError;
  expect(error).toBeInstanceOf(JobNotFoundError);
  expect(error).toMatchObject({ jobId: 'nobody', queue: queue.name });
});

it('a result that does not come in time throws, and the job continues', async () => {
  const { queue } = coreQueue();
  const handle = await queue.enqueue('work');
  const error = (await handle.result({ timeoutMs: 50 }).catch((thrown: unknown) => thrown)) as JobTimeoutError;
  expect(error).toBeInstanceOf(JobTimeoutError);
  expect(error).toMatchObject({ jobId: handle.id, timeoutMs: 50 });
  expect((await handle.get())!.status).toBe('pending');
});

it('a close rejects awaited results at once, and later calls too; the job continues', async () => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue('work');
  const waiting = handle.result({ timeoutMs: 15_000 }).catch((thrown: unknown) => thrown);
  await listened(state.keys.events);
  const began = performance.now();
  queue.close();
  const error = (await waiting) as QueueClosedError;
  expect(error).toBeInstanceOf(QueueClosedError);
  expect(error).toMatchObject({ queue: queue.name });
  expect(performance.now() - began).toBeLessThan(2_000); // the next look
  await expect(handle.result()).rejects.toThrow(QueueClosedError);
  expect((await handle.get())!.status).toBe('pending');
});

it('a close rejects at once also while Redis gives no answer', async () => {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 50 }, proxy.url);
  client.on('error', () => undefined);
  const { queue, state } = coreQueue({}, client);
  const handle = await queue.enqueue('work');
  const waiting = handle.result({ timeoutMs: 15_000 }).catch((thrown: unknown) => thrown);
  await listened(state.keys.events);
  void proxy.loseReplies();
  const began = performance.now();
  queue.close();
  expect(await waiting).toBeInstanceOf(QueueClosedError);
  expect(performance.now() - began).toBeLessThan(2_000); // the next look
  proxy.heal();
  proxy.cut();
});

it.each<QueueOptions>([{ events: 'listened' }, { events: 'off' }])(
  'comes without an event too (%j)',
  async (options) => {
    const { queue, state } = coreQueue(options);
    const handle = await queue.enqueue('work');
    const waiting = handle.result({ timeoutMs: 15_000 });
    if (options.events !== 'off') await listened(state.keys.events);
    const worker = sameQueue(queue, { events: 'off' });
    await worker.complete((await worker.claim())!, 'unannounced');
    expect(await waiting).toBe('unannounced');
  },
);

it('its time limit holds when Redis is gone', async () => {
  const proxy = await FaultProxy.start();
  const client = connect({ retryStrategy: () => 50 }, proxy.url);
  client.on('error', () => undefined);
  const { queue } = coreQueue({}, client);
  const handle = await queue.enqueue('work');
  void proxy.loseReplies();
  const error = (await handle.result({ timeoutMs: 100 }).catch((thrown: unknown) => thrown)) as JobQueueError;
  expect(error).toBeInstanceOf(JobTimeoutError);
  proxy.heal();
  proxy.cut();
  await expect(handle.result({ timeoutMs: 1 })).rejects.toThrow(JobTimeoutError);
});

it('a listener that throws, or an event that is not JSON, stops no other listener', async () => {
  const { queue, state } = coreQueue();
  const handle = await queue.enqueue('work');
  const waiting = handle.result({ timeoutMs: 15_000 });
  await listened(state.keys.events);
  await state.redis.publish(state.keys.events, 'not json');
  const bad = [
    'null',
    '5',
    '[]',
    '{}',
    '{"id":7,"status":"completed"}',
    '{"id":"x"}',
    `{"id":"${'x'.repeat(20_000)}"}`,
  ];
  for (const message of bad) await state.redis.publish(state.keys.events, message);
  await queue.complete((await queue.claim())!, 'done');
  expect(await waiting).toBe('done');
});
