// Jobs that must not run: each ends as a dead letter with the reason, and blocks no other job.
import { eventually } from '../../support/faults/wait.js';
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { inside } from '../../support/queue/inside.js';

describe('a job that cannot run', () => {
  it.each<[string, RegExp, (queue: JobQueue, id: string) => Promise<unknown>]>([
    ['whose hash is missing', /hash is missing/, async (queue, id) => redisOf(queue).del(await jobKey(queue, id))],
    ['whose payload is not JSON', /payload is not JSON/, (queue, id) => set(queue, id, 'payload', '{"to":')],
    [
      'whose options are not JSON',
      /options are not those of a job: nonsense/,
      (queue, id) => set(queue, id, 'options', 'nonsense'),
    ],
    ['that was not started in time', /expiresInMs/, (queue, id) => set(queue, id, 'expires_at_ms', '1')],
    [
      'whose attempts another client used up',
      /used 3 attempts, and its limit is 3/,
      (queue, id) => set(queue, id, 'attempts', '3'),
    ],
  ])('%s is a dead letter, and the one behind it runs', async (_, reason, spoil) => {
    const queue = newQueue();
    const { id } = await queue.enqueue({}, { expiresInMs: 3_600_000 });
    const next = await queue.enqueue({});
    await spoil(queue, id);
    const seen: string[] = [];
    const worker = await startWorker(queue, (job: { id: string }) => void seen.push(job.id), {
      perQueue: 1,
      logFailures: true,
    });
    await worker.event('completed', 1, { id: next.id });
    await worker.worker.stop();
    expect(seen).toEqual([next.id]);
    expect(await queue.get(id)).toMatchObject({ id, status: 'failed', lastError: expect.stringMatching(reason) });
    expect(await queue.stats()).toMatchObject({ failed: 1, completed: 1, pending: 0, processing: 0 });
    expect(worker.warnings).toContainEqual(expect.stringMatching(reason));
  });

  it('does not hold up a worker, however many there are', async () => {
    const queue = newQueue();
    const jobs = await queue.enqueueMany(Array.from({ length: 300 }, (_, i) => ({ payload: i })));
    await redisOf(queue).del(...(await Promise.all(jobs.map(({ id }) => jobKey(queue, id)))));
    await queue.enqueue('the last');
    const worker = await startWorker(queue, undefined, { perQueue: 2 });
    await worker.event('completed');
    await worker.worker.stop();
    expect(await queue.stats()).toMatchObject({ failed: 300, completed: 1, pending: 0 });
  });

  it('does not hold back the completion that travels beside a claim that fails', async () => {
    const queue = newQueue();
    leaveBroken(queue);
    const { id } = await queue.enqueue({});
    const { pending } = (await inside(queue).scripts()).keys;
    // The claim of the next job is sent beside the completion of this job, and meets a broken key.
    const worker = await startWorker(queue, () => redisOf(queue).set(pending, 'no list'), { perQueue: 1 });
    await worker.event('completed', 1, { id });
    expect(await queue.get(id)).toMatchObject({ status: 'completed' });
    await eventually(() => worker.warnings.some((line) => line.includes('WRONGTYPE')));
  });

  it('stops neither the claims nor the settlements of others by a completion that fails', async () => {
    const queue = newQueue();
    leaveBroken(queue);
    const [first, second] = [await queue.enqueue('break'), await queue.enqueue('repair')];
    const { completed } = (await inside(queue).scripts()).keys;
    // The completion of the first, which travels while the second is claimed, meets a list that is none.
    const handler = ({ payload }: Job<string>) =>
      payload === 'break' ? redisOf(queue).set(completed, 'no list') : redisOf(queue).del(completed);
    const worker = await startWorker(queue, handler, { perQueue: 1 });
    await worker.event('completed', 1, { id: second.id });
    expect(worker.warnings).toContainEqual(expect.stringMatching(/WRONGTYPE/));
    for (const { id } of [first, second]) {
      expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1, crashes: 0 });
    }
  });

  it('whose place holds something else does not stop the other queues', async () => {
    const [broken, sound] = [newQueue(), newQueue()];
    leaveBroken(broken);
    await broken.enqueue({});
    await redisOf(broken).del((await inside(broken).scripts()).keys.pending);
    await redisOf(broken).set((await inside(broken).scripts()).keys.pending, 'no list');
    const worker = await startWorker(
      [broken, sound].map((queue) => ({ queue, handlers: { [queue.name]: () => 'done' } })),
    );
    await sound.enqueue({});
    await worker.event('completed');
    expect(worker.warnings).toContainEqual(
      expect.stringContaining(`Queue "${broken.name}" rests for 1000 ms after an error: `),
    );
  });

  it('whose place holds something else is logged once, however often its claim is repeated', async () => {
    const rests = holdTimers(1_000);
    const queue = newQueue();
    leaveBroken(queue);
    const { claims } = (await inside(queue).scripts()).keys;
    await redisOf(queue).set(claims, 'no sorted set');
    const worker = await startWorker(queue, () => 'done');
    await queue.enqueue({});
    for (let i = 0; i < 3; i++) await rests.fire();
    await redisOf(queue).del(claims);
    await worker.event('completed');
    expect(worker.warnings.filter((line) => line.includes('rests for 1000 ms'))).toEqual([
      expect.stringContaining(`\`TYPE ${claims}\``),
    ]);
  });
});

function redisOf(queue: JobQueue): Redis {
  return inside(queue).connection.client as Redis;
}

async function jobKey(queue: JobQueue, id: string): Promise<string> {
  return (await inside(queue).scripts()).keys.job(id);
}

async function set(queue: JobQueue, id: string, field: string, value: string): Promise<void> {
  await redisOf(queue).hset(await jobKey(queue, id), field, value);
}
