import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';

describe('job/enqueue.lua', () => {
  it('writes the fields that a waiting job needs and no empty one, and puts the job at the back', async () => {
    const q = testQueue();
    await q.add('a', {}, '{"kind":"email"}');
    await q.addAll('b', 'c');
    const { enqueued_at_ms, ...hash } = await q.job('a');
    expect(hash).toEqual({
      name: q.name,
      payload: '{"kind":"email"}',
      status: 'pending',
    });
    expect(Math.abs(Number(enqueued_at_ms) - (await q.now()))).toBeLessThan(5_000);
    expect(await q.redis.lrange(q.keys.pending, 0, -1)).toEqual(['c', 'b', 'a']);
    expect(await q.total('enqueued')).toBe(3);
    expect(await q.takeWake()).toBe(true);
  });

  it.each([
    ['priority', 5],
    ['group', 'g'],
    ['cost', 3],
    ['max_attempts', 7],
    ['max_crashes', 2],
    ['batch', 'home\tb'],
  ])('stores the option %s as asked', async (option, value) => {
    const q = testQueue();
    await q.add('a', { [option]: value });
    expect(await q.field('a', option)).toBe(String(value));
    expect(await q.field('a', 'options')).not.toBeNull(); // so it is not plain
  });

  it('takes a batch of none and changes nothing', async () => {
    const q = testQueue();
    expect(await expectUnchanged(q, () => q.run(q.scripts.enqueue([])))).toEqual([]);
  });

  it('replies nothing, not even an empty list, where each job is simply new', async () => {
    const q = testQueue();
    const job = { id: 'a', name: 'email', payload: '1' };
    const reply = (options: string) => q.run({ ...q.enqueueCall([{ ...job, options }]), decode: (raw) => raw });
    expect(await reply('')).toBeNull();
    expect(await reply('{"request":"r1"}')).toEqual([1, 'exists', 'a', 'email']);
  });

  it.each(['stats', 'wake'] as const)(
    'adds none of several jobs where the key %s has a wrong type',
    async (key) => {
      const q = testQueue();
      q.broken = true;
      await q.redis.set(q.keys[key], 'text');
      await expect(q.addAll('a', 'b', 'c')).rejects.toThrow('has the wrong type');
      expect(await q.redis.exists(q.keys.pending, ...['a', 'b', 'c'].map((id) => q.keys.job(id)))).toBe(0);
    },
  );

  it('takes 5,000 jobs in one call, in their order', async () => {
    const q = testQueue();
    const ids = Array.from({ length: 5_000 }, (_, i) => `job-${i}`);
    await q.addAll(...ids);
    expect(await q.pending()).toEqual(ids);
    expect(await q.total('enqueued')).toBe(5_000);
    await q.redis.unlink(q.keys.pending, ...ids.map((id) => q.keys.job(id)));
  });

  it('I3: repeated after a lost reply adds nothing and gives the first answer', async () => {
    const q = testQueue();
    const job = { id: 'a', name: 'email', payload: '1' };
    const chosen = { id: 'b', name: 'email', payload: '2', options: { request: 'r1' } };
    const first = await q.run(q.scripts.enqueue([job, chosen]));
    const second = await expectUnchanged(q, () => q.run(q.scripts.enqueue([job, chosen])));
    expect(second).toEqual(first);
    expect(second.map((each) => each.outcome)).toEqual(['new', 'new']);
  });

  it.each(['processing', 'completed', 'failed'])(
    'I3: repeated when the job is %s already adds nothing',
    async (to) => {
      const { q, job } = await claimedJob('a');
      if (to === 'completed') await q.complete(job);
      if (to === 'failed') {
        await q.fail(job, { final: true });
      }
      await expectUnchanged(q, () => q.add('a'));
      expect(await q.status('a')).toBe(to);
    },
  );

  it.each(['r2', 'r', '1', 'r12', '2r1'])(
    'distinguishes a conflict over an id of the caller from a repeat: %s',
    async (request) => {
      const q = testQueue();
      await q.add('order-1', { request: 'r1' }, '"first"');
      const answer = await expectUnchanged(q, () => q.add('order-1', { request }, '"second"'));
      expect(answer).toEqual({ id: 'order-1', outcome: 'existing' });
      expect(await q.field('order-1', 'payload')).toBe('"first"');
    },
  );

  it('adds the same id twice in one batch only once', async () => {
    const q = testQueue();
    const chosen = (request: string) => ({
      id: 'a',
      name: q.name,
      payload: '1',
      options: { request },
    });
    expect(await q.run(q.scripts.enqueue([chosen('r1'), chosen('r2')]))).toEqual([
      { id: 'a', outcome: 'new' },
      { id: 'a', outcome: 'existing' },
    ]);
    expect(await q.pending()).toEqual(['a']);
    expect(await q.total('enqueued')).toBe(1);
  });

  it('I5: schedules a delay by the time of the server', async () => {
    const q = testQueue();
    const before = await q.now();
    await q.add('a', { delay_ms: 60_000 });
    const due = Number(await q.redis.zscore(q.keys.scheduled, 'a'));
    expect(due).toBeGreaterThanOrEqual(before + 60_000);
    expect(due).toBeLessThanOrEqual((await q.now()) + 60_000);
    expect(await q.job('a')).toMatchObject({ status: 'scheduled', due_at_ms: String(due) });
  });

  it('wakes a worker for a scheduled job only when it is due before all others', async () => {
    const q = testQueue();
    await q.add('a', { delay_ms: 60_000 });
    expect(await q.takeWake()).toBe(true);
    await q.add('later', { delay_ms: 90_000 });
    expect(await q.takeWake()).toBe(false);
    await q.add('sooner', { delay_ms: 30_000 });
    expect(await q.takeWake()).toBe(true);
  });

  it('puts a job whose time is past into pending', async () => {
    const q = testQueue();
    await q.add('a', { run_at_ms: 1_000 });
    expect(await q.pending()).toEqual(['a']);
    expect(await q.status('a')).toBe('pending');
  });

  it('ranks higher priorities first and keeps the order within one', async () => {
    const q = testQueue();
    await q.add('low-1', { priority: 1 });
    await q.add('top-1', { priority: 1_000 });
    await q.add('low-2', { priority: 1 });
    await q.add('top-2', { priority: 1_000 });
    expect(await q.ranked(q.keys.prioritized)).toEqual(['top-1', 'top-2', 'low-1', 'low-2']);
    expect(await q.field('top-1', 'rank')).toBe(await q.redis.zscore(q.keys.prioritized, 'top-1'));
    expect(await q.takeWake()).toBe(true);
  });

  it('stores the policy of the job and passes the worker options through unread', async () => {
    const q = testQueue();
    await q.add('a', { max_attempts: 7, max_crashes: 2, expires_in_ms: 60_000, worker: '{"timeoutMs":5}' });
    const hash = await q.job('a');
    expect(hash).toMatchObject({ max_attempts: '7', max_crashes: '2', options: '{"timeoutMs":5}' });
    expect(Number(hash.expires_at_ms)).toBe(Number(hash.enqueued_at_ms) + 60_000);
  });

  it.each(['', '{not json', '\0\r\n*3\r\n', '"]] redis.call(1)"'])(
    'I7: never reads the payload %j',
    async (payload) => {
      const q = testQueue();
      await q.add('a', {}, payload);
      expect(await q.field('a', 'payload')).toBe(payload);
    },
  );
});

