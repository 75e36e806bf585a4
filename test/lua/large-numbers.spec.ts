// Large numbers in scripts. Lua writes more than 14 digits as 1e+15. Redis 7.2 and 7.4 write whole numbers with eight zeros
// at their end as 3e+8. A connection here does the same on any server, and the instants and lifetimes have such zeros.
import { expect, it } from '@jest/globals';
import { encodeSchedule } from '#queue/schedules/schedule.js';
import { JobQueue } from '#queue/job-queue.js';
import { connectClocked } from '../support/redis/clocked-redis.js';
import { queueOn, type TestQueue } from '../support/queue/queue-state.js';
import { uniqueQueueName } from '../support/redis/redis.js';

/** 2100-01-01T15:20:00Z. */
const START = 4_102_500_000_000;

/** A lifetime of three and a half days. */
const LONG = 300_000_000;

/** The period of a rate, at most a day. */
const PERIOD = 80_000_000;

/** An error whose stack is the same wherever it is thrown. */
const ERROR = Object.assign(new Error('no'), { stack: 'Error: no' });

const EXPONENT = /\d(?:\.\d+)?e\+\d+/g;

interface World {
  queue: JobQueue;
  q: TestQueue;
  clock: { nowMs: number };
}

function newWorld(numbers?: 'as Redis 7.2'): World {
  const clock = { nowMs: START };
  const redis = connectClocked(clock, numbers);
  const lifetimes = { visibilityMs: LONG, resultTtlMs: LONG, cancelledTtlMs: LONG, backoff: LONG };
  const queue = new JobQueue(redis, uniqueQueueName(), { ...lifetimes, maxAttempts: 2 });
  return { queue, q: queueOn(redis, {}, queue.name), clock };
}

/** Ends five jobs, each in another way. */
async function endFive(queue: JobQueue): Promise<void> {
  const ids = ['completed', 'failed', 'retried', 'cancelled', 'released'];
  await queue.enqueueMany(ids.map((id) => ({ payload: id, id })));
  const [completed, failed, retried, cancelled, released] = await queue.claimMany(5);
  await queue.complete(completed!, { n: 1 });
  await queue.fail(failed!, ERROR, { final: true });
  await queue.fail(retried!, ERROR);
  await queue.cancel(cancelled!.id);
  await queue.fail(cancelled!, ERROR);
  await queue.release(released!, { delayMs: LONG });
}

/** Does much of what a queue can do, for a week. Returns all replies. */
async function live({ queue, clock }: World): Promise<unknown[]> {
  await endFive(queue);
  await queue.enqueue(1, { id: 'later', delayMs: LONG });
  await queue.enqueue(1, { id: 'urgent', priority: 9, unique: { key: 'u', for: { ms: LONG } }, expiresInMs: LONG });
  await queue.enqueueMany(['grouped', 'behind'].map((id) => ({ payload: id, id, group: 'g' })));
  await queue.groups.set('g', { rateLimit: { limit: 1, periodMs: PERIOD } });
  await queue.limits.set({ rateLimit: { limit: 2, periodMs: PERIOD } });
  await queue.schedules.upsert('s', { everyMs: LONG });
  const claimed = await claimedIds(queue);
  await queue.exec((calls) => calls.workers.register({ worker: 'w', serves: true, handlers: [] }));
  await queue.pause({ forMs: LONG });
  const replies: unknown[] = [claimed, await look(queue)];
  for (let period = 0; period < 2; period++) {
    clock.nowMs += LONG;
    await queue.exec((calls) => calls.sweep.tidy({ limit: 9 }));
    replies.push(await queue.reclaim(), await queue.schedules.tick(), await claimedIds(queue), await look(queue));
  }
  return [...replies, (await queue.doctor()).findings];
}

async function claimedIds(queue: JobQueue) {
  return (await queue.claimMany(9)).map(({ id, fence, attempt }) => ({ id, fence, attempt }));
}

