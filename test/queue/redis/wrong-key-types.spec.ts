// A key of a queue with a wrong type. The error, health and the doctor name the key, its type and the command.
import { expect, it } from '@jest/globals';
import { type EnqueueOptions, JobQueue } from 'nest-job-queue/core';
import { readFacts } from '#inspect/signs.js';
import { unreadable } from '#inspect/unreadable.js';
import { RedisKeyTypeError } from '#queue/errors/redis-errors.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { typesOfKeys, typesOfQueue } from '#queue/validation/key-types.js';
import { testQueue } from '../../support/queue/queue-state.js';
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
  return { queue: new JobQueue(redis, name), base: new QueueKeys(name).base };
}

async function spoil(key: string, expected: string): Promise<string> {
  await (expected === 'string' ? redis.rpush(key, 'of another program') : redis.set(key, 'of another program'));
  return expected === 'string' ? 'list' : 'string';
}

it('has a type for each key of a queue', () => {
  const { base, events, queue: _queue, ...keys } = new QueueKeys('jobs');
  const spelled = Object.values(keys).filter((key): key is string => typeof key === 'string');
  const types = typesOfKeys(base, [...spelled.map((key) => (key.endsWith(':') ? `${key}id` : key)), events]);
  const starts = spelled.filter((key) => key !== `${base}groups:`);
  expect([...types.keys()].toSorted()).toEqual(
    starts.map((key) => (key.endsWith(':') ? `${key}id` : key)).toSorted(),
  );
});

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
  if (part !== 'sweep') {
    const { counts, findings } = await queue.doctor({ repair: true });
    expect(counts).toEqual({ type: 1 });
    expect(findings).toEqual([{ kind: 'type', subject: key, found, expected, repaired: false }]);
  }
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

const kinds: [kind: string, options: EnqueueOptions, parts: string[]][] = [
  ['a plain job', {}, ['pending', 'stats', 'wake']],
  ['a job with an id', { id: 'a' }, ['pending', 'stats', 'wake']],
  ['a delayed job', { delayMs: 60_000 }, ['scheduled', 'stats', 'wake']],
  ['a job with a priority', { priority: 1 }, ['prioritized', 'sequence', 'stats', 'wake']],
];

it.each(kinds)('the error of an enqueue of %s names it, and nothing is written', async (_kind, options, parts) => {
  const { queue, base } = newQueue();
  for (const part of parts) {
    const key = base + part;
    const found = await spoil(key, typesOfQueue('').get(part)!);
    await expect(queue.enqueue({}, options)).rejects.toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining(`\`TYPE ${key}\``),
      cause: { code: 'REDIS_KEY_TYPE', wrong: [expect.objectContaining({ key, found })] },
    });
    await redis.del(key);
    expect(await redis.keys(`${base}job:*`)).toEqual([]);
    expect(await queue.stats()).toMatchObject({ pending: 0, scheduled: 0 });
    expect((await redis.hget(`${base}stats`, 'enqueued_total')) ?? '0').toBe('0');
  }
  expect((await queue.enqueue({}, options)).outcome).toBe('new');
});

it('says in the error of a call which key of an id it is', async () => {
  const { queue, base } = newQueue();
  await spoil(`${base}batch_record:b`, 'hash');
  await expect(queue.exec((calls) => calls.batches.status('b'))).rejects.toMatchObject({
    wrong: [{ key: `${base}batch_record:b`, expected: 'hash', found: 'string' }],
  });
  await redis.del(`${base}batch_record:b`);
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
