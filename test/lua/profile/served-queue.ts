// A queue that a live worker serves.
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

export type { TestQueue };

/** Returns a queue with a live worker that handles jobs of this name. */
export async function servedQueue(name: string): Promise<TestQueue> {
  const q = testQueue();
  const handlers = [{ name, maxAttempts: 3, maxCrashes: 3 }];
  await q.run(q.scripts.workers.register({ worker: 'worker', serves: true, handlers }));
  return q;
}

/** Asks for a profile, and returns the id of the request. */
export async function asked(q: TestQueue): Promise<string> {
  await q.run(q.scripts.profiles.request({ id: 'one', name: 'invoice', kind: 'cpu', forMs: 1_000 }));
  return 'one';
}
