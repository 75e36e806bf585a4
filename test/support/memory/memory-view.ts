// What tests read and bend of queues on a server in memory.
import { jest } from '@jest/globals';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import type { ScriptStore } from '#memory/script-store.js';
import { QueueView, type Fields } from '#memory/server/observed-server.js';

export async function viewOf(queue: JobQueue): Promise<QueueView> {
  const { server } = queue.store as ScriptStore;
  return new QueueView(server, ((await queue.calls()) as QueueCalls).keys, queue.options);
}

/** Returns whether a claimed job is marked as one that the death of its worker does not charge; see lua/attempt/start. */
export function isMarked(job: Readonly<Fields>): boolean {
  return job[`unstarted:${job['fence'] ?? ''}`] !== undefined;
}

/** Enqueues a job of a queue whose marker reaches no worker, and is lost. */
export async function enqueueUnheard(queue: JobQueue, options: EnqueueOptions): Promise<void> {
  const { server, keys } = await viewOf(queue);
  const serve = jest.spyOn(server as unknown as { serve(): boolean }, 'serve').mockReturnValue(false);
  await queue.enqueue({}, options);
  server.keys.delete(keys.wake);
  serve.mockRestore();
}
