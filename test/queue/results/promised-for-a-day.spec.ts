// What the pages promise of an ended job for `resultTtlMs`, a day, behind thousands of others that end meanwhile. The histories
// keep 1,000 records. An id that a caller gave, and a result that somebody waits for, outlive them.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { restoreLifetimes } from '#worker/maintenance/sweeper.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { eventually } from '../../support/faults/wait.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { casesOf } from '../../support/run/samples.js';

const OTHERS = casesOf(10_000, 1_200);
const DAY = 86_400_000;

interface Pair {
  queue: JobQueue;
  state: TestQueue;
}

/** Completes, or cancels, many other jobs of a queue. */
async function driveOthers(
  { queue }: Pair,
  how: 'completed' | 'cancelled' = 'completed',
  count = OTHERS,
): Promise<void> {
  for (let left = count; left > 0; left -= 1_000) {
    const others = await queue.enqueueMany(Array.from({ length: Math.min(left, 1_000) }, () => ({ payload: 1 })));
    if (how === 'cancelled') {
      await Promise.all(others.map((other) => other.cancel()));
    } else {
      const jobs = await queue.claimMany(1_000);
      await Promise.all(jobs.map((job) => queue.complete(job, 1)));
    }
  }
}

/** Lets the records go whose jobs have left the history: their ten seconds are over. */
async function forgetEvicted({ state }: Pair, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    const left = await state.redis.pttl(state.keys.job(id));
    if (left >= 0) {
      expect([id, left <= 10_000]).toEqual([id, true]);
      await state.redis.del(state.keys.job(id));
    }
  }
}

const run = async (queue: JobQueue, result: unknown = { done: true }) =>
  queue.complete((await queue.claim())!, result);

describe('an id that a caller gave', () => {
  const kinds: Record<string, EnqueueOptions> = {
    plain: {},
    urgent: { priority: 5 },
    grouped: { group: 'g' },
    traced: { metadata: { trace: 'x' } },
    'of its own lifetime': { resultTtlMs: DAY },
    unique: { unique: { key: 'k', for: 'unfinished' } },
    long: { id: 'x'.repeat(128) },
  };
  const pair = coreQueue();
  const idOf = (kind: string) => kinds[kind]!.id ?? kind;

  beforeAll(async () => {
    for (const [kind, options] of Object.entries(kinds)) {
      await pair.queue.enqueue(1, { id: kind, ...options });
      await run(pair.queue);
    }
    await pair.queue.enqueue(1, { id: 'retried' });
    await pair.queue.fail((await pair.queue.claim())!, new Error('once'));
    await eventually(
      async () => (await pair.queue.stats()).pending === 1 || pair.queue.promote('retried').then(() => false),
    );
    await run(pair.queue);
    await pair.queue.enqueue(1, { id: 'cancelled' });
    await pair.queue.cancel('cancelled');
    await driveOthers(pair);
    await driveOthers(pair, 'cancelled', 1_100);
    await forgetEvicted(pair, ...Object.keys(kinds).map(idOf), 'retried', 'cancelled');
  }, 120_000);

  it.each([...Object.keys(kinds), 'retried', 'cancelled'])(
    'of a job that is %s is known: nothing is added',
    async (kind) => {
      const id = kinds[kind] ? idOf(kind) : kind;
      expect(await pair.queue.get(id)).toBeNull();
      for (const queue of [pair.queue, sameQueue(pair.queue)]) {
        expect(await queue.enqueue(1, { id })).toMatchObject({ id, outcome: 'existing' });
        const [one, other] = await queue.enqueueMany([{ payload: 1, id }, { payload: 1 }]);
        expect([one!.outcome, other!.outcome]).toEqual(['existing', 'new']);
        await other!.cancel();
      }
      expect((await pair.queue.stats()).pending).toBe(0);
    },
  );

  it('is remembered for the rest of its day', async () => {
    const score = Number(await pair.state.redis.zscore(pair.state.keys.endedIds, 'plain'));
    const left = score - (await pair.state.now());
    expect(left).toBeGreaterThan(DAY - 600_000);
    expect(left).toBeLessThanOrEqual(DAY);
  });

  it('can be waited for: its job has completed, or was cancelled', async () => {
    expect(await pair.queue.enqueue(1, { after: ['plain'] })).toMatchObject({ outcome: 'new' });
    const elsewhere = coreQueue().queue;
    expect(await elsewhere.enqueue(1, { after: [{ queue: pair.queue.name, id: 'plain' }] })).toMatchObject({
      outcome: 'new',
    });
    const refused = await failure(() => pair.queue.enqueue(1, { after: ['cancelled'] }));
    expect(refused).toBeInstanceOf(InvalidOptionError);
    expect(refused.message).toContain('which was cancelled');
    await run(pair.queue);
  });

  it('is free once its time is over, and once somebody removes it', async () => {
    await pair.state.redis.zadd(pair.state.keys.endedIds, 'XX', 1, 'urgent');
    expect(await pair.queue.enqueue(1, { id: 'urgent' })).toMatchObject({ outcome: 'new' });
    expect(await pair.queue.remove('grouped')).toBe('missing');
    expect(await pair.queue.enqueue(1, { id: 'grouped' })).toMatchObject({ outcome: 'new' });
  });
});

