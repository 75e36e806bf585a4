// Groups as a fleet of workers runs them.
import { expect, it } from '@jest/globals';
import { NonRetryableError, RateLimitedError } from '#queue/errors/errors.js';
import type { Job } from '#worker/handlers/job.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

type TestWorkers = Awaited<ReturnType<typeof startWorker>>[];

async function allEnded(workers: TestWorkers, count: number): Promise<void> {
  const ended = () => workers.reduce((sum, each) => sum + each.count('completed') + each.count('failed'), 0);
  while (ended() < count) {
    await Promise.race(
      workers.flatMap((each) => [
        each.event('completed', each.count('completed') + 1),
        each.event('failed', each.count('failed') + 1),
      ]),
    );
  }
}

onEachStore('groups over two workers', () => {
  it('maxRunning 1 runs each group in its order, with retries, and the groups beside one another', async () => {
    const queue = newQueue({ groups: { maxRunning: 1 }, maxAttempts: 3, backoff: 20 });
    const running = new Map<string, number>();
    const done = new Map<string, unknown[]>();
    let beside = 0;
    const handle = async (job: Job) => {
      const group = job.group!;
      running.set(group, (running.get(group) ?? 0) + 1);
      beside = Math.max(beside, running.size);
      expect(running.get(group)).toBe(1);
      await new Promise(setImmediate);
      running.delete(group);
      if (job.attempt === 1 && Number(job.payload) % 3 === 0) {
        throw new Error('once');
      }
      done.set(group, [...(done.get(group) ?? []), job.payload]);
    };
    const workers = [await startWorker(queue, handle), await startWorker(queue, handle)];
    const groups = ['a', 'b', 'c', 'd'];
    await queue.enqueueMany(
      Array.from({ length: 40 }, (_, i) => ({ payload: Math.floor(i / 4), group: groups[i % 4]! })),
    );
    await allEnded(workers, 40);
    const inOrder = Array.from({ length: 10 }, (_, i) => i);
    expect(Object.fromEntries(done)).toEqual(Object.fromEntries(groups.map((group) => [group, inOrder])));
    expect(beside).toBeGreaterThan(1);
  });

  it('a worker that waits learns of a group that may run again: resumed, limits raised, a dead head redriven', async () => {
    const queue = newQueue({ groups: { maxRunning: 1, onDeadHead: 'hold' } });
    let fails = true;
    const worker = await startWorker(queue, (job: Job<{ is: string }>) => {
      if (job.payload.is === 'head' && fails) {
        throw new NonRetryableError('no');
      }
    });
    await queue.groups.pause('p');
    await queue.enqueue({ is: 'paused' }, { group: 'p' });
    const head = await queue.enqueue({ is: 'head' }, { group: 'g' });
    await queue.enqueue({ is: 'next' }, { group: 'g' });
    await worker.event('failed');
    expect(await queue.groups.get('g')).toMatchObject({ heldBy: head.id, pending: 1 });
    fails = false;
    expect(await queue.deadLetters.redriveMany([head.id])).toBe(1);
    await worker.event('completed', 2);
    await queue.groups.resume('p');
    await worker.event('completed', 3);
  });

  it('a RateLimitedError rests its group alone, for as long as it says', async () => {
    const queue = newQueue();
    const starts: [unknown, number][] = [];
    const worker = await startWorker(queue, (job: Job) => {
      starts.push([job.group, performance.now()]);
      if (job.group === 'limited' && starts.filter(([group]) => group === 'limited').length === 1) {
        throw new RateLimitedError({ retryAfterMs: 300 });
      }
    });
    await queue.enqueue(1, { group: 'limited' });
    await worker.event('released');
    await queue.enqueue(2, { group: 'free' });
    await worker.event('completed', 2);
    expect(starts.map(([group]) => group)).toEqual(['limited', 'free', 'limited']);
    expect(starts[2]![1] - starts[0]![1]).toBeGreaterThan(290);
  });
});
