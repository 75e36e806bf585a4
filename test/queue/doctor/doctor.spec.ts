import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { claimed, failed } from './doctor-plants.js';
import { ofFields } from './doctor-plants-of-fields.js';
import { ofPlaces } from './doctor-plants-of-places.js';
import { inside } from '../../support/queue/inside.js';

async function placesOf(state: TestQueue, id: string): Promise<string> {
  const { keys, redis } = state;
  const sets = ['claims', 'prioritized', 'scheduled', 'dead'] as const;
  const lists = ['pending', 'processing'] as const;
  const scores = await Promise.all(sets.map((set) => redis.zscore(keys[set], id)));
  const spots = await Promise.all(lists.map((list) => redis.lpos(keys[list], id)));
  return (
    [...sets.filter((_, i) => scores[i] !== null), ...lists.filter((_, i) => spots[i] !== null)].join() || 'none'
  );
}

function text(value: string | RegExp): unknown {
  return typeof value === 'string' ? value : expect.stringMatching(value);
}

describe('the doctor', () => {
  it.each([...ofPlaces, ...ofFields])(
    'finds and repairs $name',
    async ({ plant, kind, subject = 'a', found, expected, after }) => {
      const { queue, state } = coreQueue();
      await plant(state);
      const finding = { kind, subject, found: text(found), expected: text(expected) };
      const looked = await expectUnchanged(state, () => queue.doctor());
      expect(looked).toMatchObject({ queue: queue.name, counts: { [kind]: 1 } });
      expect(looked.findings).toEqual([{ ...finding, repaired: false }]);
      expect((await queue.doctor({ repair: true })).findings).toEqual([{ ...finding, repaired: true }]);
      expect((await queue.doctor()).findings).toEqual([]);
      if (after) {
        expect(await placesOf(state, 'a')).toBe(after);
      }
    },
  );

  it.each(['pending', 'processing', 'claims', 'prioritized', 'scheduled', 'dead', 'completed'] as const)(
    'finds an id in %s that is longer than any, and moves it to the dead letters',
    async (place) => {
      const { queue, state } = coreQueue();
      const long = 'i'.repeat(2_000);
      const isList = ['pending', 'processing', 'completed'].includes(place);
      await (isList ? state.redis.lpush(state.keys[place], long) : state.redis.zadd(state.keys[place], 4e12, long));
      await state.redis.hset(state.keys.job(long), { name: 'a', payload: '{"kept":1}', status: 'pending' });
      const finding = {
        kind: 'oversized',
        subject: 'i'.repeat(128),
        found: 'an id of 2000 bytes',
        expected: 'at most 1024',
      };
      const found = async (repair: boolean) =>
        (await queue.doctor({ repair })).findings.filter(({ kind }) => kind === 'oversized');
      expect(await found(false)).toEqual([{ ...finding, repaired: false }]);
      expect(await found(true)).toEqual([{ ...finding, repaired: true }]);
      expect(await found(false)).toEqual([]);
      expect(await queue.list('failed')).toMatchObject([
        { payload: { kept: 1 }, id: expect.stringMatching(/^@oversized:/) },
      ]);
    },
  );

  it.each<[string, Record<string, string>, string, number]>([
    ['a name', { name: 'n'.repeat(2_000) }, 'name of 2000 bytes', 1_024],
    ['a group', { group: 'g'.repeat(2_000) }, 'group of 2000 bytes', 1_024],
    ['options', { options: `{"backoff":${'1'.repeat(300_000)}}` }, 'options of 300012 bytes', 262_144],
    ['fields', Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, '1'])), '5003 fields', 4_096],
  ])('finds %s beyond any, and makes the job a dead letter with its payload', async (_, fields, found, most) => {
    const { queue, state } = coreQueue();
    await queue.enqueue({ sound: true });
    for (const [id, place] of [
      ['in-line', 'pending'],
      ['later', 'scheduled'],
      ['urgent', 'prioritized'],
      ['dead', 'dead'],
    ] as const) {
      const status = { pending: 'pending', scheduled: 'scheduled', prioritized: 'pending', dead: 'failed' }[place];
      await state.redis.hset(state.keys.job(id), { name: 'a', payload: '{"kept":1}', status, ...fields });
      await (place === 'pending'
        ? state.redis.lpush(state.keys[place], id)
        : state.redis.zadd(state.keys[place], 4e12, id));
    }
    const finding = { kind: 'oversized', found, expected: `at most ${most}` };
    const tell = async (repair: boolean) =>
      (await queue.doctor({ repair })).findings
        .filter(({ kind }) => kind === 'oversized')
        .toSorted((a, b) => (a.subject < b.subject ? -1 : 1));
    const all = (repaired: boolean) =>
      ['dead', 'in-line', 'later', 'urgent'].map((subject) => ({ ...finding, subject, repaired }));
    expect(await tell(false)).toEqual(all(false));
    expect(await tell(true)).toEqual(all(true));
    expect(await tell(false)).toEqual([]);
    expect((await queue.list('failed')).map(({ payload, lastError }) => [payload, lastError])).toEqual(
      Array.from({ length: 4 }, () => [{ kept: 1 }, expect.stringContaining(`The job has ${found}`)]),
    );
    expect(await queue.stats()).toMatchObject({ pending: 1, failed: 4 });
  });

  it('finds and repairs the memory of a claim that would stay forever', async () => {
    const { queue, state } = coreQueue();
    await claimed(state);
    const key = state.keys.batch('worker-1:0');
    await state.redis.persist(key);
    const finding = { kind: 'batch', subject: key, found: 'no expiry', expected: 'that of its claims' };
    expect((await queue.doctor()).findings).toEqual([{ ...finding, repaired: false }]);
    await queue.doctor({ repair: true });
    expect(await state.redis.pttl(key)).toBeGreaterThan(0);
  });

  it('gives an orphan that is repaired to a worker, and refuses the settle of the claim that it had', async () => {
    const { queue, state } = coreQueue();
    const stale = await claimed(state);
    await state.redis.hset(state.keys.job('a'), 'claim_token', '');
    await queue.doctor({ repair: true });
    const job = (await queue.claim())!;
    expect(job).toMatchObject({ id: 'a', payload: {} });
    expect(await queue.complete(stale, 1)).toBe(false);
    expect(await queue.complete(job, 1)).toBe(true);
  });

  it('sends a job in doubt to the dead letters, with the reason', async () => {
    const { queue, state } = coreQueue();
    await state.redis.hset(state.keys.job('a'), { id: 'a', payload: '1', status: 'lost', name: 'x' });
    await queue.doctor({ repair: true });
    expect(await queue.get('a')).toMatchObject({
      status: 'failed',
      lastError: 'The doctor could not find where this job belongs: status lost, in no place.',
    });
  });

  it('brings a dead letter back with its own error, kind of error and time', async () => {
    const { queue, state } = coreQueue();
    await failed(state);
    const before = await state.job('a');
    await state.redis.del(state.keys.dead, state.keys.failed);
    await queue.doctor({ repair: true });
    const { last_error, error_kind, failed_at_ms } = before;
    expect(await state.job('a')).toMatchObject({ status: 'failed', last_error, error_kind, failed_at_ms });
    expect(await state.redis.zscore(state.keys.dead, 'a')).toBe(failed_at_ms);
  });

  it('keeps to the cap of dead letters where it brings one back', async () => {
    const { queue, state } = coreQueue({ deadLetterCap: 1 });
    await failed(state);
    await state.redis.del(state.keys.dead, state.keys.failed);
    await state.redis.zadd(state.keys.dead, '1', 'older');
    await state.redis.hset(state.keys.job('older'), {
      id: 'older',
      status: 'failed',
      payload: '1',
      failed_at_ms: '1',
    });
    await queue.doctor({ repair: true });
    expect(await state.redis.zrange(state.keys.dead, 0, '-1')).toEqual(['a']);
    expect(await state.redis.exists(state.keys.job('older'))).toBe(0);
  });

  it('does not take jobs of clients of the Redis pattern for faults', async () => {
    const { queue, state } = coreQueue();
    const { keys, redis } = state;
    await redis.hset(keys.job('moved'), {
      id: 'moved',
      payload: '1',
      status: 'pending',
      attempts: 0,
      claim_token: '',
    });
    await redis.lpush(keys.processing, 'moved');
    await redis.hset(keys.job('failed'), { id: 'failed', payload: '1', status: 'failed', claim_token: 'x' });
    await redis.pexpire(keys.job('failed'), 60_000);
    await redis.lpush(keys.failed, 'failed');
    await redis.hset(keys.job('new'), { id: 'new', payload: '1', status: 'pending', attempts: 0 });
    await redis.lpush(keys.pending, 'new');
    expect((await queue.doctor()).findings).toEqual([]);
    await state.run(state.scripts.sweep.adoptForeign({ limit: 10 }));
    expect(await redis.zcard(keys.dead)).toBe(1);
    expect((await queue.doctor()).findings).toEqual([]);
    state.broken = true; // as a client of the pattern leaves a claim until its clock has run out
  });

  it('leaves a unique key that is held for a time to the sweep', async () => {
    const { queue, state } = coreQueue();
    await state.add('a', { unique: 'k', unique_for: 60_000 });
    await queue.remove('a');
    await state.redis.hset(state.keys.unique, 'k', 'a');
    await state.redis.zadd(state.keys.uniqueExpiries, Date.now() + 60_000, 'k');
    expect((await queue.doctor()).findings).toEqual([]);
  });

  it.each([{ repair: 'yes' }, { fix: true }])('refuses the options %j', async (options) => {
    const { queue } = coreQueue();
    await expect(queue.doctor(options as never)).rejects.toThrow(/^doctor\./);
  });
});

