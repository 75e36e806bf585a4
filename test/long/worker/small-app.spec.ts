// What a real Redis receives from one process in which nothing happens. test/worker/fetch/small-app.spec.ts shows by virtual time
// what the rest delays, and what it does not.
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { WorkerOptions } from '#worker/worker-options.js';
import { sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { namedConnection, newQueue, startWorker } from '../../support/worker/workers.js';

/** The time after which a worker rests, with the first rounds of maintenance, in ms. */
const SETTLED_MS = 45_000;

/**
 * A call that repeats is in a window once more than its rate says, if both ends meet it. That is 24 calls in a minute, by a
 * rate of 21.6. So the window has two minutes, in ms.
 */
const MEASURED_MS = 120_000;

const CASES: [queues: number, options: WorkerOptions, most: number][] = [
  [1, {}, 0.4],
  [1, { concurrency: 10 }, 0.4],
  [5, {}, 0.6],
];

it('sends at most 0.4 commands a second with one queue, and 0.6 with five', async () => {
  const measured = await Promise.all(
    CASES.map(async ([count, options, most]) => {
      const server = await startOwnRedis();
      const redis = namedConnection({}, server.url);
      const queues = Array.from({ length: count }, () => newQueue({}, redis));
      const served = queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
      const worker = await startWorker(served, undefined, options);
      await sleep(SETTLED_MS);
      const sent = await countSent(connect({}, server.url));
      const begun = performance.now();
      await queues[0]!.enqueue({});
      await worker.event('completed');
      return { count, options, most, sent, startedMs: performance.now() - begun };
    }),
  );
  expect(measured.filter(({ sent, most }) => sent === 0 || sent > most)).toEqual([]);
  expect(measured.filter(({ startedMs }) => startedMs > 500)).toEqual([]);
}, 240_000);

/** Returns the commands a second that a server receives, as MONITOR shows them. Those of scripts come from `lua`. */
async function countSent(redis: Redis): Promise<number> {
  await redis.ping(); // what a new connection sends is over
  const monitor = await redis.monitor();
  let sent = 0;
  monitor.on('monitor', (_time: string, _args: string[], source: string) => {
    sent += source === 'lua' ? 0 : 1;
  });
  await sleep(MEASURED_MS);
  monitor.disconnect();
  return (sent * 1_000) / MEASURED_MS;
}
