import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const HOUR = 3_600_000;
const PLACES = ['completed', 'failed', 'cancelled', 'pending', 'prioritized', 'scheduled'] as const;
const AGE_FIELD = {
  completed: 'completed_at_ms',
  failed: 'failed_at_ms',
  cancelled: 'cancelled_at_ms',
  pending: 'enqueued_at_ms',
  prioritized: 'enqueued_at_ms',
  scheduled: 'enqueued_at_ms',
};

/** Adds three jobs to a place; the first two are two hours old. */
async function fill(q: TestQueue, place: (typeof PLACES)[number]): Promise<void> {
  for (const id of ['a', 'b', 'c']) {
    const options = { priority: place === 'prioritized' ? 5 : 0, delay_ms: place === 'scheduled' ? HOUR : 0 };
    await q.add(id, {
      ...(options.priority ? options : {}),
      delay_ms: options.delay_ms,
      unique: id,
      unique_for: 'unfinished',
    });
    if (place === 'completed' || place === 'failed') {
      const [job] = await q.claim(1);
      await (place === 'completed' ? q.complete(job!, '1') : q.fail(job!, { final: true }));
    } else if (place === 'cancelled') {
      await q.run(q.scripts.cancel({ id }));
    }
  }
  const then = (await q.now()) - 2 * HOUR;
  for (const id of ['a', 'b']) {
    await q.redis.hset(q.keys.job(id), AGE_FIELD[place], then);
    if (place === 'failed') await q.redis.zadd(q.keys.dead, then, id);
  }
}

async function exist(q: TestQueue, ...ids: string[]): Promise<number> {
  return q.redis.exists(...ids.map((id) => q.keys.job(id)));
}

it('goes through the groups one by one, and behind the young jobs of each', async () => {
  const q = testQueue();
  for (const id of ['g1', 'g2', 'g3', 'h1', 'h2', 'i1']) await q.add(id, { group: id[0] });
  const then = (await q.now()) - 2 * HOUR;
  for (const id of ['g3', 'h1', 'h2', 'i1']) await q.redis.hset(q.keys.job(id), 'enqueued_at_ms', then);
  const slices: number[] = [];
  for (let passed: number | undefined = 0; passed !== undefined && slices.length < 10;) {
    const slice: { deleted: number; next?: number } = await q.run(
      q.scripts.clean({ place: 'grouped', olderThanMs: HOUR, limit: 2, passed }),
    );
    slices.push(slice.deleted);
    passed = slice.next;
  }
  expect(slices.slice(0, 4)).toEqual([0, 1, 2, 1]);
  expect([await exist(q, 'g1', 'g2'), await exist(q, 'g3', 'h1', 'h2', 'i1')]).toEqual([2, 0]);
});

it.each(PLACES)('deletes the old jobs of %s with all their traces, and no younger one', async (place) => {
  const q = testQueue();
  await fill(q, place);
  expect(await q.run(q.scripts.clean({ place, olderThanMs: HOUR, limit: 100, passed: 0 }))).toEqual({
    deleted: 2,
    next: undefined,
  });
  expect([await exist(q, 'a', 'b'), await exist(q, 'c')]).toEqual([0, 1]);
  const { unique } = await q.snapshot();
  expect(unique ?? {}).toEqual(
    place === 'pending' || place === 'prioritized' || place === 'scheduled' ? { c: 'c' } : {},
  );
  expect(await q.redis.lrange(q.keys.failed, 0, -1)).toEqual(place === 'failed' ? ['c'] : []);
  expect(await q.run(q.scripts.clean({ place, olderThanMs: HOUR, limit: 100, passed: 0 }))).toEqual({
    deleted: 0,
    next: undefined,
  });
});

it.each(PLACES)('frees the key that a %s job holds for a time, and none of a newer job', async (place) => {
  const q = testQueue();
  await fill(q, place);
  for (const id of ['a', 'b']) {
    await q.redis.hset(q.keys.unique, `w${id}`, id);
    await q.redis.zadd(q.keys.uniqueExpiries, (await q.now()) + HOUR, `w${id}`);
    await q.redis.hset(q.keys.job(id), 'window', `w${id}`);
  }
  await q.redis.hset(q.keys.unique, 'wb', 'newer'); // b's time was over, and another job has the key
  await q.run(q.scripts.clean({ place, olderThanMs: HOUR, limit: 100, passed: 0 }));
  expect(await q.redis.hmget(q.keys.unique, 'wa', 'wb')).toEqual([null, 'newer']);
  expect(await q.redis.zrange(q.keys.uniqueExpiries, '0', '-1')).toEqual(['wb']);
  q.broken = true; // there is no job of the id newer
});

