// An uncaught error is named in the log, with the jobs that its process takes along.
import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { encrypted, type QueueOptions } from 'nest-job-queue/core';
import { silentLogger } from '#queue/runtime/logger.js';
import type { Release } from '#queue/store/attempt-forms.js';
import { watchDeath } from '#worker/reports/death-watch.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

/** Tells the listeners of an uncaught error, as Node does before it ends the process. */
function die(origin: string, message = 'left behind'): void {
  (process as EventEmitter).emit('uncaughtExceptionMonitor', new Error(message), origin);
}

it('logs the error and the running jobs, which may not have caused it', async () => {
  const queue = newQueue();
  const end = gate();
  const worker = await startWorker(queue, () => end.promise);
  const { id } = await queue.enqueue({}, { name: queue.name });
  await worker.event('started');
  die('unhandledRejection');
  end.open();
  await worker.event('completed');
  expect(worker.warnings).toEqual([
    `Uncaught error in this process (unhandledRejection): Error: left behind. If the process ends, its running jobs get ` +
      `a crash: ${id} (${queue.name} of "${queue.name}"). A job that has ended may have left the error behind.`,
  ]);
});

it('says nothing where no job runs, or the worker has stopped', async () => {
  const before = process.listenerCount('uncaughtExceptionMonitor');
  const worker = await startWorker(newQueue());
  die('uncaughtException');
  await worker.worker.stop();
  die('uncaughtException');
  expect(worker.warnings).toEqual([]);
  expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(before);
});

it('sends the isolated jobs back before the process ends', () => {
  const sent: unknown[] = [];
  const releases: { settlement: Release }[] = [];
  const running = {
    name: 'q',
    queue: { options: {}, store: { exec: async (call: unknown) => void sent.push(call) } },
    calls: { release: (all: Release[]) => all },
    settlements: { releases },
    attempts: [],
  };
  const isolated = { id: 'a', token: 't', fence: 1, reason: 'interruption', delayMs: 0 } as Release;
  const end = watchDeath(
    () => [running as never],
    silentLogger,
    () => void releases.push({ settlement: isolated }),
  );
  die('uncaughtException');
  end();
  expect(sent).toEqual([[isolated]]);
});

it.each<[string, QueueOptions]>([
  ['redacts', { redact: ['iban'] }],
  ['encrypts', { codec: encrypted([{ id: 'k', key: randomBytes(32) }]) }],
])('shows no message where any queue of the process %s', async (does, options) => {
  const [open, hiding] = [newQueue(), newQueue(options)];
  const end = gate();
  const worker = await startWorker(open, () => end.promise);
  await startWorker(hiding);
  const { id } = await open.enqueue({}, { name: open.name });
  await worker.event('started');
  die('uncaughtException', 'no account DE02');
  end.open();
  await worker.event('completed');
  expect(worker.warnings).toEqual([
    expect.stringContaining(
      `(uncaughtException): Error. Its message is not shown, because the queue "${hiding.name}" ${does}. If`,
    ),
  ]);
  const { keys } = await inside(open).scripts();
  expect(await (inside(open).connection.client as Redis).hget(keys.job(id), 'death')).toBe('1 Error');
});

it.each([
  [undefined, 'Error: left behind\\nsecond line'],
  [['secret'], 'Error'],
])('notes the error in the running jobs, its message not where fields are hidden (%s)', async (redact, noted) => {
  const queue = newQueue(redact && { redact });
  const end = gate();
  const worker = await startWorker(queue, () => end.promise);
  const { id } = await queue.enqueue({}, { name: queue.name });
  await worker.event('started');
  die('uncaughtException', 'left behind\nsecond line');
  const { keys } = await inside(queue).scripts();
  const death = () => (inside(queue).connection.client as Redis).hget(keys.job(id), 'death');
  await eventually(async () => (await death()) !== null);
  expect(await death()).toBe(`1 ${noted}`);
  end.open();
  await worker.event('completed');
});
