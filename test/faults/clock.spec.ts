// A process whose clock is an hour off. No state is decided by a client's clock (I5).
import { describe, expect, it, jest } from '@jest/globals';
import { connect } from '../support/redis/redis.js';
import { eventually } from '../support/faults/wait.js';
import { newQueue, startWorker } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

const HOUR = 3_600_000;
const now = Date.now.bind(Date);

/** Far below an hour, by which a client's clock would err. After a stall of Redis a sweep first waits 2.8 s for live workers. */
const LATEST_MS = 20_000;

describe.each([
  ['fast', HOUR],
  ['slow', -HOUR],
])('a client clock that is an hour %s', (_, off) => {
  it('changes no due time, no claim, no attempt and no retry', async () => {
    jest.spyOn(Date, 'now').mockImplementation(() => now() + off);
    const queue = newQueue({ visibilityMs: 3_000, backoff: { type: 'fixed', delayMs: 300 } });
    const started: number[] = [];
    const worker = await startWorker(
      queue,
      ({ attempt }) => {
        started.push(now());
        if (attempt === 1) throw new Error('first');
      },
      { sweepIntervalMs: 50 },
    );
    const enqueued = now();
    const { id } = await queue.enqueue({}, { delayMs: 400, expiresInMs: 10_000 });
    await worker.event('completed');
    expect(started[0]! - enqueued).toBeGreaterThanOrEqual(395);
    expect(started[0]! - enqueued).toBeLessThan(3_000);
    expect(started[1]! - started[0]!).toBeGreaterThanOrEqual(295);
    const job = (await queue.get(id))!;
    for (const at of [job.enqueuedAt, job.claimedAt, job.completedAt, job.attemptLog[0]!.endedAt]) {
      expect(Math.abs(Number(at) - now())).toBeLessThan(60_000);
    }
    expect(job.attempts).toBe(2);
  });

  it('takes no live claim back, and a dead one in time', async () => {
    jest.spyOn(Date, 'now').mockImplementation(() => now() + off);
    const queue = newQueue({ visibilityMs: 900 });
    await queue.enqueue('dead');
    const claimed = (await queue.claim())!;
    const begun = performance.now();
    const worker = await startWorker(queue, () => undefined, { sweepIntervalMs: 50 });
    await worker.event('started');
    expect(performance.now() - begun).toBeGreaterThan(500);
    expect(performance.now() - begun).toBeLessThan(LATEST_MS);
    await worker.event('completed');
    expect(await queue.complete(claimed)).toBe(false);
    const { keys } = await inside(queue).scripts();
    await eventually(async () => (await connect().zcard(keys.claims)) === 0);
  });
});
