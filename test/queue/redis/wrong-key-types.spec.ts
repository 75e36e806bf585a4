// A key of a queue with a wrong type. The error, health and the doctor name the key, its type and the command.
import { expect, it } from '@jest/globals';
import { type EnqueueOptions, JobQueue } from 'nest-job-queue/core';
import { readFacts } from '#inspect/signs.js';
import { unreadable } from '#inspect/unreadable.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { RedisKeyTypeError } from '#queue/errors/redis-errors.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { typesOfKeys, typesOfQueue } from '#queue/validation/key-types.js';
import type { ScheduleOptions } from '#queue/schedules/schedule.js';
import { testQueue } from '../../support/queue/queue-state.js';
import { HOURLY, testSchedules } from '../../support/queue/schedules.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const redis = connect();
const fixed = [...typesOfQueue('').keys()];
const withIds = [
  'schedule:s',
  'nudge:w',
  'batch:w:0',
  'batch_record:b',
  'batch_record:b/open',
  'batch_record:b/members',
  'batch_record:b/outcomes',
  'batch_record:b/seen',
  'history_batch:w',
  'replaced:r',
  'groups:waiting:g',
  'groups:running:g',
  'groups:state:g',
  'groups:later:g',
];

function newQueue(): { queue: JobQueue; base: string } {
  const name = uniqueQueueName();
  return { queue: new JobQueue(redis, name, { durabilityTimeoutMs: 1 }), base: new QueueKeys(name).base };
}

async function spoil(key: string, expected: string, asSet = false): Promise<string> {
  if (asSet) {
    await redis.sadd(key, 'of another program');
    return 'set';
  }
  await (expected === 'string' ? redis.rpush(key, 'of another program') : redis.set(key, 'of another program'));
  return expected === 'string' ? 'list' : 'string';
}

it.each(fixed)('%s: health and the doctor name it, and change nothing', async (part) => {
  const { queue, base } = newQueue();
  const key = base + part;
  const expected = typesOfQueue(base).get(key)!;
  const found = await spoil(key, expected);
  const error: unknown = await readFacts(queue).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(RedisKeyTypeError);
  expect((error as RedisKeyTypeError).wrong).toEqual([{ key, expected, found }]);
  const verdict = unreadable(queue.name, error);
  expect(verdict.summary).toContain(`key ${key} has the wrong type: expected ${expected}, found ${found}`);
  expect(verdict.next).toContain(`\`TYPE ${key}\``);
  const { counts, findings } = await queue.doctor({ repair: true });
  expect(counts).toEqual({ type: 1 });
  expect(findings).toEqual([{ kind: 'type', subject: key, found, expected, repaired: false }]);
  expect(await redis.type(key)).toBe(found);
  await redis.del(key);
  expect((await queue.doctor()).counts).toEqual({});
});

it.each(withIds)('%s: the doctor names it', async (part) => {
  const { queue, base } = newQueue();
  const key = base + part;
  const expected = typesOfKeys(base, [key]).get(key)!;
  const found = await spoil(key, expected);
  const { findings } = await queue.doctor();
  expect(findings.filter(({ kind }) => kind === 'type')).toEqual([
    { kind: 'type', subject: key, found, expected, repaired: false },
  ]);
  await redis.del(key);
});

