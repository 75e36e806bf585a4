// The register names the queues of a Redis. So operators find queues of other apps.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

async function isRegistered(queue: JobQueue): Promise<boolean> {
  const names = await queue.store.queues.registered(await queue.calls(), 10_000, queue.callLimit);
  return names.includes(queue.name);
}

onEachStore('the register has a queue', () => {
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['a job', (queue) => queue.enqueue(1)],
    ['a schedule', (queue) => queue.schedules.upsert('daily', { everyMs: 86_400_000 })],
    ['an empty batch with a follow-up', (queue) => queue.batch({ then: { delayMs: 60_000 } }).seal()],
    [
      'a follow-up of a batch elsewhere',
      (queue) =>
        newQueue()
          .batch({ then: { queue: queue.name, delayMs: 60_000 } })
          .seal(),
    ],
  ])('that has only %s', async (_, add) => {
    const queue = newQueue();
    await add(queue);
    await eventually(() => isRegistered(queue));
  });
});

it('says once that Redis refuses to register a queue', async () => {
  const store = new ScriptStore();
  const warnings: string[] = [];
  store.logger = { log: () => undefined, error: () => undefined, warn: (message) => void warnings.push(message) };
  let refused = 0;
  store.queues.register = async (queues) => {
    refused++;
    return queues.map(() => ({ ok: false, error: new Error('NOPERM') }));
  };
  const queues = [newQueue({}, store), newQueue({}, store)];
  for (const queue of queues) {
    await queue.enqueue(1);
    await eventually(() => refused === queues.indexOf(queue) + 1);
    await new Promise(setImmediate); // the refusal has reached the queue
  }
  expect(warnings).toEqual([expect.stringMatching(`^Could not add queue "${queues[0]!.name}" .*: NOPERM$`)]);
});
