// A queue with shards in an app. Each job goes to one shard, is found there by its id, and runs.
import { expect, it } from '@jest/globals';
import {
  defineJob,
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  RecurringJob,
  type Job,
  type JobQueue,
} from 'nest-job-queue';
import { z } from 'zod';
import { markOfShard, shardNames, shardOfKey } from '#queue/model/spread.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { compileApp, onEachStore, passTime, startApp } from '../app.js';

const SHARDS = 4;

/** Starts an app with a queue of four shards. Its handler notes each job, and returns its payload. */
async function startSpread({
  jobs = {},
  worker = true,
  ...options
}: Record<string, object | boolean | number> = {}) {
  const name = uniqueQueueName();
  const seen: Job[] = [];

  @JobHandler(name, { spread: SHARDS, ...options })
  class Handler {
    handle(job: Job) {
      seen.push(job);
      return job.payload;
    }
  }
  const app = await startApp({ jobs: { worker: worker as boolean, ...(jobs as object) }, providers: [Handler] });
  const service = app.get(JobQueueService);
  return { app, name, seen, jobs: service, shards: service.shards(name) };
}

async function pendingIn(shards: readonly JobQueue[]): Promise<number[]> {
  return Promise.all(shards.map(async (shard) => (await shard.stats()).pending));
}

/** Returns keys, each of which has the shard of its place. */
function keyOfEach(): string[] {
  return Array.from({ length: SHARDS }, (_, shard) => {
    for (let i = 0; ; i++) if (shardOfKey(`k${i}`, SHARDS) === shard) return `k${i}`;
  });
}