it.each(['remove', 'clean', 'purge', 'discard'])('a caller may use an id again after %s', async (verb) => {
  const { queue } = coreQueue({ maxAttempts: 1 });
  await queue.enqueue(1, { id: 'a' });
  await run(queue);
  if (verb === 'remove') await queue.remove('a');
  if (verb === 'clean') await queue.clean('completed', { olderThanMs: 0 });
  if (verb === 'purge') await queue.purge({ confirm: queue.name });
  if (verb === 'discard') {
    await queue.runAgain('a');
    await queue.fail((await queue.claim())!, new Error('no'));
    await queue.deadLetters.discard('a');
  }
  expect(await queue.enqueue(1, { id: 'a' })).toMatchObject({ outcome: 'new' });
});

it('the bound forgets the ids that expire first, and is told before it is reached', async () => {
  const { queue, state } = coreQueue({ rememberedIds: 100 });
  const finish = async (from: number, count: number) => {
    await queue.enqueueMany(Array.from({ length: count }, (_, i) => ({ payload: 1, id: `id-${from + i}` })));
    await Promise.all((await queue.claimMany(count)).map((job) => queue.complete(job, 1)));
  };
  await finish(0, 79);
  expect(await state.run(state.scripts.sweep.tidy({ limit: 100 }))).not.toHaveProperty('remembered');
  await finish(79, 1);
  expect(await state.run(state.scripts.sweep.tidy({ limit: 100 }))).toMatchObject({
    remembered: { ids: 80, bound: 100 },
  });
  expect(await state.run(state.scripts.sweep.tidy({ limit: 100 }))).not.toHaveProperty('remembered'); // once an hour
  expect((await queue.stats()).rememberedIds).toMatchObject({ count: 80 });
  await finish(80, 200);
  expect(await state.redis.zcard(state.keys.endedIds)).toBe(100);
  expect(await state.redis.zscore(state.keys.endedIds, 'id-0')).toBeNull();
  expect(await state.redis.zscore(state.keys.endedIds, 'id-279')).not.toBeNull();
});

it('no mark takes more than the bytes that the pages name', async () => {
  const { queue, state } = coreQueue();
  const ids = Array.from({ length: 1_000 }, (_, i) => `${i}`.padStart(i < 500 ? 128 : 44, i < 500 ? 'ä' : 'x'));
  await queue.enqueueMany(ids.map((id) => ({ payload: 1, id })));
  await Promise.all((await queue.claimMany(1_000)).map((job) => queue.complete(job, 1)));
  const bytes = Number(await state.redis.call('MEMORY', 'USAGE', state.keys.endedIds, 'SAMPLES', '0'));
  expect(bytes / 1_000).toBeLessThan(150);
});

it('jobs without an id of the caller leave no mark and no kept record', async () => {
  const { queue, state } = coreQueue();
  await queue.enqueueMany([{ payload: 1 }, { payload: 1, priority: 1 }, { payload: 1, group: 'g' }]);
  await Promise.all((await queue.claimMany(3)).map((job) => queue.complete(job, 1)));
  expect(await state.redis.exists(state.keys.endedIds, state.keys.keptResults)).toBe(0);
});

