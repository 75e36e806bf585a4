// A link of little bandwidth only makes work slow: no connection is replaced while bytes move, and no claim expires.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { Job } from '#worker/handlers/job.js';
import { behindProxy } from '../../support/browser/behind-proxy.js';
import type { FaultProxy } from '../../support/faults/fault-proxy.js';
import { eventually } from '../../support/faults/wait.js';
import { startWorker, type TestWorker } from '../../support/worker/workers.js';

const KIB = 1_024;

/** A bound of a test, in ms: what the slowest transfer takes, and time to spare on a busy machine. */
const LONG_MS = 60_000;

function payloads(count: number, bytes: number) {
  return Array.from({ length: count }, (_, i) => ({ payload: { i, text: 'x'.repeat(bytes) } }));
}

/** Starts an idle worker behind a link. `other` is the same queue past the link, and sweeps expired claims. */
async function behindLink(
  options: QueueOptions = {},
  handler: (job: Job<never>) => unknown = () => undefined,
): Promise<{ proxy: FaultProxy; queue: JobQueue; other: JobQueue; worker: TestWorker }> {
  const { proxy, queue, other } = await behindProxy(options);
  const worker = await startWorker(queue, handler);
  await other.enqueue('first');
  await worker.event('completed');
  return { proxy, queue, other, worker };
}

async function expectEachOnce({ worker, other }: { worker: TestWorker; other: JobQueue }, count: number) {
  expect((await other.stats()).totals).toMatchObject({ completed: 1 + count });
  expect((await other.stats()).totals.reclaimed ?? 0).toBe(0);
  expect(worker.count('started')).toBe(1 + count);
  expect(worker.warnings).toEqual([]);
}

describe('a worker behind a slow link', () => {
  it.each([
    { link: '300 KiB/s', bandwidth: 300 * KIB, count: 10, bytes: 100_000, idealMs: 3_300 },
    { link: '2,000 KiB/s', bandwidth: 2_000 * KIB, count: 10, bytes: 1_000_000, idealMs: 5_000 },
    { link: '64 KiB/s', bandwidth: 64 * KIB, count: 300, bytes: 1_000, idealMs: 5_500 },
  ])(
    'of $link fetches $count jobs of $bytes bytes once, about as fast as the link is',
    async ({ bandwidth, count, bytes, idealMs }) => {
      const link = await behindLink();
      const { made } = link.proxy.connections;
      link.proxy.limitBandwidth(bandwidth);
      const begun = performance.now();
      await link.other.enqueueMany(payloads(count, bytes));
      await link.worker.event('completed', 1 + count, { timeoutMs: LONG_MS });
      expect(performance.now() - begun).toBeLessThan(4 * idealMs + 8_000);
      expect(link.proxy.passed.down).toBeLessThan(1.3 * count * bytes + 50_000);
      expect(link.proxy.connections.made).toBe(made);
      await expectEachOnce(link, count);
    },
  );

  it('keeps the claim of a job whose payload takes several visibility timeouts to arrive', async () => {
    const link = await behindLink({ visibilityMs: 1_500 });
    link.proxy.limitBandwidth(64 * KIB);
    const sweeping = setInterval(() => void link.other.reclaim(), 200);
    await link.other.enqueueMany(payloads(2, 300_000));
    await link.worker.event('completed', 3, { timeoutMs: LONG_MS }).finally(() => clearInterval(sweeping));
    await expectEachOnce(link, 2);
  });

  it('keeps the claims of jobs whose results take several visibility timeouts to leave', async () => {
    const link = await behindLink({ visibilityMs: 6_000 }, () => 'y'.repeat(200_000));
    link.proxy.limitBandwidth(64 * KIB);
    const sweeping = setInterval(() => void link.other.reclaim(), 200);
    const handles = await link.other.enqueueMany(payloads(4, 10));
    await link.worker.event('completed', 5, { timeoutMs: LONG_MS }).finally(() => clearInterval(sweeping));
    expect(await handles[3]!.result()).toHaveLength(200_000);
    await expectEachOnce(link, 4);
  });

  it('asks for less after a cut, and runs each job once', async () => {
    const link = await behindLink();
    const { proxy, other, worker } = link;
    const claims = async () => (await other.stats()).processing;
    proxy.limitBandwidth(64 * KIB);
    await other.enqueueMany(payloads(8, 30_000));
    await eventually(async () => proxy.passed.down > 40_000 && (await claims()) === 8);
    proxy.cut();
    await eventually(async () => (await claims()) === 4, { what: 'a claim of half the bytes' });
    await worker.event('completed', 9, { timeoutMs: LONG_MS });
    expect(worker.count('started')).toBe(9);
    expect(worker.events.every(({ job }) => job.attempt === 1)).toBe(true);
  });

  it('finds out a connection that falls silent in the middle of an answer', async () => {
    const { proxy, other, worker } = await behindLink();
    proxy.limitBandwidth(64 * KIB);
    await other.enqueueMany(payloads(4, 60_000));
    await eventually(() => proxy.passed.down > 40_000);
    const { made } = proxy.connections;
    proxy.pause();
    proxy.heal();
    await eventually(() => proxy.connections.made > made, { what: 'a new connection', timeoutMs: 12_000 });
    await worker.event('completed', 5, { timeoutMs: LONG_MS });
  });
});

describe('an enqueue behind a slow link', () => {
  it('of a large payload takes longer than enqueueTimeoutMs, and the connection is kept', async () => {
    const { proxy, queue, other } = await behindProxy({ enqueueTimeoutMs: 1_500 });
    await queue.enqueue('first');
    const { made } = proxy.connections;
    proxy.limitBandwidth(64 * KIB);
    const begun = performance.now();
    const handles = await queue.enqueueMany(payloads(2, 150_000));
    expect(performance.now() - begun).toBeGreaterThan(3_000); // really slow
    expect(handles.map(({ outcome }) => outcome)).toEqual(['new', 'new']);
    expect(proxy.connections.made).toBe(made);
    expect(await other.stats()).toMatchObject({ pending: 3 });
  });

  it('that is the first of its process has the time that it needs, too', async () => {
    const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 1_500 });
    proxy.limitBandwidth(64 * KIB);
    await queue.enqueue({ text: 'x'.repeat(200_000) });
  });

  it('of a large payload is not waited for without an end where the connection is dead', async () => {
    const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 1_000 });
    await queue.enqueue('first');
    proxy.pause();
    const begun = performance.now();
    await expect(queue.enqueue({ text: 'x'.repeat(200_000) })).rejects.toMatchObject({ outcome: 'unknown' });
    expect(performance.now() - begun).toBeLessThan(10_000);
    proxy.heal();
    await queue.enqueue('after');
  });

  it('of a small payload fails within enqueueTimeoutMs where the connection is dead', async () => {
    const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 1_000 });
    await queue.enqueue('first');
    proxy.pause();
    const begun = performance.now();
    await expect(queue.enqueue('lost')).rejects.toMatchObject({ outcome: 'unknown' });
    expect(performance.now() - begun).toBeLessThan(2_800);
  });
});
