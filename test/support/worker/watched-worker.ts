// A worker of a program outside of Jest, which waits until its jobs have ended.
import type { JobQueue } from '#queue/job-queue.js';
import type { HandlerFunction } from '#worker/handlers/handler.js';
import { Worker } from '#worker/worker.js';
import type { WorkerOptions } from '#worker/worker-options.js';

/** Starts a worker. `untilEnded` waits until this many of its jobs have completed or failed. */
export async function startWatchedWorker(
  queue: JobQueue,
  handle: HandlerFunction,
  middleware: NonNullable<WorkerOptions['middleware']>,
) {
  const ended = new Set<string>();
  let wake: (() => void) | undefined;
  const worker = new Worker([{ queue, handlers: { [queue.name]: handle } }], {
    middleware,
    onEvent: ({ type, job }) => {
      if (type === 'completed' || type === 'failed') ended.add(job.id);
      wake?.();
    },
  });
  await worker.start();
  const untilEnded = async (count: number) => {
    while (ended.size < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { worker, untilEnded };
}
