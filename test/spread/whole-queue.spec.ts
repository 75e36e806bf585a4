// A queue with shards as one object: `jobs.queue` and `@InjectQueue`. Each verb acts on all shards or on that of a job, or is refused.
import { expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  InjectQueue,
  InvalidOptionError,
  JobHandler,
  JobQueue,
  JobQueueService,
  NonRetryableError,
} from 'nest-job-queue';
import { markOfShard, shardNames, shardOfId, shardOfKey } from '#queue/model/spread.js';
import { VERBS } from '../support/queue/verb-arguments.js';
import { uniqueQueueName } from '../support/redis/redis.js';
import { eventually } from '../support/faults/wait.js';
import { onEachStore, passTime, startApp } from '../nest/app.js';

const SHARDS = 4;

/** Starts an app with a queue of four shards, whose worker fails each job with the payload `fail`. */
async function start(jobs: { worker?: boolean } = {}) {
  const name = uniqueQueueName('ingest');

  @JobHandler(name, { spread: SHARDS, maxAttempts: 1 })
  class Handler {
    handle({ payload }: { payload: unknown }) {
      if (payload === 'fail') throw new NonRetryableError('no');
      return payload;
    }
  }
  const app = await startApp({ jobs: { maintenance: false, logFailures: false, ...jobs }, providers: [Handler] });
  const service = app.get(JobQueueService);
  return { app, name, service, queue: service.queue(name), shards: service.shards(name) };
}

/** Returns a group of each shard. */
function groups(): string[] {
  const found: string[] = [];
  for (let i = 0; found.filter(Boolean).length < SHARDS; i++) found[shardOfKey(`g${i}`, SHARDS)] ??= `g${i}`;
  return found;
}