const COMMON = ['pending', 'stats', 'wake'];
/** Only a claimed job without a permit of its key uses `keyed`. */
const OF_GROUPS = fixed.filter((part) => part.startsWith('groups:') && part !== 'groups:keyed');
const OF_ONE_GROUP = ['groups:waiting:g', 'groups:running:g', 'groups:later:g', 'groups:state:g'];
/** The keys that a job does not use whose only option is its group. */
const OF_OTHER_GROUPED = ['groups:holds', 'groups:resting', 'groups:later:g', 'groups:state:g'];
const OF_GROUPED = [...OF_GROUPS, ...OF_ONE_GROUP].filter((part) => !OF_OTHER_GROUPED.includes(part));
const kinds: [kind: string, options: EnqueueOptions, parts: string[]][] = [
  ['a plain job', {}, COMMON],
  ['a durable job', { durability: 'replica' }, COMMON],
  ['a job with an id', { id: 'a' }, [...COMMON, 'settings']],
  ['a delayed job', { delayMs: 60_000 }, [...COMMON, 'settings', 'scheduled']],
  ['a job with a priority', { priority: 1 }, [...COMMON, 'settings', 'prioritized', 'sequence']],
  ['a unique job', { unique: { key: 'u', for: 'pending' } }, [...COMMON, 'settings', 'unique', 'unique_expiries']],
  [
    'a job that may replace another one',
    { unique: { key: 'u', for: 'pending', onConflict: 'replace' } },
    [...COMMON, 'unique', 'unique_expiries', 'scheduled', 'prioritized'],
  ],
  ['a job of a group', { group: 'g' }, [...COMMON, 'settings', 'sequence', ...OF_GROUPED]],
  [
    'a delayed job of a group',
    { group: 'g', delayMs: 60_000 },
    [...COMMON, 'settings', 'scheduled', 'sequence', ...OF_GROUPS, ...OF_ONE_GROUP],
  ],
  [
    'a job of a group that may replace another one',
    { group: 'g', unique: { key: 'u', for: 'pending', onConflict: 'replace' } },
    [...COMMON, 'settings', 'unique', 'sequence', ...OF_GROUPS, ...OF_ONE_GROUP],
  ],
];

/** Enqueues a job without options and this one in one call, so that another job is written first. */
async function expectRefused(queue: JobQueue, key: string, options: EnqueueOptions, asSet: boolean): Promise<void> {
  const base = new QueueKeys(queue.name).base;
  const before = (await redis.keys(`${base}job:*`)).toSorted();
  const { pending, scheduled, totals } = await queue.stats();
  const found = await spoil(key, typesOfKeys(base, [key]).get(key)!, asSet);
  const [first, second] = await Promise.allSettled([queue.enqueue('before'), queue.enqueue({}, options)]);
  for (const { reason } of [first, second] as PromiseRejectedResult[]) {
    if (reason !== undefined) {
      expect(reason).toMatchObject({
        outcome: 'not-sent',
        message: expect.stringContaining(`\`TYPE ${key}\``),
        cause: { code: 'REDIS_KEY_TYPE', wrong: [expect.objectContaining({ key, found })] },
      });
    }
  }
  expect(second.status).toBe('rejected');
  await redis.del(key);
  if (first.status === 'fulfilled') {
    await queue.remove(first.value.id);
  }
  expect((await redis.keys(`${base}job:*`)).toSorted()).toEqual(before);
  expect(await queue.stats()).toMatchObject({ pending, scheduled });
  const { enqueued = 0 } = (await queue.stats()).totals;
  expect(enqueued).toBe((totals['enqueued'] ?? 0) + (first.status === 'fulfilled' ? 1 : 0));
}

it.each(kinds)('the error of an enqueue of %s names it, and nothing is written', async (_kind, options, parts) => {
  const { queue, base } = newQueue();
  for (const part of parts) {
    await expectRefused(queue, base + part, options, false);
    await expectRefused(queue, base + part, options, true);
  }
  expect((await queue.doctor()).counts).toEqual({});
  const enqueued = queue.enqueue({}, options).catch((error: Error) => error);
  expect(await enqueued).toMatchObject(options.durability ? { code: 'DURABILITY_TIMEOUT' } : { outcome: 'new' });
});

it('a job of a group is added beside keys of a wrong type that it does not use', async () => {
  const { queue, base } = newQueue();
  for (const part of ['pending', ...OF_OTHER_GROUPED]) {
    await spoil(base + part, typesOfKeys(base, [base + part]).get(base + part)!);
    const { outcome } = await queue.enqueue({}, { group: 'g' });
    expect({ part, outcome }).toEqual({ part, outcome: 'new' });
    await redis.del(base + part);
  }
  expect((await queue.doctor()).counts).toEqual({});
  expect(await queue.stats()).toMatchObject({ pending: 5, totals: { enqueued: 5 } });
});