describe('a result that another job waits for', () => {
  it.each(['the same queue', 'another queue'])(
    'is there when that job runs, in %s',
    async (place) => {
      const first = coreQueue();
      const second = place === 'the same queue' ? first : coreQueue();
      const download = await first.queue.enqueue({ url: 'x' });
      const after = [{ queue: first.queue.name, id: download.id }];
      await second.queue.enqueue({ download: download.id }, { id: 'convert', after, priority: 1 });
      const late = coreQueue();
      await run(first.queue, { file: 'a.mp4' });
      await late.queue.enqueue(1, { id: 'late', after }); // after its end
      await second.queue.pause();
      if (place === 'another queue') {
        await driveOthers(first);
      } else {
        await second.queue.resume();
        await second.queue.reschedule('convert', { delayMs: DAY }).catch(() => undefined);
        await driveOthers(first);
        await second.queue.promote('convert').catch(() => undefined);
      }
      await forgetEvicted(first, download.id);
      expect(await first.queue.result(download.id)).toEqual({ file: 'a.mp4' });
      const letGo = () => restoreLifetimes(first.queue, {}, () => false);
      await first.state.redis.zadd(first.state.keys.keptResults, 'XX', 1, download.id);
      await letGo();
      expect(await first.queue.result(download.id)).toEqual({ file: 'a.mp4' });
      // Both have ended: nobody needs it any more.
      await second.queue.cancel('convert');
      await late.queue.cancel('late');
      await first.state.redis.zadd(first.state.keys.keptResults, 'XX', 1, download.id);
      await letGo();
      expect(await first.state.redis.exists(first.state.keys.keptResults)).toBe(0);
      await forgetEvicted(first, download.id);
      expect(await first.queue.get(download.id)).toBeNull();
    },
    120_000,
  );

  it('is kept for a job that is a dead letter, since a redrive reads it', async () => {
    const pair = coreQueue({ maxAttempts: 1 });
    const first = await pair.queue.enqueue(1);
    await pair.queue.enqueue(2, { id: 'second', after: [first] });
    await run(pair.queue, 'input');
    await pair.queue.fail((await pair.queue.claim())!, new Error('no'));
    await driveOthers(pair, 'completed', 1_100);
    await pair.state.redis.zadd(pair.state.keys.keptResults, 'XX', 1, first.id);
    await restoreLifetimes(pair.queue, {}, () => false);
    await forgetEvicted(pair, first.id);
    expect(await pair.queue.result(first.id)).toBe('input');
  });

  it('is kept while the other queue cannot be asked', async () => {
    const [pair, other] = [coreQueue(), coreQueue()];
    const first = await pair.queue.enqueue(1);
    await other.queue.enqueue(2, { id: 'second', after: [first] });
    await run(pair.queue, 'input');
    await pair.state.redis.zadd(pair.state.keys.keptResults, 'XX', 1, first.id);
    await other.state.redis.hset(other.state.keys.sweep, 'layout', 1_000_000); // a version that is not known here
    const unreached = await restoreLifetimes(pair.queue, {}, () => false);
    expect([...unreached.keys()]).toEqual([other.queue.name]);
    expect(await pair.state.redis.exists(pair.state.keys.keptResults)).toBe(1);
    await other.state.redis.hdel(other.state.keys.sweep, 'layout');
  });
});

describe('a result that a caller waits for', () => {
  it.each(['completed', 'cancelled'] as const)(
    'of a job that is %s is kept while the caller is cut off',
    async (how) => {
      const pair = coreQueue();
      const caller = sameQueue(pair.queue);
      const { id } = await pair.queue.enqueue(1);
      const awaited = caller.result(id, { timeoutMs: 60_000 }).then(
        (value) => value,
        (error: Error) => error.name,
      );
      await eventually(async () => (await pair.state.field(id, 'awaited_until_ms')) !== null, {
        timeoutMs: 10_000,
      });
      expect((await pair.queue.get(id))!.followedBy).toBeUndefined();
      // The caller reads no record until it is reconnected.
      const get = caller.get.bind(caller);
      let isCutOff = true;
      caller.get = async (each) => {
        await eventually(() => !isCutOff, { timeoutMs: 60_000 });
        return get(each);
      };
      await (how === 'completed' ? run(pair.queue, 'it') : pair.queue.cancel(id));
      await driveOthers(pair, how, 1_200);
      await forgetEvicted(pair, id);
      isCutOff = false;
      expect(await awaited).toBe(how === 'completed' ? 'it' : 'JobCancelledError');
    },
    60_000,
  );

  it('costs nothing where the job ends within two seconds', async () => {
    const { queue, state } = coreQueue();
    const { id } = await queue.enqueue(1);
    const awaited = queue.result(id);
    await run(queue, 'it');
    expect(await awaited).toBe('it');
    expect(await state.field(id, 'awaited_until_ms')).toBeNull();
    expect(await state.redis.exists(state.keys.keptResults)).toBe(0);
  });
});
