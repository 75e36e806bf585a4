// A profile from its request to its download, in a worker of this process.
import { describe, expect, it, jest } from '@jest/globals';
import { ProfileError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { Measurement } from '#worker/handlers/measurement.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { learn } from '../../support/worker/learn.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

interface CpuProfile {
  nodes: { callFrame: { functionName: string; url: string } }[];
  samples: number[];
}

/** Burns the CPU, under a name that a profile shows. */
function burnsTheCpu(): number {
  let sum = 0;
  for (const until = Date.now() + 60; Date.now() < until;) sum += Math.sqrt(sum + 1);
  return sum;
}

const burnsForEach = (jobs: Job[]) => jobs.map(() => burnsTheCpu());

async function done(queue: JobQueue) {
  await eventually(async () => (await queue.profiles.get())?.state === 'done');
  return queue.profiles.download();
}

const namesIn = (json: string) =>
  (JSON.parse(json) as CpuProfile).nodes.map(({ callFrame }) => callFrame.functionName);

describe('a profile', () => {
  it('has the functions of the next attempt, and of one attempt only', async () => {
    const queue = newQueue();
    const worker = await startWorker(queue, () => burnsTheCpu());
    await (await queue.enqueue({})).result();
    const { id } = await queue.profiles.request({ name: queue.name });
    await learn(worker.worker);
    const jobs = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const { record, json } = await done(queue);
    expect(namesIn(json)).toContain('burnsTheCpu');
    expect(record).toMatchObject({ id, kind: 'cpu', attempt: 1, name: queue.name });
    expect(jobs.map((job) => job.id)).toContain(record.jobId);
    expect((await queue.profiles.get())?.bytes).toBeLessThan(200_000);
    expect(await queue.actionLog.latest()).toMatchObject([
      { action: 'profile', subject: expect.stringContaining('kind cpu') },
    ]);
  });

  it('samples the heap', async () => {
    const queue = newQueue();
    const kept: unknown[] = [];
    const worker = await startWorker(queue, function allocatesMuch() {
      for (let i = 0; i < 200; i++) kept.push(Array.from({ length: 1_000 }, () => ({ i })));
    });
    await queue.profiles.request({ kind: 'heap' });
    await learn(worker.worker);
    await queue.enqueue({});
    const { json } = await done(queue);
    expect(json).toContain('allocatesMuch');
    expect(JSON.parse(json)).toMatchObject({ head: { callFrame: { functionName: '(root)' } } });
  });

  it('ends while the job runs on', async () => {
    const queue = newQueue();
    const end = gate();
    const worker = await startWorker(queue, () => end.promise);
    await queue.profiles.request({ forMs: 100, kind: 'heap' });
    await learn(worker.worker);
    const job = await queue.enqueue({});
    await done(queue);
    expect((await queue.get(job.id))?.status).toBe('processing');
    end.open();
  });

  it('is of a generator too, whose chunks arrive', async () => {
    const queue = newQueue();
    const worker = await startWorker(queue, async function* () {
      yield burnsTheCpu();
    });
    await queue.profiles.request();
    await learn(worker.worker);
    const job = await queue.enqueue({});
    expect(namesIn((await done(queue)).json)).toContain('burnsTheCpu');
    const types: string[] = [];
    for await (const { type } of job.stream()) types.push(type);
    expect(types).toEqual(['chunk', 'result']);
  });

  it('is kept of an attempt that fails', async () => {
    const queue = newQueue();
    const worker = await startWorker(queue, () => {
      throw new Error('no');
    });
    await queue.profiles.request({ kind: 'heap' });
    await learn(worker.worker);
    await queue.enqueue({});
    await done(queue);
  });

  it('is of the whole call of a bulk handler, and names one of its jobs', async () => {
    const queue = newQueue();
    const handlers = { [queue.name]: { handle: burnsForEach, bulk: { size: 3, waitMs: 1_000 } } };
    const { worker } = await startWorker([{ queue, handlers }]);
    await queue.profiles.request();
    await learn(worker);
    const jobs = await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
    await Promise.all(jobs.map((job) => job.result()));
    const { record, json } = await done(queue);
    expect(namesIn(json)).toContain('burnsTheCpu');
    expect(jobs.map(({ id }) => id)).toContain(record.jobId);
  });

  it('has a reason where Node cannot measure, and the job runs', async () => {
    const queue = newQueue();
    const { worker } = await startWorker(queue, () => 'ran');
    await queue.profiles.request();
    await learn(worker);
    jest.spyOn(Measurement, 'begin').mockRejectedValueOnce(new Error('no inspector here'));
    expect(await (await queue.enqueue({})).result()).toBe('ran');
    await eventually(async () => (await queue.profiles.get())?.endedAt);
    expect(await queue.profiles.get()).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('no inspector'),
    });
    await expect(queue.profiles.download()).rejects.toMatchObject({
      reason: 'failed',
      message: expect.stringContaining('This Node cannot measure: no inspector here'),
    });
  });

  it('leaves a job of another name alone, and one process measures one attempt at a time', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    const end = gate();
    const handler = (job: Job) => (job.payload === 7 ? end.promise : 1);
    const workers = [
      await startWorker([{ queue, handlers: { a: handler, b: handler } }]),
      await startWorker(other, handler),
    ];
    await queue.profiles.request({ name: 'b', kind: 'heap' });
    await other.profiles.request({ kind: 'heap' });
    for (const { worker } of workers) await learn(worker);
    await (await queue.enqueue({}, { name: 'a' })).result();
    expect((await queue.profiles.get())?.state).toBe('asked');
    await queue.enqueue(7, { name: 'b' });
    await eventually(async () => (await queue.profiles.get())?.state === 'running');
    await (await other.enqueue({})).result();
    expect((await other.profiles.get())?.state).toBe('asked');
    end.open();
    await done(queue);
    await eventually(async () => {
      await (await other.enqueue({})).result();
      return (await other.profiles.get())?.state === 'done';
    });
  });
});

