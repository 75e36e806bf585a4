// A worker whose reply is lost after the server acted: it repeats the call, which changes nothing.
import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';
import type { Job } from '#worker/handlers/job.js';
import { startWorker } from '../support/worker/workers.js';
import { behindProxy } from '../support/browser/behind-proxy.js';

describe('a reply that is lost', () => {
  it.each(['claim', 'complete', 'fail', 'release'] as const)(
    'after the server acted on %s changes nothing: the job runs once, and is recorded once (I3)',
    async (script) => {
      const { proxy, queue, other } = await behindProxy({ maxAttempts: 2 });
      const runs: number[] = [];
      const worker = await startWorker(queue, (job: Job) => {
        runs.push(job.attempt);
        if (runs.length === 1 && script === 'fail') throw new Error('first');
        if (runs.length === 1 && script === 'release') job.snooze(1);
      });
      await other.stats();
      const lost = proxy.loseReplyTo(shaOf(script));
      const { id } = await other.enqueue({});
      await lost;
      await worker.event('completed');
      const expected = { claim: [1], complete: [1], fail: [1, 2], release: [1, 1] }[script];
      expect(runs).toEqual(expected);
      expect(await other.get(id)).toMatchObject({ status: 'completed', attempts: expected.at(-1) });
      expect(await other.stats()).toMatchObject({ completed: 1, pending: 0, scheduled: 0, processing: 0 });
      expect((await other.stats()).totals.completed).toBe(1);
      expect(worker.count('lost')).toBe(0);
    },
  );

  it.each(['claim', 'complete'] as const)('of %s is not answered with other jobs', async (script) => {
    const { proxy, queue, other } = await behindProxy();
    const order: unknown[] = [];
    await other.enqueueMany(Array.from({ length: 30 }, (_, payload) => ({ payload })));
    const lost = proxy.loseReplyTo(shaOf(script));
    const worker = await startWorker(queue, (job: Job) => void order.push(job.payload), { perQueue: 1 });
    await lost;
    await worker.event('completed', 30);
    expect(order).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect((await other.stats()).totals.completed).toBe(30);
    expect(worker.count('lost')).toBe(0);
  });
});

function shaOf(verb: 'claim' | 'complete' | 'fail' | 'release'): string {
  const script = luaScripts[`attempt${verb[0]!.toUpperCase()}${verb.slice(1)}` as 'attemptClaim'];
  return createHash('sha1').update(script).digest('hex');
}
