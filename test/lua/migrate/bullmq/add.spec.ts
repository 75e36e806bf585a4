import { expect, it } from '@jest/globals';
import { BullmqTarget } from '#migrate/to-bullmq.js';
import { MoverOvertakenError } from '#migrate/queue/transit.js';
import { SeededQueue } from '../../../support/bullmq/seed-bullmq.js';
import { connect } from '../../../support/redis/redis.js';

const RIGHT = { source: 'move-x', fence: 2 };

/** Returns a job in transit. */
const job = (key: string, id: string, place = 'pending', score = '') => ({
  id,
  entry: `${key}\t${place}\t${score}\t\t\t`,
  fields: ['name', 'work', 'payload', '{"n":1}', 'enqueued_at_ms', '5'],
  isText: true,
});

function scene() {
  const old = new SeededQueue(connect());
  const target = new BullmqTarget({
    client: old.redis,
    prefix: 'bull',
    name: old.name,
    rules: { hasPriorities: false, maxAttempts: 10, handlerLimits: {}, dropGroups: false, nowMs: 0 },
    dropped: {},
    open: () => Promise.reject(new Error('no schedule is there')),
  });
  return { old, target };
}

it('adds each job once to its place, also if it has run and was removed since', async () => {
  const { old, target } = scene();
  const jobs = [job('1', 'a'), job('2', 'b', 'scheduled', '1900000000123'), job('3', 'c', 'dead', '7')];
  expect(await target.put(RIGHT, jobs)).toEqual(['new', 'new', 'new']);
  expect(await old.line()).toEqual(['a']);
  expect(await old.source.counts()).toMatchObject({ wait: 1, delayed: 1, failed: 1 });
  await old.remove('a');
  expect(await target.put(RIGHT, jobs)).toEqual(['known', 'known', 'known']);
  expect(await old.redis.exists(old.key('a'))).toBe(0);
  expect(await target.marks('move-x', 9)).toEqual(['1', '2', '3']);
  await target.forget('move-x', ['1', '2', '3']);
  expect(await target.marks('move-x', 9)).toEqual([]);
});

it('keeps the priority of a delayed job where no prioritized job waits', async () => {
  const { old, target } = scene();
  const delayed = job('1', 'a', 'scheduled', '1900000000123');
  await target.put(RIGHT, [{ ...delayed, fields: [...delayed.fields, 'priority', '990'] }]);
  expect(await old.redis.hget(old.key('a'), 'priority')).toBe('11');
});

it('keeps the order of jobs of one priority, and wakes BullMQ at the first of the delayed ones', async () => {
  const { old, target } = scene();
  const urgent = ['z', 'a', 'm'].map((id) => {
    const each = job(id, id, 'prioritized', '-5');
    return { ...each, fields: [...each.fields, 'priority', '5'] };
  });
  await target.put(RIGHT, urgent);
  expect(await old.redis.zrange(old.key('prioritized'), '0', '-1')).toEqual(['z', 'a', 'm']);
  const [sooner, later] = [1_900_000_000_123, 1_900_000_009_000];
  await target.put(RIGHT, [job('1', 's', 'scheduled', `${sooner}`), job('2', 'l', 'scheduled', `${later}`)]);
  expect(await old.redis.zscore(old.key('marker'), '1')).toBe(String(sooner));
});

it('refuses an id in use without a mark, and a mover with a smaller fence', async () => {
  const { old, target } = scene();
  await old.wait('a');
  expect(await target.put(RIGHT, [job('1', 'a')])).toEqual(['existing']);
  expect(await target.marks('move-x', 9)).toEqual([]);
  await expect(target.put({ ...RIGHT, fence: 1 }, [job('2', 'b')])).rejects.toThrow(MoverOvertakenError);
  expect(await old.line()).toEqual(['a']);
});
