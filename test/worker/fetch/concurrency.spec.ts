import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { someOf } from '../../support/run/samples.js';

/**
 * Counts how many handlers run at once, in all and by queue. The first jobs wait until as many run as should. Jobs come
 * in several claims, and one claim's jobs could end before the next.
 */
class Load {
  most = 0;
  private readonly reached = gate();
  private readonly now = new Map<string, number>();
  readonly mostOf = new Map<string, number>();

  constructor(private readonly expected: number) {}

  readonly handler = async (job: Job<never>): Promise<void> => {
    const running = (this.now.get(job.queue) ?? 0) + 1;
    this.now.set(job.queue, running);
    this.mostOf.set(job.queue, Math.max(this.mostOf.get(job.queue) ?? 0, running));
    this.most = Math.max(
      this.most,
      [...this.now.values()].reduce((a, b) => a + b),
    );
    if (this.most >= this.expected) {
      this.reached.open();
    }
    await this.reached.promise;
    await new Promise((resolve) => setImmediate(resolve));
    this.now.set(job.queue, this.now.get(job.queue)! - 1);
  };
}

onEachStore('concurrency', () => {
  it.each([1, 3, 10])('%i of a queue is reached, and never exceeded', async (perQueue) => {
    const queue = newQueue();
    await fill(queue, 300);
    const load = new Load(perQueue);
    const worker = await startWorker(queue, load.handler, { perQueue });
    await worker.event('completed', 300);
    expect(load.most).toBe(perQueue);
  });

  it('is never exceeded while jobs come, fail, and are retried', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    const load = new Load(4);
    const worker = await startWorker(
      queue,
      async (job: Job<never>) => {
        await load.handler(job);
        if (job.attempt < 3) throw new Error('again');
      },
      { perQueue: 4 },
    );
    for (let i = 0; i < 20; i++) {
      await fill(queue, 10);
    }
    await worker.event('completed', 200);
    expect(load.most).toBe(4);
  });

  it('of the process caps all its queues together', async () => {
    const queues = Array.from({ length: 6 }, () => newQueue());
    await Promise.all(queues.map((queue) => fill(queue, 50)));
    const load = new Load(5);
    const list = queues.map((queue) => ({ queue, concurrency: 4, handlers: { [queue.name]: load.handler } }));
    const worker = await startWorker(list, undefined, { concurrency: 5 });
    await worker.event('completed', 300);
    expect(load.most).toBe(5);
    expect(Math.max(...load.mostOf.values())).toBeLessThanOrEqual(4);
  });

  const FAIR = [
    [1, 2],
    [1, 3],
    [2, 3],
    [3, 2],
    [4, 5],
  ] as const;

  it.each(someOf(FAIR, 2))('of %i for the process gives %i queues fair turns', async (concurrency, count) => {
    const queues = Array.from({ length: count }, () => newQueue());
    await Promise.all(queues.map((queue) => fill(queue, 60)));
    const order: string[] = [];
    const handler = async (job: Job<never>) => {
      order.push(job.queue);
      await new Promise((resolve) => setImmediate(resolve));
    };
    const list = queues.map((queue) => ({ queue, handlers: { [queue.name]: handler } }));
    const worker = await startWorker(list, undefined, { concurrency });
    await worker.event('completed', 60 * count);
    // While all have work, none is ahead by more than some turns.
    const half = order.slice(0, 30 * count);
    const shares = queues.map(({ name }) => half.filter((each) => each === name).length);
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(2 * concurrency + 2);
  });

  it('of the process looks at a queue that was empty also while another uses all slots', async () => {
    const [busy, quiet] = [newQueue(), newQueue()];
    await fill(busy, 200);
    const order: string[] = [];
    const handler = async (job: Job<never>) => {
      order.push(job.queue);
      await sleep(20);
    };
    const list = [busy, quiet].map((queue) => ({ queue, handlers: { [queue.name]: handler } }));
    const worker = await startWorker(list, undefined, { concurrency: 1 });
    await worker.event('completed', 10);
    await quiet.enqueue(0);
    await eventually(() => order.includes(quiet.name));
    expect((await busy.stats()).pending).toBeGreaterThan(0);
  });

  it('starts another job as soon as one ends, not when a batch has ended', async () => {
    const queue = newQueue();
    const slow = gate();
    await queue.enqueue('slow');
    await fill(queue, 50);
    const handler = (job: Job) => (job.payload === 'slow' ? slow.promise : undefined);
    const worker = await startWorker(queue, handler, { perQueue: 2 });
    await worker.event('completed', 50);
    slow.open();
    await worker.event('completed', 51);
  });

  it('counts a handler that continues after its time', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const stuck = gate();
    await queue.enqueue(['stuck'], { timeoutMs: 5 });
    await queue.enqueue('next');
    const handle = ({ payload }: Job) => (String(payload) === 'stuck' ? stuck.promise : 1);
    const worker = await startWorker(queue, { handle, timeoutGraceMs: 0 }, { perQueue: 1 });
    await worker.event('failed');
    await queue.stats(); // a round trip, in which the next job could have been claimed
    expect(worker.worker.running).toBe(1);
    expect(await queue.stats()).toMatchObject({ pending: 1, processing: 0 });
    stuck.open();
    await worker.event('completed');
    await eventually(() => worker.worker.running === 0);
  });
});

onEachStore('order (I8)', () => {
  it('is that of the enqueues with one worker and one slot', async () => {
    const queue = newQueue();
    await fill(queue, 200);
    const seen: unknown[] = [];
    const worker = await startWorker(queue, (job: Job) => void seen.push(job.payload), { perQueue: 1 });
    for (let i = 200; i < 300; i++) {
      await queue.enqueue(i);
    }
    await worker.event('completed', 300);
    expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => i));
  });

  it('is that of the enqueues in which jobs start, also with many slots', async () => {
    const queue = newQueue();
    await fill(queue, 300);
    const seen: unknown[] = [];
    const handler = async (job: Job) => {
      seen.push(job.payload);
      await new Promise((resolve) => setImmediate(resolve));
    };
    const worker = await startWorker(queue, handler, { perQueue: 7 });
    await worker.event('completed', 300);
    expect(seen).toEqual(Array.from({ length: 300 }, (_, i) => i));
  });
});

async function fill(queue: JobQueue, count: number): Promise<void> {
  await queue.enqueueMany(Array.from({ length: count }, (_, i) => ({ payload: i })));
}