it('the error of an enqueue that waits for a job names it, and nothing is written', async () => {
  const { queue, base } = newQueue();
  const { id } = await queue.enqueue('first');
  for (const part of ['scheduled', 'awaiting', 'pending', 'stats']) {
    if (part !== 'pending' && part !== 'stats') {
      await expectRefused(queue, base + part, { after: [id] }, false);
      await expectRefused(queue, base + part, { after: [id] }, true);
    }
  }
  expect((await queue.doctor()).counts).toEqual({});
});

it.each(['its own queue', 'another queue'])('the error of an enqueue to a batch of %s names it', async (where) => {
  const [home, other] = [newQueue(), newQueue()];
  const there = where === 'another queue' ? other : home;
  const batch = home.queue.batch({ id: 'b', then: { name: 'then' } });
  await batch.add('page', 1, { queue: there.queue });
  const record = ['', '/open', '/members', '/outcomes'].map((end) => `batch_record:b${end}`);
  for (const part of where === 'another queue' ? ['remote_members'] : record.slice(3)) {
    const key = there.base + part;
    await redis.del(key);
    const found = await spoil(key, 'hash');
    await expect(batch.add('page', 2, { queue: there.queue })).rejects.toMatchObject({
      outcome: 'not-sent',
      cause: { wrong: [expect.objectContaining({ key, found })] },
    });
    await redis.del(key);
  }
  expect(await there.queue.stats()).toMatchObject({ pending: 1, totals: { enqueued: 1 } });
});

it.each(['its own queue', 'another queue'])(
  'the error of an enqueue after a job of %s names its hash',
  async (where) => {
    const home = newQueue();
    const there = where === 'another queue' ? newQueue() : home;
    const [fine, broken] = [await there.queue.enqueue({}), `${there.base}job:broken`];
    const found = await spoil(broken, 'hash');
    const after = [fine, { queue: there.queue.name, id: 'broken' }];
    const wrong = [expect.objectContaining({ key: broken, found })];
    await expect(home.queue.enqueue({}, { after })).rejects.toMatchObject({ cause: { wrong } });
    await redis.del(broken);
    expect(await fine.get()).not.toHaveProperty('followedBy');
  },
);

const OF_SCHEDULES: [kind: string, options: ScheduleOptions, parts: string[]][] = [
  ['a plain job', {}, COMMON],
  ['a job with a priority', { priority: 1 }, [...COMMON, 'settings', 'prioritized', 'sequence']],
  ['a job at a time', { overlap: false }, [...COMMON, 'settings', 'unique', 'unique_expiries']],
  ['a job of a group', { group: 'g' }, ['stats', 'wake', 'settings', 'sequence', ...OF_GROUPED]],
];

it.each(OF_SCHEDULES)(
  'the error of a tick with %s names it, and the tick is made later',
  async (_, options, parts) => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('s', HOURLY, options));
    const due = await schedules.makeDue('s');
    const { base } = new QueueKeys(q.name);
    for (const part of parts) {
      for (const asSet of [false, true]) {
        const key = base + part;
        const found = await spoil(key, typesOfKeys(base, [key]).get(key)!, asSet);
        const named = OF_ONE_GROUP.includes(part) ? {} : { wrong: [expect.objectContaining({ key, found })] };
        const error = { code: 'REDIS_KEY_TYPE', ...named };
        await expect(schedules.tick()).rejects.toMatchObject(error);
        await expect(q.run(schedules.scripts.run({ id: 's', jobId: 'by hand' }))).rejects.toMatchObject(error);
        await redis.del(key);
      }
    }
    expect(await redis.keys(`${base}job:*`)).toEqual([]);
    expect(await schedules.dueAt('s')).toBe(due);
    expect(await schedules.tick()).toEqual(['enqueued']);
    expect(await q.claim(1)).toMatchObject([{ id: `@schedule:s:${due}` }]);
  },
);