onEachStore('a spread queue', () => {
  it('gives each job without a key to the next shard, with an id that names it', async () => {
    const { name, jobs, shards } = await startSpread({ worker: false });
    expect(shards.map((shard) => shard.name)).toEqual(shardNames(name, SHARDS));
    const handles = await Promise.all(Array.from({ length: 8 }, (_, i) => jobs.enqueue(name, i)));
    expect(await pendingIn(shards)).toEqual([2, 2, 2, 2]);
    for (const { id, queue } of handles) {
      const shard = shards.findIndex((each) => each.name === queue);
      expect(id.endsWith(markOfShard(shard))).toBe(true);
      expect((await jobs.get(name, id))?.id).toBe(id);
      expect(await jobs.shardOf(name, id)).toBe(shards[shard]);
    }
  });

  it('runs the jobs of all shards, by the name of the queue', async () => {
    const { app, name, jobs, seen } = await startSpread();
    const handles = await Promise.all(Array.from({ length: 12 }, (_, i) => jobs.enqueue(name, i)));
    await passTime(app);
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(handles.map((_, i) => i));
    expect(await Promise.all(handles.map(({ id }) => jobs.result(name, id)))).toEqual(handles.map((_, i) => i));
    expect(new Set(seen.map((job) => job.name))).toEqual(new Set([name]));
  });

  it('gives a key its shard: the group before the unique key before the id', async () => {
    const { name, jobs, shards } = await startSpread({ worker: false });
    const [first, second, third, fourth] = keyOfEach();
    const unique = { key: second!, for: 'unfinished' } as const;
    const found = [
      await jobs.enqueue(name, 0, { group: first, unique, id: fourth }),
      await jobs.enqueue(name, 0, { unique, id: third }),
      await jobs.enqueue(name, 0, { id: third }),
      await jobs.enqueue(name, 0, { group: fourth }),
    ];
    expect(found.map(({ queue }) => shards.findIndex((each) => each.name === queue))).toEqual([0, 1, 2, 3]);
    // The second has the id of the third, but another shard.
    expect(found.map(({ outcome }) => outcome)).toEqual(['new', 'new', 'new', 'new']);
  });

  it('finds, cancels and removes a job with an own id whose group chose the shard', async () => {
    const { name, jobs, shards } = await startSpread({ worker: false });
    const [first, second] = keyOfEach();
    await jobs.enqueue(name, 'payload', { id: first, group: second });
    expect((await jobs.get(name, first!))?.payload).toBe('payload');
    expect(await jobs.shardOf(name, first!)).toBe(shards[1]);
    expect(await jobs.cancel(name, first!)).toBe('cancelled');
    expect(await (await jobs.shardOf(name, first!)).remove(first!)).toBe('removed');
    expect(await jobs.get(name, first!)).toBeNull();
    expect(await jobs.cancel(name, first!)).toBe('missing');
  });

  it('adds no job twice for an id or a unique key', async () => {
    const { name, jobs, shards } = await startSpread({ worker: false });
    const unique = { key: 'k', for: 'unfinished' } as const;
    const outcomes = [
      await jobs.enqueue(name, 0, { id: 'order-17' }),
      await jobs.enqueue(name, 0, { id: 'order-17' }),
      await jobs.enqueue(name, 0, { unique }),
      await jobs.enqueue(name, 0, { unique }),
    ].map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['new', 'existing', 'new', 'kept']);
    expect((await pendingIn(shards)).reduce((sum, each) => sum + each)).toBe(2);
  });

  it('repeats an enqueue with a generated id in the shard of the id', async () => {
    const { name, jobs } = await startSpread({ worker: false });
    const { id, queue } = await jobs.enqueue(name, 0);
    expect(await jobs.enqueue(name, 0, { id })).toMatchObject({ id, queue, outcome: 'existing' });
  });

  it('refuses an id of one shard beside a group of another', async () => {
    const { name, jobs } = await startSpread({ worker: false });
    const [, second] = keyOfEach();
    const enqueue = jobs.enqueue(name, 0, { id: `a${markOfShard(3)}`, group: second });
    await expect(enqueue).rejects.toBeInstanceOf(InvalidOptionError);
  });

  it('runs a group in order', async () => {
    const { app, name, jobs, seen } = await startSpread();
    const handles = await jobs.enqueueMany(
      name,
      Array.from({ length: 20 }, (_, payload) => ({ payload, group: 'tenant' })),
    );
    expect(new Set(handles.map(({ queue }) => queue)).size).toBe(1);
    await passTime(app);
    await Promise.all(handles.map((handle) => handle.result()));
    expect(seen.map((job) => job.payload)).toEqual(handles.map((_, i) => i));
  });

  it('adds many jobs in their order, those without a key in one step', async () => {
    const { name, jobs, shards } = await startSpread({ worker: false });
    const [first, second] = keyOfEach();
    const handles = await jobs.enqueueMany(name, [
      { payload: 'a' },
      { payload: 'b', group: first },
      { payload: 'c' },
      { payload: 'd', group: second },
    ]);
    const records = await Promise.all(handles.map(({ id }) => jobs.get(name, id)));
    expect(records.map((record) => record?.payload)).toEqual(['a', 'b', 'c', 'd']);
    expect(handles[0]!.queue).toBe(handles[2]!.queue);
    const mixed = await jobs.enqueueMany([{ job: name, payload: 'e', group: first }]);
    expect(mixed[0].queue).toBe(shards[0]!.name);
  });

  it('waits for jobs of other shards', async () => {
    const { app, name, jobs, seen } = await startSpread();
    const [first, second, third] = keyOfEach();
    await jobs.pause(name);
    await jobs.enqueue(name, 'a', { id: first });
    const handle = await jobs.enqueue(name, 'b', { group: second });
    const last = await jobs.enqueue(name, 'c', {
      id: third,
      after: [first!, handle, { queue: name, id: handle.id }],
    });
    await jobs.resume(name);
    await passTime(app);
    await last.result();
    expect(seen.at(-1)!.payload).toBe('c');
  });

  it('pauses and resumes all shards', async () => {
    const { name, jobs, shards } = await startSpread();
    const paused = async () =>
      (await Promise.all(shards.map((shard) => shard.stats()))).map((each) => !!each.pausedAt);
    expect(await jobs.pause(name, { reason: 'deploy' })).toBe(true);
    expect(await paused()).toEqual([true, true, true, true]);
    expect(await jobs.pause(name)).toBe(false);
    expect(await jobs.resume(name)).toBe(true);
    expect(await paused()).toEqual([false, false, false, false]);
  });

  it('has all schedules in the first shard, whose name stays with another number', async () => {
    const { name, jobs, shards } = await startSpread({ worker: false });
    const [, second] = keyOfEach();
    await jobs.schedules.upsert(name, second!, { everyMs: 3_600_000 }, { payload: null });
    expect((await jobs.schedules.list(name)).map(({ id }) => id)).toEqual([second]);
    expect(await shards[0]!.schedules.get(second!)).not.toBeNull();
    expect(await jobs.schedules.remove(name, second!)).toBe('removed');
  });

  it('checks payloads and results by a definition', async () => {
    const Spread = defineJob(uniqueQueueName(), { payload: z.number(), result: z.number() });

    @JobHandler(Spread, { spread: SHARDS })
    class Handler {
      handle(job: Job<number>) {
        return job.payload + 1;
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    const handle = await jobs.enqueue(Spread, 1);
    await passTime(app);
    expect(await jobs.result(Spread, handle.id)).toBe(2);
    await expect(jobs.enqueue(Spread, 'x' as never)).rejects.toThrow('payload');
  });
});

it('keeps the concurrency of the queue over all shards', async () => {
  const name = uniqueQueueName();
  let [running, most] = [0, 0];
  const done: Promise<unknown>[] = [];

  @JobHandler(name, { spread: 8, concurrency: 3 })
  class Handler {
    async handle() {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    }
  }
  const app = await startApp({ providers: [Handler] });
  const jobs = app.get(JobQueueService);
  for (let i = 0; i < 100; i++) done.push(jobs.enqueue(name, i).then((handle) => handle.result()));
  await Promise.all(done);
  expect(most).toBe(3);
});

it('takes the shards from forRoot in an app without the handler', async () => {
  const name = uniqueQueueName();
  const app = await startApp({ jobs: { queues: { [name]: { spread: SHARDS } } } });
  expect(app.get(JobQueueService).shards(name)).toHaveLength(SHARDS);
});

it('declares a recurring job in the first shard', async () => {
  const name = uniqueQueueName();
  const [, , third] = keyOfEach();

  @RecurringJob({ everyMs: 3_600_000 }, { id: third! })
  @JobHandler(name, { spread: SHARDS })
  class Handler {
    handle() {}
  }
  const app = await startApp({ providers: [Handler] });
  const shards = app.get(JobQueueService).shards(name);
  const found = await Promise.all(shards.map((shard) => shard.schedules.get(third!)));
  expect(found.map((each) => each !== null)).toEqual([true, false, false, false]);
});

it.each([undefined, 1])('is one queue with spread %p, whose ids have no mark', async (spread) => {
  const name = uniqueQueueName();
  const app = await startApp({ jobs: { queues: { [name]: { spread } } } });
  const jobs = app.get(JobQueueService);
  const { id, queue } = await jobs.enqueue(name, 1);
  expect([queue, /^\w{11}$/.test(id)]).toEqual([name, true]);
  expect(jobs.shards(name)).toEqual([jobs.queue(name)]);
  expect(await jobs.shardOf(name, id)).toBe(jobs.queue(name));
});

it.each([
  ['maxRunning', { maxRunning: 5 }, 'named limit'],
  ['rateLimit', { rateLimit: { limit: 5, periodMs: 1_000 } }, 'named limit'],
  ['maxPending', { maxPending: 5 }, 'groups.maxPending'],
  ['maxPendingBytes', { maxPendingBytes: 5_000 }, ''],
  ['too many shards', { spread: 65 }, ''],
])('an app does not boot with %s', async (_, options, hint) => {
  @JobHandler(uniqueQueueName(), { spread: 2, ...options })
  class Handler {
    handle() {}
  }
  const app = await compileApp({ providers: [Handler] });
  const error = (await app.init().catch((thrown: unknown) => thrown)) as InvalidOptionError;
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error.hint).toContain(hint);
});

