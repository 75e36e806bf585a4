// Batches of a queue with shards: each has one shard, which a generated id names. Members and follow-ups are in all shards and elsewhere.
import { expect, it } from '@jest/globals';
import {
  BatchNotFoundError,
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  type BatchMember,
  type Job,
  type JobQueue,
} from 'nest-job-queue';
import { shardNames, shardOfId, shardOfKey } from '#queue/model/spread.js';
import { eventually } from '../../support/faults/wait.js';
import { testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { onEachStore, passTime, startApp } from '../app.js';

const SHARDS = 4;

/** Returns a key whose hash names a shard. */
function keyOf(shard: number, word = 'k'): string {
  for (let i = 0; ; i++) if (shardOfKey(`${word}${i}`, SHARDS) === shard) return `${word}${i}`;
}

/** Starts an app with a queue of four shards and a plain one. Their handlers note what they ran and what they saw of a batch. */
async function start({ worker = true } = {}) {
  const [name, plain] = [uniqueQueueName('ingest'), uniqueQueueName('plain')];
  const ran: string[] = [];
  const seen: { batch: string; queue: string; members: BatchMember[] }[] = [];

  async function handle(job: Job<{ adds?: string; fails?: boolean } | null>) {
    ran.push(`${job.name} ${job.queue}`);
    const { adds, fails } = job.payload ?? {};
    if (adds !== undefined) await job.batch!.add(adds, null, { id: `added-by-${job.id}` });
    if (fails === true) throw new Error('no');
    if (job.id.startsWith('@batch')) {
      const { id, queue } = job.batch!;
      seen.push({ batch: id, queue, members: (await job.batch!.results()).members });
    }
    return job.name;
  }
  @JobHandler(name, { spread: SHARDS, maxAttempts: 1 })
  class Spread {
    handle = handle;
  }
  @JobHandler(plain, { maxAttempts: 1 })
  class Plain {
    handle = handle;
  }
  const app = await startApp({ jobs: { worker, logFailures: false }, providers: [Spread, Plain] });
  const jobs = app.get(JobQueueService);
  return { app, name, plain, jobs, ran, seen, queue: jobs.queue(name), names: shardNames(name, SHARDS) };
}

onEachStore('a batch of a queue with shards', () => {
  it('has a shard that its id names, and members and follow-ups in all shards and in another queue', async () => {
    const { app, name, plain, jobs, seen, names } = await start();
    const batch = jobs.batch({
      then: { name, group: keyOf(2) },
      finally: { name: plain, payload: null },
      onFailure: { name },
    });
    expect(names[shardOfId(batch.id)!]).toBe(batch.queue);
    const handles = await batch.addMany(
      name,
      [0, 1, 2, 3].map((shard) => ({ payload: null, group: keyOf(shard) })),
    );
    expect(handles.map(({ queue }) => queue)).toEqual(names);
    const other = await batch.add(plain, { adds: name });
    await batch.seal();
    await passTime(app);
    await eventually(() => seen.length === 2);
    const added = `added-by-${other.id}`;
    const ids = [...handles.map(({ id }) => id), other.id, added].toSorted();
    for (const each of seen) {
      expect([each.batch, each.queue]).toEqual([batch.id, batch.queue]);
      expect(each.members.map(({ id }) => id).toSorted()).toEqual(ids);
    }
    const { followUps, completed } = await jobs.findBatch(name, batch.id).status();
    expect(completed).toBe(6);
    expect(followUps.map(({ kind, queue }) => [kind, queue])).toEqual([
      ['then', names[2]],
      ['onFailure', batch.queue],
      ['finally', plain],
    ]);
    for (const { kind, id } of followUps.slice(0, 2)) {
      expect((await jobs.get(name, id))?.status).toBe(kind === 'then' ? 'completed' : undefined);
    }
    const records = await Promise.all(handles.map(({ id }) => jobs.get(name, id)));
    for (const record of records) expect(record?.batch).toMatchObject({ id: batch.id, queue: batch.queue });
  });

  it('opens the same batch for an own id, and is found by it from another app', async () => {
    const { app, name, jobs, names, seen } = await start();
    for (const shard of [1, 3]) {
      const id = keyOf(shard, 'month-');
      const make = () => jobs.batch({ id, then: { name }, finally: { name, payload: null } });
      expect([make().queue, make().id]).toEqual([names[shard], id]);
      const added = [
        await make().add(name, null, { id: `a${shard}` }),
        await make().add(name, null, { id: `a${shard}` }),
      ];
      expect(added.map(({ outcome }) => outcome)).toEqual(['new', 'existing']);
      await make().seal();
      await passTime(app);
      await eventually(() => seen.filter(({ batch }) => batch === id).length === 2);
      expect(await jobs.findBatch(name, id).status()).toMatchObject({
        total: 1,
        completed: 1,
        queue: names[shard],
      });
      expect((await jobs.queue(name).findBatch(id).results()).members).toHaveLength(1);
    }
  });

  it('is made and found by the object of the queue, with a member in a queue by its object', async () => {
    const { app, name, plain, jobs, queue, names, seen } = await start();
    const batch = queue.batch({ then: { group: keyOf(3) }, finally: { queue: plain, name: plain } });
    await batch.add(name, null, { group: keyOf(1) });
    await batch.add(plain, null, { queue: jobs.queue(plain) });
    const [whole] = await batch.addMany(name, [{ payload: null, group: keyOf(2) }], { queue });
    expect(whole!.queue).toBe(names[2]);
    const [open] = await queue.listBatches();
    expect(open).toMatchObject({ id: batch.id, queue: batch.queue, total: 3 });
    await queue.findBatch(batch.id).seal();
    await passTime(app);
    await eventually(() => seen.length === 2);
    const { followUps } = await batch.status();
    expect(followUps.map((each) => each.queue)).toEqual([names[3], plain]);
    const byPlain = jobs.queue(plain).batch({ then: { queue: name, group: keyOf(2) } });
    const [member] = await byPlain.addMany(name, [{ payload: null, group: keyOf(1) }], { queue });
    expect(member!.queue).toBe(names[1]);
    await byPlain.seal();
    await passTime(app);
    await eventually(() => seen.length === 3);
    expect((await byPlain.status()).followUps).toMatchObject([{ queue: names[2] }]);
    expect((await jobs.get(name, `@batch-of:${plain} ${byPlain.id}:then`))?.name).toBe(name);
  });
});

it('fires the follow-up of a failure, and cancels the other members with failFast', async () => {
  const { app, name, jobs, names, seen } = await start();
  const batch = jobs.batch({ queue: name, failFast: true, onFailure: { payload: null } });
  const waiting = await Promise.all(
    [0, 1, 2, 3].map((shard) => batch.add(name, null, { delayMs: 3_600_000, group: keyOf(shard) })),
  );
  await batch.add(name, { fails: true });
  await batch.seal();
  await passTime(app);
  await eventually(() => seen.length === 1, { timeoutMs: 20_000 });
  const [{ queue, members }] = seen as [(typeof seen)[number]];
  expect(names).toContain(queue);
  const statuses = waiting.map(({ id }) => members.find((member) => member.id === id)!.status);
  expect(new Set(statuses)).toEqual(new Set(['cancelled']));
  expect((await jobs.get(name, `@batch:${batch.id}:on_failure`))?.name).toBe(name);
}, 60_000);

it.each(['redrive', 'redriveMany', 'redriveAll', 'runAgain'] as const)(
  'waits again for a member of another shard after %s, and counts its last end',
  async (verb) => {
    const { jobs, name, queue, seen, names } = await start();
    const batch = jobs.batch({ queue: name, id: keyOf(0, 'b'), then: { payload: null } });
    const [, member] = await Promise.all(
      [0, 1].map((shard) =>
        batch.add(name, { fails: shard === 1 && verb !== 'runAgain' }, { group: keyOf(shard) }),
      ),
    );
    expect([batch.queue, member!.queue]).toEqual([names[0], names[1]]);
    await eventually(async () => (await batch.status()).open === 0);
    await queue.pause();
    const { id } = member!;
    const isDone = {
      redrive: () => queue.deadLetters.redrive(id, { payload: null }),
      redriveMany: () => queue.deadLetters.redriveMany([id]),
      redriveAll: () => queue.deadLetters.redriveAll(),
      runAgain: () => queue.runAgain(id),
    };
    expect([true, 1, 'pending']).toContain(await isDone[verb]());
    await batch.seal();
    expect(await batch.status()).toMatchObject({ total: 2, open: 1, completed: 1, failed: 0 });
    if (verb === 'redriveMany' || verb === 'redriveAll') await queue.update(id, { payload: null });
    await queue.resume();
    await eventually(() => seen.length === 1);
    expect(await batch.status()).toMatchObject({ total: 2, open: 0, completed: 2, failed: 0 });
  },
);

it('lists the batches of all shards in one page: the oldest first, and of the ended ones the last first', async () => {
  const { jobs, name, queue } = await start();
  const made: string[] = [];
  for (const shard of [3, 0, 2, 1]) {
    const batch = jobs.batch({ queue: name, id: keyOf(shard, 'b') });
    await batch.add(name, null, { delayMs: 3_600_000 });
    made.push(batch.id);
    const before = Date.now();
    await eventually(() => Date.now() > before + 1);
  }
  const ids = async (options = {}) => (await queue.listBatches(options)).map(({ id }) => id);
  expect(await ids()).toEqual(made);
  expect([...(await ids({ limit: 1 })), ...(await ids({ offset: 1, limit: 2 }))]).toEqual(made.slice(0, 3));
  for (const id of made) {
    const batch = queue.findBatch(id);
    await batch.seal();
    await batch.cancel();
    await batch.wait({ timeoutMs: 20_000 });
    const before = Date.now();
    await eventually(() => Date.now() > before + 1);
  }
  expect(await ids({ ended: true })).toEqual(made.toReversed());
  await expect(queue.listBatches({ offset: 990 })).rejects.toThrow(InvalidOptionError);
}, 60_000);

it('is found by an own id after the number of shards was raised', async () => {
  const name = uniqueQueueName('ingest');
  const id = ((): string => {
    for (let i = 0; ; i++) if (shardOfKey(`b${i}`, 2) !== shardOfKey(`b${i}`, SHARDS)) return `b${i}`;
  })();
  const appWith = async (spread: number) =>
    (await startApp({ jobs: { redis: testRedisUrl(), worker: false, queues: { [name]: { spread } } } })).get(
      JobQueueService,
    );
  const before = (await appWith(2)).batch({ queue: name, id });
  const member = await before.add(name, null);
  const jobs = await appWith(SHARDS);
  const found = jobs.findBatch(name, id);
  expect(await found.status()).toMatchObject({ queue: before.queue, total: 1 });
  expect(found.queue).toBe(before.queue);
  const again = jobs.findBatch(name, id);
  const further = await again.add(name, null, { group: keyOf(3) });
  expect((await again.results()).members.map((each) => each.id)).toEqual([member.id, further.id]);
  await expect(jobs.findBatch(name, 'none').status()).rejects.toThrow(BatchNotFoundError);
});

it.each<[string, (jobs: JobQueueService, queue: JobQueue, name: string) => unknown]>([
  ['a batch without a queue', (jobs) => jobs.batch({})],
  ['an option that no batch has', (jobs, _, name) => jobs.batch({ queue: name, spread: 2 } as never)],
  ['an option of the service', (_, queue, name) => queue.batch({ queue: name } as never)],
  ['a follow-up that is no object', (_, queue) => queue.batch({ then: 5 as never })],
  ['an id that is no text', (jobs, _, name) => jobs.batch({ queue: name, id: 5 as never })],
  ['an id that ends as a key', (_, queue) => queue.batch({ id: 'a/open' })],
  ['a look without an id', (_, queue) => queue.findBatch(5 as never)],
])('refuses %s', async (_, call) => {
  const { jobs, queue, name } = await start({ worker: false });
  expect(() => call(jobs, queue, name)).toThrow(InvalidOptionError);
});