it.each([
  ['scheduled', {}],
  ['settings', { group: 'g' }],
  ['wake', {}],
  ['job:@batch:b:then', {}],
])('a follow-up that meets %s of a wrong type is enqueued once that is mended', async (part, options) => {
  const { queue, base } = newQueue();
  const batch = queue.batch({ id: 'b', then: { name: 'then', ...options } });
  await batch.add('page', 1);
  await batch.seal();
  const claim = (await queue.claim())!;
  const key = base + part;
  const before = await redis.dumpBuffer(key);
  await redis.del(key);
  const found = await spoil(key, typesOfKeys(base, [key]).get(key)!);
  await expect(queue.complete(claim)).rejects.toMatchObject({ code: 'REDIS_KEY_TYPE' });
  expect(await redis.type(key)).toBe(found);
  await expect(maintainBatches(queue, { all: true })).rejects.toMatchObject({ code: 'REDIS_KEY_TYPE' });
  await redis.del(key);
  if (before) await redis.restore(key, 0, before);
  await maintainBatches(queue, { all: true });
  expect(await batch.status()).toMatchObject({ state: 'fired', completed: 1 });
  expect(await queue.claim()).toMatchObject({ id: '@batch:b:then', name: 'then' });
});

it('the error of a read of one key names it', async () => {
  const { queue, base } = newQueue();
  const [job, audit] = [`${base}job:a`, `${base}audit`];
  await Promise.all([spoil(job, 'hash'), spoil(audit, 'stream')]);
  await expect(queue.get('a')).rejects.toMatchObject({ wrong: [{ key: audit }, { key: job }] });
  await redis.del(job);
  await expect(queue.auditTrail.read()).rejects.toMatchObject({
    wrong: [{ key: audit, expected: 'stream', found: 'string' }],
  });
  await redis.del(audit);
});

it('a queue with an audit trail of a wrong type writes nothing that it cannot note', async () => {
  const name = uniqueQueueName();
  const queue = new JobQueue(redis, name, { auditTrail: {} });
  const { base } = new QueueKeys(name);
  await spoil(`${base}audit`, 'stream');
  await expect(queue.enqueue({})).rejects.toMatchObject({ cause: { wrong: [{ key: `${base}audit` }] } });
  expect(await redis.keys(`${base}*`)).toEqual([`${base}audit`]);
  await redis.del(`${base}audit`);
});

it('says in the error of a call which key of an id it is', async () => {
  const { queue, base } = newQueue();
  await spoil(`${base}batch_record:b`, 'hash');
  await expect(queue.exec((calls) => calls.batches.status({ id: 'b' }))).rejects.toMatchObject({
    wrong: [{ key: `${base}batch_record:b`, expected: 'hash', found: 'string' }],
  });
  await redis.del(`${base}batch_record:b`);
});

it('says in the error of a call that a script found the key by its content, and how to name it', async () => {
  const { queue, base } = newQueue();
  await queue.enqueue(1, { group: 'g' });
  const key = `${base}groups:waiting:g`;
  await redis.del(key);
  await spoil(key, 'zset');
  await expect(queue.list('pending')).rejects.toMatchObject({
    code: 'REDIS_KEY_TYPE',
    message: expect.stringContaining('nest-job-queue doctor'),
  });
  expect(unreadable(queue.name, await queue.list('pending').catch((error: unknown) => error)).summary).toMatch(
    /^unreadable: A key of the queue/,
  );
  await redis.del(key);
});

it('says in the error of a claim which key it is', async () => {
  const q = testQueue();
  await q.add('a');
  await q.redis.set(q.keys.claims, 'of another program');
  await expect(q.claim(1)).rejects.toMatchObject({
    wrong: [{ key: q.keys.claims, expected: 'zset', found: 'string' }],
  });
  await q.redis.del(q.keys.claims);
});