onEachStore('a queue with shards as one object', () => {
  it('adds each job to its shard, one by one and many at once', async () => {
    const { name, queue } = await start({ worker: false });
    expect(queue).toBeInstanceOf(JobQueue);
    expect(queue.name).toBe(name);
    for (const [i, group] of groups().entries()) {
      const handle = await queue.enqueue(i, { group });
      expect([handle.queue, shardOfId(handle.id)]).toEqual([shardNames(name, SHARDS)[i], i]);
    }
    const marks = await Promise.all(
      [1, 2, 3, 4].map(async (payload) => shardOfId((await queue.enqueue(payload)).id)),
    );
    expect(new Set(marks).size).toBe(SHARDS);
    const many = await queue.enqueueMany([...groups().map((group) => ({ payload: 1, group })), { payload: 2 }]);
    expect(many.slice(0, SHARDS).map(({ id }) => shardOfId(id))).toEqual([0, 1, 2, 3]);
    const after = await queue.enqueue(3, { after: [many[2]!.id] });
    expect(await queue.get(after.id)).toMatchObject({ after: [{ queue: many[2]!.queue, id: many[2]!.id }] });
    const { pending, scheduled, totals } = await queue.stats();
    expect([pending, scheduled, totals]).toMatchObject([13, 1, { enqueued: 14 }]);
    await expect(queue.enqueue(1, { id: `a${markOfShard(3)}`, group: groups()[1] })).rejects.toThrow(
      InvalidOptionError,
    );
  });

  it('finds a job by its id, whatever shard it is in', async () => {
    const { queue } = await start({ worker: false });
    const [, , group] = groups();
    await queue.enqueue({ a: 1 }, { id: 'order-17', group });
    expect(await queue.get('order-17')).toMatchObject({ payload: { a: 1 }, group });
    expect(await queue.setPriority('order-17', 5)).toBe('updated');
    expect(await queue.cancel('order-17')).toBe('cancelled');
    expect(await queue.runAgain('order-17')).toBe('pending');
    expect(await queue.remove('order-17')).toBe('removed');
    expect(await queue.get('order-17')).toBeNull();
    await expect(queue.get(5 as never)).rejects.toThrow(InvalidOptionError);
  });

  it('returns the result and the stream of a job', async () => {
    const { app, queue } = await start();
    const { id } = await queue.enqueue({ a: 1 }, { id: 'own' });
    await passTime(app);
    expect(await queue.result(id)).toEqual({ a: 1 });
    const items: unknown[] = [];
    for await (const item of queue.stream(id)) items.push(item.type);
    expect(items).toEqual(['result']);
    expect(() => queue.stream(id, { after: 'x' })).toThrow();
  });

  it('lists the jobs of all shards in one page', async () => {
    const { queue } = await start({ worker: false });
    for (let i = 0; i < 8; i++) await queue.enqueue(i, { delayMs: 60_000 * (i + 1) });
    const payloads = async (options = {}) => (await queue.list('scheduled', options)).map(({ payload }) => payload);
    expect(await payloads()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await payloads({ limit: 3 })).toEqual([0, 1, 2]);
    expect(await payloads({ limit: 3, offset: 2 })).toEqual([2, 3, 4]);
    await expect(queue.list('none' as never)).rejects.toThrow(InvalidOptionError);
    expect(await queue.clean('scheduled', { limit: 3 })).toBe(3);
    expect(await queue.clean('scheduled')).toBe(5);
  });

  it('pauses, resumes and purges all shards', async () => {
    const { name, queue, shards } = await start({ worker: false });
    await Promise.all(Array.from({ length: 8 }, (_, i) => queue.enqueue(i)));
    expect(await queue.pause({ by: 'ada' })).toBe(true);
    expect(await queue.pause()).toBe(false);
    const paused = await Promise.all(shards.map(async (shard) => (await shard.stats()).pausedBy));
    expect(paused).toEqual(['ada', 'ada', 'ada', 'ada']);
    await expect(queue.resume({ first: 1 })).rejects.toThrow(InvalidOptionError);
    expect(await queue.resume()).toBe(true);
    await expect(queue.purge({ confirm: 'another' })).rejects.toThrow(InvalidOptionError);
    expect(await queue.purge({ confirm: name })).toBe(8);
  });

  it('redrives and discards the dead letters of all shards', async () => {
    const { app, queue } = await start();
    const handles = await Promise.all(Array.from({ length: 8 }, () => queue.enqueue('fail')));
    await passTime(app);
    await Promise.allSettled(handles.map((handle) => handle.result()));
    expect(await queue.deadLetters.kinds()).toMatchObject([{ count: 8 }]);
    expect(await queue.deadLetters.get(handles[5]!.id)).toMatchObject({ payload: 'fail' });
    await queue.pause();
    expect(await queue.deadLetters.redrive(handles[5]!.id)).toBe(true);
    expect(await queue.deadLetters.redriveAll({}, { limit: 3 })).toBe(3);
    expect(await queue.deadLetters.discardAll()).toBe(4);
    expect((await queue.stats()).pending).toBe(4);
  });

  it('steers a group in its shard', async () => {
    const { queue, shards } = await start({ worker: false });
    const [, , , group] = groups() as [string, string, string, string];
    await queue.groups.set(group, { maxRunning: 2 });
    expect(await queue.groups.get(group)).toMatchObject({ limits: { maxRunning: 2 } });
    expect(await shards[3]!.groups.get(group)).toMatchObject({ limits: { maxRunning: 2 } });
    await queue.enqueue(1, { group });
    expect(await queue.groups.clean(group)).toBe(1);
  });

  it('is what a class injects', async () => {
    const name = uniqueQueueName('ingest');

    @JobHandler(name, { spread: SHARDS })
    class Handler {
      handle() {}
    }
    @Injectable()
    class Caller {
      constructor(@InjectQueue(name) readonly queue: JobQueue) {}
    }
    const app = await startApp({ jobs: { worker: false }, providers: [Handler, Caller] });
    const { queue } = app.get(Caller);
    expect(queue).toBe(app.get(JobQueueService).queue(name));
    await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ payload })));
    expect((await queue.stats()).pending).toBe(4);
  });
});

it('has each job on one page, although the lines of its shards run against the times', async () => {
  const { queue } = await start({ worker: false });
  const ids: string[] = [];
  for (const id of [`a${markOfShard(0)}`, `b${markOfShard(1)}`, `c${markOfShard(0)}`]) {
    await queue.enqueue(1, { id, lifo: true });
    const enqueuedMs = Date.now();
    await eventually(() => Date.now() > enqueuedMs + 1); // the next one has another time
  }
  for (let offset = 0; offset < 3; offset++) {
    ids.push(...(await queue.list('pending', { offset, limit: 1 })).map(({ id }) => id));
  }
  expect(ids).toEqual([`b${markOfShard(1)}`, `c${markOfShard(0)}`, `a${markOfShard(0)}`]);
  for (const page of [
    { offset: -1 },
    { offset: 5, limit: 0 },
    { offset: 5, limit: -3 },
    { offset: 990, limit: 50 },
  ]) {
    await expect(queue.list('pending', page)).rejects.toThrow(InvalidOptionError);
  }
});