describe('a worker with profiles: false', () => {
  it('is measured by nobody: a request is refused if no other is there, and leaves no entry', async () => {
    const queue = newQueue();
    await startWorker(queue, () => 1, { profiles: false });
    await eventually(async () => (await queue.workers())[0]?.unprofiled);
    await expect(queue.profiles.request()).rejects.toMatchObject({ reason: 'forbidden' });
    expect(await queue.profiles.get()).toBeNull();
    expect(await queue.actionLog.latest()).toEqual([]);
  });

  it('leaves the request to a worker that allows it', async () => {
    const queue = newQueue();
    const strict = await startWorker(queue, () => 1, { profiles: false });
    await eventually(async () => (await queue.workers())[0]?.unprofiled);
    const open = await startWorker(queue);
    await queue.profiles.request({ kind: 'heap' });
    await learn(strict.worker);
    open.worker.pause();
    await (await queue.enqueue({})).result();
    expect(await queue.profiles.get()).toMatchObject({ state: 'asked' });
    strict.worker.pause();
    open.worker.resume();
    await learn(open.worker);
    await queue.enqueue({});
    await done(queue);
  });
});

describe('a request', () => {
  it('is refused with the next step', async () => {
    const queue = newQueue();
    await expect(queue.profiles.request()).rejects.toThrow(/no worker serves the queue\. Start one/);
    await expect(queue.profiles.download()).rejects.toThrow(ProfileError);
    await startWorker(queue);
    await expect(queue.profiles.request({ name: 'other' })).rejects.toThrow('no worker handles jobs named "other"');
    await queue.profiles.request();
    await expect(queue.profiles.request()).rejects.toMatchObject({ code: 'PROFILE', reason: 'busy' });
    await expect(queue.profiles.download()).rejects.toThrow('it is not measured yet');
  });

  it.each([{ kind: 'gpu' }, { forMs: 0 }, { forMs: 300_001 }, { name: '' }, { seconds: 1 }])(
    'refuses the options %j',
    async (options) => {
      await expect(newQueue().profiles.request(options as never)).rejects.toThrow(/^profile|^job name/);
    },
  );
});
