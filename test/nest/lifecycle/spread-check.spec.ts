// A process with another number of shards than the fleet has.
import { expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { InvalidOptionError, JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { DEFAULT_CONNECTION, partToken } from '#nest/connection/connection-tokens.js';
import type { QueueRegistry } from '#nest/connection/queue-registry.js';
import { checkSpreads } from '#nest/lifecycle/boot-audit.js';
import { shardNames, shardOfKey } from '#queue/model/spread.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { compileApp, startApp } from '../app.js';

/** Starts a process that enqueues only. */
async function producer(name: string, spread: number): Promise<JobQueueService> {
  const app = await startApp({ jobs: { queues: { [name]: { spread } }, worker: false, maintenance: false } });
  return app.get(JobQueueService);
}

async function refusal(name: string, spread: number): Promise<InvalidOptionError> {
  const app = await compileApp({ jobs: { queues: { [name]: { spread } }, worker: false, maintenance: false } });
  const error: unknown = await app.init().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidOptionError);
  return error as InvalidOptionError;
}

/** Returns a group that has another shard with 4 than with 2, or the same. */
function groupThat(moves: boolean): string {
  for (let i = 0; ; i++) if ((shardOfKey(`g${i}`, 2) !== shardOfKey(`g${i}`, 4)) === moves) return `g${i}`;
}

async function isRegistered(name: string, jobs: JobQueueService, count: number): Promise<void> {
  const [first] = jobs.shards(name);
  await eventually(async () => {
    const names = await first!.store.queues.registered(await first!.calls(), 1_000, first!.callLimit);
    return names.filter((each) => each === name || each.startsWith(`${name}@`)).length === count;
  });
}

it('raises the number while jobs without a key wait, and jobs of groups whose shard stays', async () => {
  const name = uniqueQueueName();
  const old = await producer(name, 2);
  await isRegistered(name, old, 2);
  const handles = await old.enqueueMany(name, [{ payload: 1 }, { payload: 2, group: groupThat(false) }]);
  const seen: unknown[] = [];

  @JobHandler(name, { spread: 4 })
  class Handler {
    handle(job: Job) {
      seen.push(job.payload);
    }
  }
  const jobs = (await startApp({ providers: [Handler] })).get(JobQueueService);
  await Promise.all(handles.map(({ id }) => jobs.result(name, id)));
  expect(new Set(seen)).toEqual(new Set([1, 2]));
});

it('runs each job once while a deploy raises the number: first the workers, then the producers', async () => {
  const name = uniqueQueueName();
  const seen: unknown[] = [];
  const workerOf = (spread: number) => {
    @JobHandler(name, { spread })
    class Handler {
      handle(job: Job) {
        seen.push(job.payload);
      }
    }
    return startApp({ providers: [Handler] });
  };
  let [count, from] = [0, await producer(name, 2)];
  const deploy = new AbortController();
  const handles: { id: string; queue: string }[] = [];
  const enqueue = async () => {
    while (!deploy.signal.aborted) handles.push(await from.enqueue(name, count++));
  };
  const before = await workerOf(2);
  const enqueuing = enqueue();
  const isPast = (more: number, then = seen.length) => eventually(() => seen.length >= then + more);
  await isPast(20);
  const after = await workerOf(4);
  await isPast(20);
  await before.close();
  await isPast(20);
  from = await producer(name, 4);
  await isPast(20);
  deploy.abort();
  await enqueuing;
  await eventually(() => seen.length === count);
  expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual([...handles.keys()]);
  expect(new Set(handles.map(({ queue }) => queue))).toEqual(new Set(shardNames(name, 4)));
  const jobs = after.get(JobQueueService);
  expect(await jobs.queue(name).stats()).toMatchObject({ pending: 0, processing: 0, totals: { completed: count } });
});

it('refuses a larger number while jobs of groups wait that would get another shard, with their count', async () => {
  const name = uniqueQueueName();
  const old = await producer(name, 2);
  await isRegistered(name, old, 2);
  const group = groupThat(true);
  await old.enqueueMany(
    name,
    [1, 2, 3].map((payload) => ({ payload, group })),
  );
  const { message } = await refusal(name, 4);
  expect(message).toContain('3 jobs of 1 groups');
  expect(message).toContain(group);
  await Promise.all(old.shards(name).map((shard) => shard.purge({ confirm: shard.name })));
  expect((await producer(name, 4)).shards(name)).toHaveLength(4);
});

it('refuses it also for a queue that had no shards', async () => {
  const name = uniqueQueueName();
  const old = await producer(name, 1);
  const group = Array.from({ length: 100 }, (_, i) => `g${i}`).find((each) => shardOfKey(each, 4) > 0)!;
  await old.enqueue(name, 1, { group });
  const [queue] = old.shards(name);
  await eventually(async () => {
    const names = await queue!.store.queues.registered(await queue!.calls(), 1_000, queue!.callLimit);
    return names.includes(name);
  });
  expect((await refusal(name, 4)).message).toContain('1 jobs of 1 groups');
});

it('refuses a smaller number while the other shards have jobs', async () => {
  const name = uniqueQueueName();
  const old = await producer(name, 4);
  await isRegistered(name, old, 4);
  const handles = await Promise.all([1, 2, 3, 4].map((payload) => old.enqueue(name, payload)));
  const { message } = await refusal(name, 2);
  expect(message).toContain('expected 4, as in another process, found 2');
  await Promise.all(handles.map(({ id }) => old.cancel(name, id)));
  expect((await producer(name, 2)).shards(name)).toHaveLength(2);
});

it('refuses the load of a lazy module with another number', async () => {
  const name = uniqueQueueName();
  const old = await producer(name, 4);
  await isRegistered(name, old, 4);
  await Promise.all([1, 2, 3, 4].map((payload) => old.enqueue(name, payload)));

  @JobHandler(name, { spread: 2 })
  class Handler {
    handle() {}
  }
  @Module({ providers: [Handler] })
  class LazyModule {}
  const app = await startApp({});
  const load = app.get(LazyModuleLoader).load(() => LazyModule);
  await expect(load).rejects.toThrow('expected 4, as in another process, found 2');
});

it('warns of a shard that cannot be read, and goes on', async () => {
  const name = uniqueQueueName();
  const old = await producer(name, 4);
  await isRegistered(name, old, 4);
  const app = await compileApp({ jobs: { queues: { [name]: { spread: 2 } }, worker: false, maintenance: false } });
  const registry = app.get<QueueRegistry>(partToken('queues', DEFAULT_CONNECTION));
  const [, , away, other] = shardNames(name, 4);
  registry.reference(away!).stats = () => Promise.reject(new Error('its master is away'));
  const warnings: string[] = [];
  const logger = { log: () => undefined, warn: (line: string) => warnings.push(line), error: () => undefined };
  await checkSpreads(registry, logger);
  expect(warnings).toEqual([expect.stringContaining('its master is away')]);
  await registry.reference(other!).enqueue(1);
  await expect(checkSpreads(registry, logger)).rejects.toBeInstanceOf(InvalidOptionError);
});