it('job/enqueue.lua: repeated after some of its jobs have gone I1, I3: adds no job again that is still known', async () => {
  const q = await queueWith('a', 'b', 'c');
  const claims = await q.claim(3);
  const others = claims.filter(({ id }) => id !== 'b');
  await q.run(q.scripts.complete(others.map((job) => ({ ...job, result: '' }))));
  await q.redis.del(q.keys.job('a'), q.keys.job('c'));
  await q.addAll('a', 'b', 'c');
  expect(await q.pending()).toEqual(['a', 'c']);
  expect(await q.status('b')).toBe('processing');
  q.broken = true; // a and c are in the history and pending: the documented window of a repeat
});

/** Returns a job as the script takes it. */
const plain = (id: string, payload = JSON.stringify(id)) => ({ id, name: 'mail', payload });

describe('job/enqueue.lua: many plain jobs of one name', () => {
  const MANY = 30;
  const ids = Array.from({ length: MANY }, (_, i) => `job-${i}`);

  it.each([1, 10, 10_000])(
    'have the fields that one alone has, with a payload repeated %i times',
    async (times) => {
      const q = testQueue();
      const sized = (id: string) => plain(id, JSON.stringify(id.repeat(times)));
      await q.run(q.scripts.enqueue([sized('alone')]));
      const alone = await q.job('alone');
      await q.run(q.scripts.enqueue(ids.map(sized)));
      for (const id of ids) {
        const { payload } = sized(id);
        expect(await q.job(id)).toEqual({ ...alone, payload, enqueued_at_ms: expect.any(String) });
      }
      expect(await q.pending()).toEqual(['alone', ...ids]);
    },
  );

  it.each([0, 1, MANY - 1])('are added once where the id at %i comes twice, as it came first', async (at) => {
    const q = testQueue();
    await q.run(q.scripts.enqueue([...ids.map((id) => plain(id, '1')), plain(ids[at]!, '2')]));
    expect(await q.pending()).toEqual(ids);
    expect([await q.field(ids[at]!, 'payload'), await q.total('enqueued')]).toEqual(['1', MANY]);
  });

  it.each([0, 1, MANY - 1])('I3: are new beside one at %i that is known, and runs', async (at) => {
    const q = testQueue();
    const claim = await q.addAndClaim(ids[at]!);
    const before = await q.job(ids[at]!);
    await q.run(q.scripts.enqueue(ids.map((id) => plain(id))));
    expect(await q.job(ids[at]!)).toEqual(before);
    const others = ids.toSpliced(at, 1);
    expect(await q.pending()).toEqual(others);
    for (const id of others) {
      const expected = { status: 'pending', payload: `"${id}"` };
      expect(await q.job(id)).toMatchObject(expected);
    }
    expect((await q.complete(claim)).lost).toEqual([]);
  });

  it('are added once with their metadata if the call is repeated, also if a bound would refuse the repeat', async () => {
    const plainOptions = '{"plain":true,"metadata":{"a":"b"}}';
    const withMetadata = ids.map((id, i) =>
      i % 3 === 0 ? plain(id) : { ...plain(id), options: { metadata: { a: 'b' } } },
    );
    for (const bound of [undefined, MANY]) {
      const q = testQueue();
      if (bound) await q.redis.hset(q.keys.settings, 'max_pending', bound);
      await q.run(q.scripts.enqueue(withMetadata));
      expect(await q.pending()).toEqual(ids);
      const stored = await Promise.all(ids.map((id) => q.field(id, 'options')));
      expect(stored).toEqual(ids.map((_, i) => (i % 3 === 0 ? null : plainOptions)));
      await expectUnchanged(q, () => q.run(q.scripts.enqueue(withMetadata)));
      await expectUnchanged(q, () => q.run(q.scripts.enqueue(withMetadata.slice(1))));
    }
  });

  it('I3: change nothing where the batch is repeated, whole or with its ids under another name', async () => {
    const q = testQueue();
    await q.run(q.scripts.enqueue(ids.map((id) => plain(id))));
    await expectUnchanged(q, () => q.run(q.scripts.enqueue(ids.map((id) => plain(id)))));
    await expectUnchanged(q, () => q.run(q.scripts.enqueue(ids.map((id) => ({ ...plain(id), name: 'other' })))));
  });
});