it('setConcurrency sets the slots of all shards together', async () => {
  const name = uniqueQueueName();
  const running = new Map<string, () => void>();
  let [ended, most] = [0, 0];

  @JobHandler(name, { spread: 4, concurrency: 2 })
  class Handler {
    async handle({ id }: Job) {
      await new Promise<void>((resolve) => {
        running.set(id, resolve);
        most = Math.max(most, running.size);
      });
      ended++;
    }
  }
  const app = await startApp({ jobs: { worker: 'manual' }, providers: [Handler] });
  const jobs = app.get(JobQueueService);
  const starting = jobs.startWorkers();
  jobs.setConcurrency(name, 4);
  await starting;
  const announced = await eventually(
    async () => (await jobs.queue(name).workers())[0]?.slots && jobs.queue(name).workers(),
  );
  expect(announced).toMatchObject([{ slots: 4, processSlots: 4 }]);
  const end = (count: number) =>
    [...running].slice(0, count).forEach(([id, resolve]) => {
      running.delete(id);
      resolve();
    });
  await jobs.enqueueMany(
    name,
    Array.from({ length: 24 }, (_, i) => ({ payload: i, group: `g${i}` })),
  );
  await eventually(() => running.size === 4);
  jobs.setConcurrency(name, 5);
  await eventually(() => running.size === 5);
  jobs.setConcurrency(name, 1);
  end(4);
  await eventually(() => ended === 4);
  end(1);
  await eventually(() => running.size === 1 && ended === 5);
  jobs.setConcurrency(name, 3);
  for (let left = 24 - ended; left > 0; left--) {
    await eventually(() => running.size > 0);
    end(1);
  }
  await eventually(() => ended === 24);
  expect(most).toBe(5);
  expect(() => jobs.setConcurrency(name, 0)).toThrow(InvalidOptionError);
});
