import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { MemoryServer } from '#memory/memory-server.js';
import { MemoryStore } from '#memory/memory-store.js';

/** Waits for jobs of a queue, or for a nudge of the worker. Returns the ends of the wait. */
function waitOf(server: MemoryServer, queue: string, worker: string) {
  const ends: { nudged?: string; woken?: string }[] = [];
  const end = (nudged?: string, woken?: string) =>
    void ends.push({ ...(nudged !== undefined && { nudged }), ...(woken !== undefined && { woken }) });
  server.wait({ queues: [queue], worker, end });
  return ends;
}

it('a nudge that comes between two waits of its worker ends the next wait alone', () => {
  const server = new MemoryServer(() => 0);
  server.nudge('w', 'mail');
  expect(waitOf(server, 'mail', 'other')).toEqual([]);
  expect(waitOf(server, 'mail', 'w')).toEqual([{ nudged: 'mail' }]);
  expect(waitOf(server, 'mail', 'w')).toEqual([]);
});

it('a nudge ends a wait of its worker that is open', () => {
  const server = new MemoryServer(() => 0);
  const [own, other] = [waitOf(server, 'mail', 'w'), waitOf(server, 'mail', 'other')];
  server.nudge('w', 'fax');
  expect([own, other]).toEqual([[{ nudged: 'fax' }], []]);
});

it('the queues of one prefix know nothing of those of another', async () => {
  const store = new MemoryStore(systemClock, { server: new MemoryServer(() => 0) });
  const [mail, fax, other] = [
    new JobQueue(store, 'mail', { prefix: 'a' }),
    new JobQueue(store, 'fax', { prefix: 'a' }),
    new JobQueue(store, 'mail', { prefix: 'b' }),
  ];
  const namesBeside = async (queue: JobQueue) => store.queues.registered(await queue.calls(), 10, queue.callLimit);
  await Promise.all([mail, fax, other].map((queue) => queue.enqueue(1)));
  expect((await namesBeside(mail)).toSorted()).toEqual(['fax', 'mail']);
  expect(await namesBeside(other)).toEqual(['mail']);
});
