// A wait of 0 has no end, and a server may round a tiny one down to it. Such a queue would sleep forever.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { coreQueue } from '../support/queue/core-queue.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect } from '../support/redis/redis.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

/** The waits that a server is asked for, in seconds, by wake key. */
const waits = new Map<string, number[]>();
let url: string;
let monitor: Redis;

beforeAll(async () => {
  // A server of its own: what others send to the shared one is no business of a monitor.
  ({ url } = await startOwnRedis());
  monitor = await connect({}, url).monitor();
  monitor.on('monitor', (_time: string, [command, ...args]: string[]) => {
    if (command!.toLowerCase() === 'bzpopmin') {
      const seconds = Number(args.pop());
      args.forEach((key) => waits.set(key, [...(waits.get(key) ?? []), seconds]));
    }
  });
});

afterAll(() => monitor.disconnect());

function expectBounded(seconds: readonly number[] | undefined): void {
  expect(seconds!.length).toBeGreaterThan(0);
  expect(Math.min(...seconds!)).toBeGreaterThanOrEqual(0.001);
  expect(Math.max(...seconds!)).toBeLessThanOrEqual(5);
}

describe('a wait for jobs has an end, however soon or late the next job is due', () => {
  it('of a worker', async () => {
    const queue = newQueue({}, connect({}, url));
    const worker = await startWorker(queue);
    for (let round = 1; round <= 40; round++) {
      await queue.enqueue(round, { delayMs: 1 + (round % 7) });
      await worker.event('completed', round);
    }
    await queue.enqueue(['late'], { delayMs: 86_400_000, id: 'late' });
    await queue.enqueue('now');
    await worker.event('completed', 41);
    expectBounded(waits.get((await inside(queue).scripts()).keys.wake));
  });

  it('of a manual consumer', async () => {
    const { queue } = coreQueue({}, connect({}, url));
    for (let round = 1; round <= 10; round++) {
      await queue.enqueue(round, { delayMs: 1 + (round % 7) });
      expect(await queue.complete((await queue.claim({ timeoutMs: 5_000 }))!)).toBe(true);
    }
    expect(await queue.claim({ timeoutMs: 1 })).toBeNull();
    expectBounded(waits.get((await inside(queue).scripts()).keys.wake));
  });
});
