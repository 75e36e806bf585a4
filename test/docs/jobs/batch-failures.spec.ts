// The table of docs/batches.md on what goes wrong: each row is driven by the bad luck that it names.
import { expect, it } from '@jest/globals';
import type { Batch } from '#queue/batches/batch.js';
import type { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { PatternClient } from '../../support/queue/pattern-client.js';
import type { TestQueue } from '../../support/queue/queue-state.js';
import { rowsOf } from '../table.js';

interface World {
  queue: JobQueue;
  state: TestQueue;
  batch: Batch<JobQueue>;
}

const FOLLOW_UPS = { then: { name: 'then' }, onFailure: { name: 'failed' }, finally: { name: 'finally' } };

/** Returns a queue with a sealed batch of the members a and b. */
async function seeded({ seal = true } = {}): Promise<World> {
  const { queue, state } = coreQueue();
  const batch = queue.batch({ id: 'b', ...FOLLOW_UPS });
  await batch.addMany(
    'member',
    ['a', 'b'].map((id) => ({ payload: id, id })),
  );
  await (seal && batch.seal());
  return { queue, state, batch };
}

/** Returns the names of the follow-ups that were enqueued. */
async function fired({ queue }: World): Promise<string[]> {
  const lists = await Promise.all((['scheduled', 'pending', 'completed'] as const).map((each) => queue.list(each)));
  const names = lists.flat().map(({ name }) => name);
  return names.filter((name) => name !== 'member').toSorted();
}

const ALL_WELL = ['finally', 'then'];
const ONE_BAD = ['failed', 'finally'];

const ROWS: Record<string, () => Promise<void>> = {
  async 'a settle is sent again, or a worker dies'() {
    const world = await seeded();
    const { queue, state } = world;
    const [a, b] = await queue.claimMany(2);
    await state.expireClaims('a', 'b');
    await state.run(state.scripts.sweep.reclaim({ limit: 100, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
    expect(await queue.complete(a!)).toBe(false); // of the worker that was taken for dead
    expect(await fired(world)).toEqual([]);
    for (const job of await queue.claimMany(2)) {
      const call = state.scripts.complete([{ ...job, result: '' }]);
      await state.run(call);
      await state.run(call);
    }
    expect(await queue.complete(b!)).toBe(false);
    expect(await fired(world)).toEqual(ALL_WELL);
    expect(await state.total('enqueued')).toBe(4);
  },
  async 'a dead letter is redriven, the batch has not fired'() {
    const world = await seeded();
    const { queue, batch } = world;
    const [a, b] = await queue.claimMany(2);
    await queue.fail(a!, new Error('no'), { final: true });
    expect(await queue.deadLetters.redrive(a!.id)).toBe(true);
    expect(await batch.status()).toMatchObject({ open: 2, failed: 0 });
    await queue.complete(b!);
    expect(await fired(world)).toEqual([]);
    await queue.complete((await queue.claim())!);
    expect(await fired(world)).toEqual(ALL_WELL);
  },
  async 'a completed or cancelled member is run again by `runAgain`, the batch has not fired'() {
    for (const end of ['completed', 'cancelled']) {
      const world = await seeded();
      const { queue, batch } = world;
      if (end === 'completed') await queue.complete((await queue.claim())!);
      else await queue.cancel('a');
      expect(await batch.status()).toMatchObject({ open: 1 });
      await queue.runAgain('a');
      expect(await batch.status()).toMatchObject({ open: 2 });
      for (const job of await queue.claimMany(2)) await queue.complete(job);
      expect(await fired(world)).toEqual(ALL_WELL);
    }
  },
  async 'a dead letter is redriven, the batch has fired'() {
    const world = await seeded();
    const { queue, state } = world;
    const [a, b] = await queue.claimMany(2);
    await queue.fail(a!, new Error('no'), { final: true });
    await queue.complete(b!);
    expect(await fired(world)).toEqual(ONE_BAD);
    expect(await queue.deadLetters.redrive('a')).toBe(true);
    for (const job of await queue.claimMany(3)) await queue.complete(job);
    expect((await queue.get('a'))!.status).toBe('completed');
    expect(await fired(world)).toEqual(ONE_BAD);
    expect(await state.total('enqueued')).toBe(4);
  },
  async 'the producer dies before `seal()`'() {
    const world = await seeded({ seal: false });
    const { queue, state } = world;
    for (const job of await queue.claimMany(2)) await queue.complete(job);
    await maintainBatches(queue, { all: true });
    expect(await fired(world)).toEqual([]);
    const lines: string[] = [];
    const other = sameQueue(queue);
    other.store.logger = {
      log: () => undefined,
      error: () => undefined,
      warn: (line: string) => void lines.push(line),
    };
    const again = other.batch({ id: 'b', ...FOLLOW_UPS });
    for (const id of ['a', 'b']) await again.add('member', id, { id });
    await again.seal();
    expect(await again.status()).toMatchObject({ total: 2, completed: 2 });
    expect(await fired(world)).toEqual(ALL_WELL);
    expect(await state.total('enqueued')).toBe(4);
    expect(lines).toEqual([]);
    for (let i = 0; i < 2; i++)
      await other.batch({ id: `c${i}` }).addMany('member', [{ payload: 1 }, { payload: 2 }]);
    expect(lines).toEqual([
      `Batch "c0" of queue "${queue.name}" has an id of its own, and members without one. A call that makes the batch again ` +
        'would add such members once more. Give each member an `id`.',
    ]);
    await other.batch({}).add('member', 1);
    expect(lines).toHaveLength(1);
  },
  async 'members are purged'() {
    const world = await seeded();
    const { queue, batch } = world;
    await queue.purge({ confirm: queue.name });
    expect(await batch.status()).toMatchObject({ open: 0, removed: 2 });
    expect(await fired(world)).toEqual(ONE_BAD);
  },
  async 'a client of the Redis pattern ends a member'() {
    const world = await seeded();
    const { queue, state, batch } = world;
    state.broken = true; // such a client leaves its token
    const client = new PatternClient(state.redis, connect(), queue.name);
    for (let i = 0; i < 2; i++) {
      const job = (await client.claim())!;
      await client.complete(job, '1');
    }
    expect(await batch.status()).toMatchObject({ open: 2 });
    const due = Number(await state.redis.zscore(state.keys.batches, 'b'));
    expect(due - (await state.now())).toBeLessThanOrEqual(60_000);
    await state.redis.zadd(state.keys.batches, await state.now(), 'b'); // a minute later
    await maintainBatches(queue);
    expect(await batch.status()).toMatchObject({ open: 0, completed: 2 });
    expect(await fired(world)).toEqual(ALL_WELL);
  },
};

it('each row is driven here', () => {
  const rows = rowsOf('batches when things go wrong', 'docs/batches.md').slice(2);
  expect(rows.map(([what]) => what)).toEqual(Object.keys(ROWS));
});

it.each(Object.entries(ROWS))('a batch %s', (_, row) => row());