it.each(PLACES)('I4: looks at a bounded number of %s, and says where to continue', async (place) => {
  const q = testQueue();
  await fill(q, place);
  expect(await q.run(q.scripts.clean({ place, olderThanMs: 0, limit: 2, passed: 0 }))).toEqual({
    deleted: 2,
    next: 0,
  });
  expect(await q.run(q.scripts.clean({ place, olderThanMs: 0, limit: 2, passed: 0 }))).toEqual({
    deleted: 1,
    next: undefined,
  });
  expect(await exist(q, 'a', 'b', 'c')).toBe(0);
});

it.each(['pending', 'prioritized', 'scheduled'] as const)('skips young jobs among %s', async (place) => {
  const q = testQueue();
  await fill(q, place);
  await q.redis.hset(q.keys.job('a'), 'enqueued_at_ms', await q.now());
  expect(await q.run(q.scripts.clean({ place, olderThanMs: HOUR, limit: 1, passed: 0 }))).toEqual({
    deleted: 0,
    next: 1,
  });
  expect(await q.run(q.scripts.clean({ place, olderThanMs: HOUR, limit: 1, passed: 1 }))).toEqual({
    deleted: 1,
    next: 1,
  });
  expect(await q.run(q.scripts.clean({ place, olderThanMs: HOUR, limit: 2, passed: 1 }))).toEqual({
    deleted: 0,
    next: undefined,
  });
});

it('keeps the order of the jobs that stay in the line', async () => {
  const q = testQueue();
  await fill(q, 'pending');
  await q.addAll('d');
  await q.redis.hset(q.keys.job('a'), 'ready_at_ms', await q.now()); // it was released just now
  await q.run(q.scripts.clean({ place: 'pending', olderThanMs: HOUR, limit: 100, passed: 0 }));
  expect(await q.pending()).toEqual(['a', 'c', 'd']);
});

it('finds the old jobs in the line behind those that were released just now', async () => {
  const q = testQueue();
  const ids = Array.from({ length: 20 }, (_, i) => `job-${i}`);
  await q.addAll(...ids);
  const then = (await q.now()) - 2 * HOUR;
  for (const id of ids) await q.redis.hset(q.keys.job(id), 'enqueued_at_ms', then);
  for (const id of ids.slice(0, 5)) await q.redis.hset(q.keys.job(id), 'ready_at_ms', await q.now());
  expect(await q.run(q.scripts.clean({ place: 'pending', olderThanMs: HOUR, limit: 5, passed: 0 }))).toEqual({
    deleted: 0,
    next: 5,
  });
  expect(await q.run(q.scripts.clean({ place: 'pending', olderThanMs: HOUR, limit: 5, passed: 5 }))).toEqual({
    deleted: 5,
    next: 5,
  });
  expect(await q.run(q.scripts.clean({ place: 'pending', olderThanMs: HOUR, limit: 100, passed: 5 }))).toEqual({
    deleted: 10,
    next: undefined,
  });
  expect(await q.pending()).toEqual(ids.slice(0, 5));
});

it('drops ids of a history whose hash is gone or is in use again, and counts them not', async () => {
  const q = testQueue();
  await fill(q, 'completed');
  await q.redis.del(q.keys.job('a'));
  await q.redis.lrem(q.keys.completed, 0, 'b');
  await q.redis.del(q.keys.job('b'));
  await q.add('b');
  await q.redis.rpush(q.keys.completed, 'b');
  expect(await q.run(q.scripts.clean({ place: 'completed', olderThanMs: HOUR, limit: 100, passed: 0 }))).toEqual({
    deleted: 0,
    next: undefined,
  });
  expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['c']);
  expect(await q.pending()).toEqual(['b']);
});

it('continues past the old place of a job whose id was used again and has ended again', async () => {
  const q = testQueue();
  await fill(q, 'completed');
  await q.redis.lpush(q.keys.completed, 'a');
  await q.redis.hset(q.keys.job('a'), 'completed_at_ms', await q.now());
  expect(await q.run(q.scripts.clean({ place: 'completed', olderThanMs: HOUR, limit: 100, passed: 0 }))).toEqual({
    deleted: 1,
    next: undefined,
  });
  expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['a', 'c']);
});

it.each(PLACES)('I3: changes nothing where %s is empty', async (place) => {
  const q = testQueue();
  expect(
    await expectUnchanged(q, () => q.run(q.scripts.clean({ place, olderThanMs: 0, limit: 100, passed: 0 }))),
  ).toEqual({
    deleted: 0,
    next: undefined,
  });
});
