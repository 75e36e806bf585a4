// What jobs of a queue with shards can do: streams, signals, steps, failures, transactions, lazy modules and the boot.
import { expect, it } from '@jest/globals';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  JobHandler,
  JobQueueService,
  NonRetryableError,
  OnJobEvent,
  OnJobFailed,
  OnTopic,
  type FleetJobEvent,
  type Job,
  type JobFailure,
  type JobQueueMiddleware,
} from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule, runHandler } from 'nest-job-queue/testing';
import { shardNames, shardOfKey } from '#queue/model/spread.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { handlerOf, onEachStore, passTime, startApp } from '../app.js';

const SHARDS = 4;

/** Returns an id and a group that have different shards. */
function strayPair(): { id: string; group: string } {
  const id = 'order-17';
  for (let i = 0; ; i++) {
    if (shardOfKey(`g${i}`, SHARDS) !== shardOfKey(id, SHARDS)) return { id, group: `g${i}` };
  }
}

/** Returns a group of a shard. */
function groupIn(shard: number): string {
  for (let i = 0; ; i++) if (shardOfKey(`g${i}`, SHARDS) === shard) return `g${i}`;
}

onEachStore('a job of a spread queue', () => {
  it('is read as a stream by its own id, although its group chose the shard', async () => {
    const name = uniqueQueueName();

    @JobHandler(name, { spread: SHARDS })
    class Handler {
      async *handle() {
        yield 'a';
        yield 'b';
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    const { id, group } = strayPair();
    await jobs.enqueue(name, 1, { id, group });
    await passTime(app);
    const read: unknown[] = [];
    for await (const item of jobs.stream(name, id)) if (item.type === 'chunk') read.push(item.data);
    expect(read).toEqual(['a', 'b']);
    const marked = await jobs.enqueue(name, 1);
    await passTime(app);
    for await (const item of jobs.stream(name, marked.id)) if (item.type === 'chunk') read.push(item.data);
    expect(read).toEqual(['a', 'b', 'a', 'b']);
    expect(() => jobs.stream(name, id, { after: 'x' })).toThrow();
  });

  it('gets a signal by its own id, and keeps its steps', async () => {
    const name = uniqueQueueName();
    let steps = 0;

    @JobHandler(name, { spread: SHARDS })
    class Handler {
      async handle(job: Job) {
        const step = await job.step('count', () => ++steps);
        return [step, await job.waitFor('approved', { timeoutMs: 3_600_000 })];
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    const { id, group } = strayPair();
    const handle = await jobs.enqueue(name, 1, { id, group });
    expect(['kept', 'delivered']).toContain(await jobs.signal(name, id, 'approved', 'yes'));
    await passTime(app);
    expect(await handle.result()).toEqual([1, 'yes']);
    expect(steps).toBe(1);
  });

  it('reports its final failure to the handler of failures, in whatever shard it was', async () => {
    const name = uniqueQueueName();
    const failed: string[] = [];

    @JobHandler(name, { spread: SHARDS })
    class Handler {
      handle() {
        throw new NonRetryableError('no');
      }
      @OnJobFailed(name)
      failed(job: Job<JobFailure>) {
        failed.push(job.payload.id);
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    const handles = await Promise.all([1, 2, 3, 4].map((payload) => jobs.enqueue(name, payload)));
    await passTime(app);
    await eventually(() => failed.length === 4);
    expect(failed.toSorted()).toEqual(handles.map(({ id }) => id).toSorted());
  });

  it('runs a tick of a schedule in the first shard', async () => {
    const name = uniqueQueueName();
    const ran: string[] = [];

    @JobHandler(name, { spread: SHARDS })
    class Handler {
      handle(job: Job) {
        ran.push(job.queue);
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    await jobs.schedules.upsert(name, 'nightly', { everyMs: 3_600_000 }, { payload: null });
    const handle = await jobs.schedules.runNow(name, 'nightly');
    await passTime(app);
    await jobs.result(name, handle.id);
    expect(ran).toEqual([name]);
  });
});

onEachStore('a queue with shards', () => {
  it('gets the publications of a topic: a group in one shard, and each job once', async () => {
    const topic = uniqueQueueName();
    const ran: string[] = [];

    class Stock {
      @OnTopic(topic, { subscription: 'stock', spread: SHARDS })
      update(job: Job) {
        ran.push(`${job.queue} ${job.id}`);
      }
    }
    const app = await startApp({ providers: [Stock] });
    const jobs = app.get(JobQueueService);
    const names = shardNames(`${topic}/stock`, SHARDS);
    for (const shard of [0, 1, 2, 3]) {
      const options = { group: groupIn(shard), id: `p${shard}` };
      const [first] = (await jobs.publish(topic, shard, options)).jobs;
      const [again] = (await jobs.publish(topic, shard, options)).jobs;
      expect([first, again]).toMatchObject([
        { queue: names[shard], outcome: 'new' },
        { queue: names[shard], outcome: 'existing' },
      ]);
    }
    await jobs.publish(topic, 5, { id: 'handed', fanOut: 'worker' });
    await passTime(app);
    await eventually(() => ran.length === 5);
    const id = `handed:${topic}/stock`;
    expect(ran).toContain(`${names[shardOfKey(id, SHARDS)]!} ${id}`);
    expect(await jobs.result(`${topic}/stock`, id)).toBeUndefined();
  });

  it('has the follow-ups of a batch of another queue, by their keys', async () => {
    const [name, page, home] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    const ran: string[] = [];

    @JobHandler(name, { spread: SHARDS })
    class Ingest {
      handle(job: Job) {
        ran.push(`${job.name} ${job.queue}`);
      }
    }
    const app = await startApp({ providers: [Ingest, handlerOf(page, () => Promise.resolve())] });
    const jobs = app.get(JobQueueService);
    const then = { queue: name, group: groupIn(2) };
    const batch = jobs.batch({ queue: home, then, finally: { name } });
    await batch.addMany(page, [{ payload: 1 }, { payload: 2 }]);
    await batch.seal();
    await passTime(app);
    await eventually(() => ran.length === 2);
    expect(ran).toContain(`${name} ${shardNames(name, SHARDS)[2]!}`);
    expect(ran.every((each) => each.startsWith(`${name} `))).toBe(true);
    expect(await jobs.get(name, `@batch-of:${home} ${batch.id}:then`)).toMatchObject({ status: 'completed' });
  });
});

it('gets publications in its shards from an app that does not know them', async () => {
  const topic = uniqueQueueName();
  class Stock {
    @OnTopic(topic, { subscription: 'stock', spread: SHARDS })
    update() {}
  }
  await startApp({ jobs: { worker: false }, providers: [Stock] });
  const publisher = (await startApp({ jobs: { worker: false } })).get(JobQueueService);
  const [job] = (await publisher.publish(topic, 1, { group: groupIn(3) })).jobs;
  const [, , , shard] = shardNames(`${topic}/stock`, SHARDS);
  expect([job!.queue, job!.name]).toEqual([shard, `${topic}/stock`]);
});

it('is found by the enqueue of a provider that boots before the handlers are bound', async () => {
  const name = uniqueQueueName();
  const [{ group }] = [strayPair()];

  @Injectable()
  class Early implements OnModuleInit {
    queue = '';
    constructor(private readonly jobs: JobQueueService) {}
    async onModuleInit() {
      this.queue = (await this.jobs.enqueue(name, 1, { group })).queue;
    }
  }
  @JobHandler(name, { spread: SHARDS })
  class Handler {
    handle() {}
  }
  const app = await startApp({ providers: [Early, Handler] });
  const shards = app.get(JobQueueService).shards(name);
  expect(app.get(Early).queue).toBe(shards[shardOfKey(group, SHARDS)]!.name);
});

it('runs in a module that is loaded lazily', async () => {
  const name = uniqueQueueName();
  const seen: unknown[] = [];

  @JobHandler(name, { spread: SHARDS })
  class Handler {
    handle(job: Job) {
      seen.push(job.payload);
    }
  }
  @Module({ providers: [Handler] })
  class LazyModule {}
  const app = await startApp({});
  await app.get(LazyModuleLoader).load(() => LazyModule);
  const jobs = app.get(JobQueueService);
  const handles = await Promise.all([1, 2, 3, 4].map((payload) => jobs.enqueue(name, payload)));
  await Promise.all(handles.map((handle) => handle.result()));
  expect(new Set(seen)).toEqual(new Set([1, 2, 3, 4]));
});

it('runs once by runHandler, as the attempt that is asked for', async () => {
  @JobHandler('ingest', { spread: SHARDS })
  class Handler {
    handle(job: Job) {
      return [job.payload, job.attempt];
    }
  }
  for (let i = 0; i < SHARDS; i++) expect(await runHandler(Handler, i, { attempt: 3 })).toEqual([i, 3]);
});

it('is added with its transaction, one and many, and not if that rolls back', async () => {
  const name = uniqueQueueName();

  @JobHandler(name, { spread: SHARDS })
  class Handler {
    handle(job: Job) {
      return job.payload;
    }
  }
  const module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest()],
    providers: [Handler],
  }).compile();
  await module.init();
  const [testing, jobs] = [module.get(JobQueueTesting), module.get(JobQueueService)];
  const transaction = {};
  const many = [{ payload: 'b', group: 'g1' }, { payload: 'c', group: 'g2' }, { payload: 'd' }];
  const add = async () => {
    const first = await jobs.enqueue(name, 'a', { transaction });
    return [first, ...(await jobs.enqueueMany(name, many, { transaction }))];
  };
  await expect(
    testing.transaction(transaction, async () => {
      await add();
      throw new Error('rolled back');
    }),
  ).rejects.toThrow('rolled back');
  expect((await testing.drain()).completed).toBe(0);
  const handles = await testing.transaction(transaction, add);
  await testing.drain();
  expect(await Promise.all(handles.map(({ id }) => jobs.result(name, id)))).toEqual(['a', 'b', 'c', 'd']);
  await module.close();
});

onEachStore('a batch', () => {
  it('has members in all shards, also those that a running member adds, and fires once', async () => {
    const [name, report] = [uniqueQueueName(), uniqueQueueName()];
    const seen: unknown[] = [];
    const reports: unknown[] = [];

    @JobHandler(name, { spread: SHARDS })
    class Handler {
      async handle(job: Job<number>) {
        seen.push(job.payload);
        if (job.payload === 0) await job.batch!.add(name, 100, { id: 'added', group: 'g2' });
      }
    }
    @JobHandler(report)
    class Report {
      handle(job: Job) {
        reports.push(job.payload);
      }
    }
    const app = await startApp({ providers: [Handler, Report] });
    const jobs = app.get(JobQueueService);
    const batch = jobs.batch({ then: { name: report, payload: 'all' } });
    const first = await batch.add(name, 0);
    const members = Array.from({ length: 12 }, (_, i) => ({
      payload: i + 1,
      ...(i % 2 === 0 && { group: `g${i}` }),
      ...(i % 3 === 0 && { id: `member-${i}` }),
    }));
    const handles = await batch.addMany(name, members);
    await batch.seal();
    await passTime(app);
    await eventually(() => reports.length > 0);
    expect(reports).toEqual(['all']);
    expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual([...members.keys(), 12, 100]);
    const records = await Promise.all([first, ...handles].map(({ id }) => jobs.get(name, id)));
    expect(records.map((record) => record?.payload)).toEqual([0, ...members.map(({ payload }) => payload)]);
    const ungrouped = handles.filter((_, i) => i % 2 !== 0 && i % 3 !== 0);
    expect(new Set(ungrouped.map(({ queue }) => queue)).size).toBe(1);
    expect(new Set(handles.map(({ queue }) => queue)).size).toBeGreaterThan(1);
    expect((await batch.status()).completed).toBe(14);
    await expect(batch.add(name, 1)).rejects.toThrow('sealed');
  });
});

it('is refused if middleware gives it a key of another shard, in one and in many', async () => {
  const name = uniqueQueueName();
  const own = Array.from({ length: SHARDS }, (_, shard) => groupIn(shard));
  const middleware: JobQueueMiddleware = {
    enqueue: (request, next) => {
      for (const { payload, options } of request.jobs) {
        if (typeof payload === 'string') options.group = payload;
      }
      return next();
    },
  };
  const queues = { [name]: { spread: SHARDS } };
  const app = await startApp({ jobs: { queues, middleware: [middleware], worker: false, maintenance: false } });
  const jobs = app.get(JobQueueService);
  const moved = jobs.enqueue(name, own[1], { group: own[0] });
  await expect(moved).rejects.toThrow(/^enqueue: expected middleware that sets no id, group or unique key/);
  const many = jobs.enqueueMany(name, [
    { payload: 1, group: own[2]! },
    { payload: own[1], group: own[0]! },
  ]);
  await expect(many).rejects.toThrow(/enqueueMany\[1\]: expected middleware/);
  await jobs.enqueue(name, own[0], { group: own[0] });
  await jobs.shards(name)[1]!.enqueue(1, { group: own[0] });
  const pending = await Promise.all(jobs.shards(name).map(async (shard) => (await shard.stats()).pending));
  expect(pending).toEqual([1, 1, 1, 0]); // the part of another shard is there, as the items of the error say
});

it('names the place in the call if a job of a transaction is refused, and refuses an own id in after', async () => {
  const name = uniqueQueueName();
  const module = await Test.createTestingModule({
    imports: [JobQueueTestingModule.forTest({ queues: { [name]: { spread: SHARDS } } })],
  }).compile();
  await module.init();
  const [testing, jobs] = [module.get(JobQueueTesting), module.get(JobQueueService)];
  const transaction = {};
  const faults = await testing.transaction(transaction, async () => [
    await jobs
      .enqueueMany(
        name,
        [
          { payload: 1, group: groupIn(0) },
          { payload: 2, group: groupIn(1), delayMs: -1 },
        ],
        { transaction },
      )
      .catch(String),
    await jobs.enqueue(name, 1, { after: ['order-17'], transaction }).catch(String),
    await jobs
      .enqueueMany(name, [{ payload: 1 }, { payload: 2, after: ['order-17'] }], { transaction })
      .catch(String),
  ]);
  expect(faults[0]).toContain('enqueueMany[1].delayMs');
  expect(faults[1]).toContain('enqueue.after');
  expect(faults[2]).toContain('enqueueMany[1].after');
  await module.close();
});

it('tells `drained` once for all shards, under the name of the queue', async () => {
  const name = uniqueQueueName();
  let end!: () => void;
  const gate = new Promise<void>((resolve) => (end = resolve));
  const handle = (job: Job) => (job.payload === 'last' ? gate : undefined);
  const app = await startApp({
    jobs: { queues: { [name]: { eventExtras: { drained: true } } } },
    providers: [handlerOf(name, handle, { spread: SHARDS })],
  });
  const jobs = app.get(JobQueueService);
  const seen: FleetJobEvent[] = [];
  jobs.events.where({ queue: name }).subscribe((event) => seen.push(event));
  const drained = () => seen.filter(({ status }) => status === 'drained');
  // Jobs before the subscription are not seen.
  await eventually(async () => {
    await (await jobs.enqueue(name, 'first')).result();
    return seen.length > 0;
  });
  await eventually(() => drained().length > 0);
  const before = drained().length;
  const last = await jobs.enqueue(name, 'last');
  for (let round = 1; round <= 3; round++) {
    const many = Array.from({ length: SHARDS }, (_, shard) => ({ payload: round, group: groupIn(shard) }));
    await Promise.all((await jobs.enqueueMany(name, many)).map((job) => job.result()));
    if (round === 1) {
      expect(drained()).toHaveLength(before);
      end();
      await last.result();
    }
    await eventually(() => drained().length === before + round);
  }
  for (const event of drained()) expect(event).toEqual({ queue: name, id: '', name, status: 'drained' });
}, 30_000);

it('has its events under its name, in whatever shard it was', async () => {
  const name = uniqueQueueName();
  const seen: string[] = [];

  @JobHandler(name, { spread: SHARDS })
  class Handler {
    handle() {}

    @OnJobEvent('completed', { queue: name })
    completed({ job }: { job: Job }) {
      seen.push(job.id);
    }
  }
  const app = await startApp({ providers: [Handler] });
  const jobs = app.get(JobQueueService);
  const handles = await Promise.all([1, 2, 3, 4].map((payload) => jobs.enqueue(name, payload)));
  await Promise.all(handles.map((handle) => handle.result()));
  await eventually(() => seen.length === 4);
  expect(seen.toSorted()).toEqual(handles.map(({ id }) => id).toSorted());
});