describe('beside live traffic', () => {
  it('finds nothing in a busy queue of 2,000 jobs, and repairs nothing', async () => {
    const queue = newQueue();
    await fill(queue, 2_000);
    const worker = await startWorker(queue, ({ attempt }) => {
      if (attempt === 1 && Math.random() < 0.2) throw new Error('again');
    });
    const producing = new AbortController();
    const producer = produce(queue, producing.signal);
    for (let i = 0; i < 3; i++) {
      const report = await queue.doctor({ repair: i > 0, exclusive: true });
      expect(report).toMatchObject({ counts: {}, findings: [] });
      expect(report.checked).toBeGreaterThan(0);
    }
    producing.abort();
    await producer;
    expect(worker.count('completed')).toBeGreaterThan(0);
  }, 60_000);

  it('works in steps of at most 100 jobs, at a cost that grows with the queue and no faster', async () => {
    const { queue } = coreQueue();
    await fill(queue, 1_000);
    const small = await cost(queue);
    await fill(queue, 3_000);
    const large = await cost(queue);
    expect(Math.max(...small.ids, ...large.ids)).toBeLessThanOrEqual(100);
    expect(large.ids.reduce((sum, n) => sum + n, 0)).toBe(4 * small.ids.reduce((sum, n) => sum + n, 0));
  });
});

async function fill(queue: JobQueue, count: number): Promise<void> {
  await queue.enqueueMany(
    Array.from({ length: count }, (_, i) => ({
      payload: { i },
      ...(i % 10 === 1 && { priority: 3 }),
      ...(i % 10 === 2 && { delayMs: 60_000 }),
    })),
  );
}

/** Enqueues jobs of every sort until it is stopped. */
async function produce(queue: JobQueue, signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    const handle = await queue.enqueue(
      { i },
      i % 3 === 0 ? { delayMs: 50 } : i % 3 === 1 ? { priority: i % 7 } : {},
    );
    if (i % 5 === 0) {
      await queue.cancel(handle.id);
    }
  }
}

/** Counts the ids that each script call of one audit looked at. */
async function cost(queue: JobQueue): Promise<{ ids: number[] }> {
  const ids: number[] = [];
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  inside(queue).runner.run = (call) => {
    if (call.script === 'doctorScan') ids.push(call.args.length);
    if (call.script === 'doctorInspect') ids.push(call.args.length - 11);
    return run(call);
  };
  await queue.doctor();
  inside(queue).runner.run = run;
  return { ids };
}
