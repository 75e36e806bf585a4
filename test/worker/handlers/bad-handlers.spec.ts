// What a worker without Nest is given is checked before it starts, as Nest's decorators are.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { defineHandler } from '#worker/handlers/define-handler.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import type { WorkerQueue } from '#worker/worker-options.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const handle = () => 'done';

function refusal(action: () => unknown): InvalidOptionError {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionError);
    return error as InvalidOptionError;
  }
  throw new Error('it was accepted');
}

const BAD_OPTIONS: [string, unknown][] = [
  ['resultTtlMs', { resultTtlMs: 1.5 }],
  ['maxAttempts', { maxAttempts: 0 }],
  ['maxCrashes', { maxCrashes: '3' }],
  ['timeoutMs', { timeoutMs: -5 }],
  ['timeoutGraceMs', { timeoutGraceMs: '10' }],
  ['slots', { slots: 1.5 }],
  ['keepResult', { keepResult: 'no' }],
  ['backoff', { backoff: -1 }],
  ['completedHistory', { completedHistory: 10 }], // retention belongs to the queue
  ['retries', { retries: 3 }],
];

describe('a worker refuses', () => {
  it.each(BAD_OPTIONS)("a handler's %s in %j", (option, options) => {
    const queue = newQueue();
    const error = refusal(() => new Worker([{ queue, handlers: { a: { handle, ...(options as object) } } }]));
    expect(error.subject).toBe(`worker queue "${queue.name}".handlers.a.${option}`);
  });

  it.each<[string, unknown]>([
    ['.handlers.a', { handlers: { a: 5 } }],
    ['.handlers.a', { handlers: { a: null } }],
    ['.handlers.a.handle', { handlers: { a: {} } }],
    ['.handlers', { handlers: {} }],
    ['.handlers', { handlers: undefined }],
    ['.concurrency', { handlers: { handle }, concurrency: 0 }],
    ['.prefetch', { handlers: { handle }, prefetch: -1 }],
    ['.concurency', { handlers: { handle }, concurency: 5 }],
    ['.schedules', { handlers: { handle }, schedules: 5 }],
  ])('the queue option %s of %j', (option, options) => {
    const queue = newQueue();
    const error = refusal(() => new Worker([{ queue, ...(options as { handlers: WorkerQueue['handlers'] }) }]));
    expect(error.subject).toBe(`worker queue "${queue.name}"${option}`);
  });

  it('a second entry of a queue, also as another object', () => {
    const [queue, other] = [newQueue(), newQueue()];
    const same = newQueue({ maxAttempts: 9 }, undefined, queue.name);
    const entries = [queue, other, same].map((each) => ({ queue: each, handlers: { [each.name]: handle } }));
    expect(refusal(() => new Worker(entries)).message).toBe(
      `worker queue "${queue.name}": expected one entry for each queue, found a second one. ` +
        'Put the handlers of both into one entry.',
    );
    const elsewhere = { ...entries[2]!, queue: newQueue({ prefix: 'other' }, undefined, queue.name) };
    expect(() => new Worker([...entries.slice(0, 2), elsewhere])).not.toThrow();
  });

  it.each([[], {}, null, [null], [{ queue: 'jobs', handlers: { handle } }]])('the queues %j', (queues) => {
    expect(refusal(() => new Worker(queues as never)).subject).toMatch(/^worker queue/);
  });
});

describe('defineHandler refuses', () => {
  const Send = defineJob('send', { payload: z.number() });

  it.each(BAD_OPTIONS)('the option %s in %j', (option, options) => {
    const error = refusal(() => defineHandler(Send, handle, options as HandlerOptions));
    expect(error.subject).toBe(`defineHandler("send").${option}`);
  });

  it('a value that is no definition, and a value that is no function', () => {
    // @ts-expect-error -- a name
    expect(refusal(() => defineHandler('send', handle)).found).toBe('"send"');
    // @ts-expect-error -- a number
    expect(refusal(() => defineHandler(Send, 5)).expected).toBe('a function');
  });
});

it('takes an instance of a class, with fields of its own, and runs its method', async () => {
  class Doubler {
    readonly factor = 2;
    readonly maxAttempts = 1;
    handle(job: { payload: unknown }) {
      return (job.payload as number) * this.factor;
    }
  }
  const queue = newQueue();
  await startWorker([{ queue, handlers: { [queue.name]: new Doubler() } }]);
  expect(await (await queue.enqueue(21)).result()).toBe(42);
});

it('refuses a line of the log that is not text', async () => {
  const queue = newQueue({ maxAttempts: 1 });
  const worker = await startWorker(queue, (job: Job<never>) => job.log(5 as never));
  await queue.enqueue(1);
  const { error } = await worker.event('failed');
  expect(error).toBeInstanceOf(InvalidOptionError);
});