async function look(queue: JobQueue) {
  const ids = ['completed', 'failed', 'retried', 'cancelled', 'released', 'later', 'urgent', 'grouped', 'behind'];
  const jobs = await Promise.all(ids.map((id) => queue.get(id)));
  const others = [queue.stats(), queue.limits.get(), queue.groups.list(), queue.schedules.get('s')];
  return [...jobs, ...(await Promise.all(others))];
}

/** Returns JSON without what is drawn by chance, such as the order of fields. Nudges expire by the clock of now. */
function textOf(value: unknown, { queue }: World): string {
  const drawn = /^(?:claim_token|request|cancel_request|version|actions|batch:.*|nudge:.*)$/;
  const shown = (field: string, each: unknown) => {
    if (drawn.test(field)) return undefined;
    if (typeof each === 'string' && /^\{".*\}$/s.test(each)) return each.split('\n').map(parsed);
    const isObject = typeof each === 'object' && each !== null && !Array.isArray(each);
    return isObject ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each;
  };
  const text = JSON.stringify(value, shown, 1);
  return text.replaceAll(queue.name, 'NAME');
}

/** Returns a stored object, whose fields have no order, or another text as it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

it('a week in the year 2100 is the same where the server writes numbers with exponents', async () => {
  const [usual, other] = [newWorld(), newWorld('as Redis 7.2')];
  const [expected, found] = [await live(usual), await live(other)];
  expect(textOf(found, other)).toBe(textOf(expected, usual));
  const [kept, keptByOther] = [textOf(await usual.q.snapshot(), usual), textOf(await other.q.snapshot(), other)];
  expect(kept).not.toMatch(EXPONENT);
  expect(keptByOther).toBe(kept);
  [usual, other].forEach(({ queue }) => queue.close());
});

it('a schedule that was written at such an instant can be edited by a caller who knows it', async () => {
  const { queue } = newWorld('as Redis 7.2');
  await queue.schedules.upsert('s', { everyMs: LONG });
  const { updatedAt } = (await queue.schedules.get('s'))!;
  const edited = encodeSchedule(queue, 's', { everyMs: PERIOD }, {});
  expect(await queue.schedules.putByCall(edited, updatedAt)).toBe('changed');
  queue.close();
});

it.each([3e8, 2 ** 31, 2 ** 32, 1e12])('a fence of %d is stored and returned as it is', async (fence) => {
  const { queue, q } = newWorld('as Redis 7.2');
  await q.redis.set(q.keys.sequence, fence - 1); // below 2^40, the part of a rank that is a number of a job
  await queue.enqueueMany(['a', 'b'].map((id) => ({ payload: id, id, priority: 1 })));
  const jobs = await queue.claimMany(2);
  const [first, second] = jobs.map((job) => job.fence) as [number, number];
  expect(jobs.map(({ id }) => id)).toEqual(['a', 'b']);
  expect(second).toBe(first + 1);
  expect(await Promise.all(['a', 'b'].map((id) => q.field(id, 'fence')))).toEqual([`${first}`, `${second}`]);
  expect(await queue.complete(jobs[0]!)).toBe(true);
  expect(await queue.fail(jobs[1]!, ERROR)).toBe('retry');
  expect(await q.attemptLog('b')).toMatchObject([{ fence: second }]);
  queue.close();
});

it.each([3e8, 2 ** 31, 1e15])('a counter at %d counts on', async (count) => {
  const { queue, q } = newWorld('as Redis 7.2');
  const added = { enqueued_total: 5, completed_total: 1, failed_total: 1, retried_total: 1, cancelled_total: 1 };
  for (const counter of Object.keys(added)) await q.redis.hset(q.keys.stats, counter, String(count));
  await endFive(queue);
  const expected = Object.entries(added).map(([counter, by]) => [counter, String(count + by)]);
  expect(await q.redis.hgetall(q.keys.stats)).toMatchObject(Object.fromEntries(expected));
  queue.close();
});