it('redrives no more a second than asked, and no job that fails after the start of the call', async () => {
  const { queue, shards } = await start();
  const fail = async (shard: number) => {
    const [job] = await queue.enqueueMany([{ payload: 'fail', group: groups()[shard]! }]);
    return job!;
  };
  const failed = await Promise.all([0, 0, 1, 1, 3, 3].map(fail));
  await Promise.allSettled(failed.map((job) => job.result()));
  const slept: [shard: number, ms: number][] = [];
  for (const [i, shard] of shards.entries()) {
    jest.spyOn(shard, 'sleep').mockImplementation(async (ms) => {
      slept.push([i, ms]);
      const before = Date.now();
      await eventually(() => Date.now() > before + 20);
      await Promise.allSettled([(await fail(3)).result()]);
    });
  }
  expect(await queue.deadLetters.redriveAll({}, { perSecond: 4 })).toBe(6);
  expect(slept).toEqual([
    [1, 500],
    [2, 500],
  ]);
});

it('is purged by its own name alone, and has what each object has', async () => {
  const { queue, shards } = await start({ worker: false });
  await Promise.all(groups().map((group) => queue.enqueue(1, { group })));
  const purged = jest.spyOn(shards[1]!, 'purge');
  await expect(queue.purge({ confirm: shards[1]!.name })).rejects.toThrow(InvalidOptionError);
  expect(purged).not.toHaveBeenCalled();
  expect(queue.valueOf()).toBe(queue);
});

it('does each verb of a queue or refuses it, with what to do', async () => {
  const { name, queue } = await start({ worker: false });
  const [refused, thrown]: string[][] = [[], []];
  for (const [verb, parameters] of Object.entries(VERBS)) {
    const [path] = verb.split(':') as [string];
    const [part, method] = path.includes('.') ? path.split('.') : [undefined, path];
    const owner = (part === undefined ? queue : Reflect.get(queue, part)) as Record<
      string,
      (...args: unknown[]) => unknown
    >;
    let call: unknown;
    try {
      call = owner[method]!(...parameters.map(([sound]) => sound));
      if (path !== 'stream') await call;
    } catch (error) {
      if (error instanceof InvalidOptionError && error.hint.includes(`jobs.shards('${name}')`)) {
        refused!.push(verb);
        if (call === undefined) thrown!.push(verb);
      }
    }
  }
  const ofOne = [
    'claim',
    'claimMany',
    'complete',
    'fail',
    'release',
    'extend',
    'reclaim',
    'awaitResult',
    'onCancelled',
  ];
  const pages = ['deadLetters.list', 'history.read'];
  const trail = ['read', 'latest', 'take', 'acknowledge'].map((verb) => `auditTrail.${verb}`);
  const others = ['limits.set', 'limits.change'];
  expect(thrown!.toSorted()).toEqual(['onCancelled']);
  expect(refused!.toSorted()).toEqual([...ofOne, ...pages, ...trail, ...others].toSorted());
});

it('takes a verb that a test replaces, and gives it back', async () => {
  const { queue, shards } = await start({ worker: false });
  const pausing = jest.spyOn(queue, 'pause').mockResolvedValue(true);
  const redriving = jest.spyOn(queue.deadLetters, 'redriveAll').mockResolvedValue(7);
  expect([await queue.pause(), await queue.deadLetters.redriveAll()]).toEqual([true, 7]);
  expect((await shards[0]!.stats()).pausedAt).toBeNull();
  pausing.mockRestore();
  redriving.mockRestore();
  expect([await queue.pause(), await queue.deadLetters.redriveAll()]).toEqual([true, 0]);
  expect((await shards[3]!.stats()).pausedAt).not.toBeNull();
});

it('reads pages of groups, actions and workers over all shards, and refuses a place behind an action of one', async () => {
  const { queue } = await start();
  await queue.pause({ reason: 'deploy' });
  for (const group of groups())
    await queue.enqueueMany([
      { payload: 1, group },
      { payload: 2, group },
    ]);
  expect((await queue.groups.list({ by: 'age', offset: 1 })).map(({ pending }) => pending)).toEqual([2, 2, 2]);
  await expect(queue.groups.list({ offset: -1 })).rejects.toThrow(InvalidOptionError);
  const [entry, ...others] = await queue.actionLog.latest();
  expect([entry, others]).toMatchObject([{ action: 'pause', count: SHARDS }, []]);
  await expect(queue.actionLog.latest({ before: entry!.entryId })).rejects.toThrow(InvalidOptionError);
  await eventually(async () => (await queue.workers()).length === 1);
  expect(await queue.doctor()).toMatchObject({ queue: queue.name, checked: 8, findings: [] });
});
