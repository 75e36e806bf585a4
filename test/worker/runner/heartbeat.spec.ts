// The heartbeat extends every claim of its worker, however many there are.
import { afterEach, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import { viewOf } from '../../support/memory/memory-view.js';

const VISIBILITY_MS = 30_000;

const workers: Worker[] = [];
const clock = new VirtualClock();

afterEach(async () => {
  const stopping = Promise.all(workers.map((worker) => worker.stop({ timeoutMs: 0 })));
  await clock.advance(1_000);
  await stopping;
});

it('says once of a limit that it cannot extend its permits', async () => {
  const server = new ScriptServer(() => clock.now());
  const refused = new Error('ERR refused');
  const link: StoreLink = (script, run) =>
    script === 'sharedLimitExtend' ? Promise.reject(refused) : Promise.resolve(run());
  const store = new ScriptStore(clock, { server, link });
  const queue = new JobQueue(store, 'limited', { visibilityMs: VISIBILITY_MS, limits: ['partner'] });
  const log: string[] = [];
  const logger = { log: () => undefined, warn: (line: string) => log.push(line), error: () => undefined };
  const handlers = { limited: () => new Promise<void>(() => undefined) };
  const limits = { partner: { maxRunning: 1 } };
  const worker = new Worker([{ queue, handlers }], { sweepIntervalMs: 0, limits, logger });
  workers.push(worker);
  const starting = worker.start();
  await clock.advance(10);
  await starting;
  const enqueued = queue.enqueue(1);
  await clock.advance(3 * VISIBILITY_MS);
  await enqueued;
  expect(log).toEqual(['Could not extend the permits of queue "limited"; trying again: ERR refused']);
});

it.each([
  [2_100, 3], // more than go into two calls
  [1, 100],
])('keeps %d running jobs claimed for %d visibility timeouts', async (jobs, timeouts) => {
  const server = new ScriptServer(() => clock.now());
  const queue = new JobQueue(new ScriptStore(clock, { server }), 'many', { visibilityMs: VISIBILITY_MS });
  const running = new Set<string>();
  const handle = ({ id }: { id: string }) => {
    running.add(id);
    return new Promise<void>(() => undefined);
  };
  const worker = new Worker([{ queue, concurrency: jobs, handlers: { many: handle } }], { sweepIntervalMs: 0 });
  workers.push(worker);
  const starting = worker.start();
  await clock.advance(10);
  await starting;
  const enqueued = queue.enqueueMany(Array.from({ length: jobs }, (_, i) => ({ payload: i })));
  await clock.advance(5_000);
  await enqueued;
  expect(running.size).toBe(jobs);
  await clock.advance(timeouts * VISIBILITY_MS);
  const { claims } = await viewOf(queue);
  const expired = claims.members().filter((id) => claims.score(id)! <= clock.now());
  expect([claims.size, expired.length]).toEqual([jobs, 0]);
});
