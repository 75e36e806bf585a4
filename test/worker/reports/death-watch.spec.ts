// An uncaught error is named in the log, with the jobs that its process takes along.
import type { EventEmitter } from 'node:events';
import { expect, it } from '@jest/globals';
import { gate } from '../../support/faults/wait.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

/** Tells the listeners of an uncaught error, as Node does before it ends the process. */
function die(origin: string): void {
  (process as EventEmitter).emit('uncaughtExceptionMonitor', new Error('left behind'), origin);
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
  const worker = await startWorker(newQueue());
  die('uncaughtException');
  await worker.worker.stop();
  die('uncaughtException');
  expect(worker.warnings).toEqual([]);
  expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(0);
});
