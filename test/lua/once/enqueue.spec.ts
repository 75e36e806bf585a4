import { expect, it } from '@jest/globals';
import type { AskedOptions } from '#queue/store/asked-options.js';
import type { OnceEntry } from '#queue/verbs/once.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { sealed } from '../../support/queue/unsealed.js';

const SENDER = { source: 'orders', fence: 1 };

function entry(q: TestQueue, key: string, options: AskedOptions = {}, id = `job-${key}`): OnceEntry {
  return {
    key,
    job: { id, name: q.name, payload: sealed('{}'), ...(Object.keys(options).length > 0 && { options }) },
  };
}

const send = (q: TestQueue, keys: string[], sender = SENDER) =>
  q.run(q.scripts.once.enqueue({ sender, entries: keys.map((key) => entry(q, key)) })); // prettier-ignore

/** Runs all pending jobs, and forgets them. */
async function endAll(q: TestQueue): Promise<void> {
  const jobs = await q.claim(10);
  await q.run(q.scripts.complete(jobs.map((job) => ({ ...job, result: '', resultTtlMs: 1 }))));
  await q.redis.unlink(q.keys.completed, ...jobs.map(({ id }) => q.keys.job(id)));
}

it('adds the job of each entry in their order, and replies nothing where all are new', async () => {
  const q = testQueue();
  const call = q.scripts.once.enqueue({ sender: SENDER, entries: ['a', 'b', 'c'].map((key) => entry(q, key)) }); // prettier-ignore
  expect(await q.run({ ...call, decode: (raw) => raw })).toBeNull();
  expect(await q.pending()).toEqual(['job-a', 'job-b', 'job-c']);
  expect(await q.total('enqueued')).toBe(3);
  expect(await q.takeWake()).toBe(true);
});

it('adds nothing twice, also when the job has ended and its id is forgotten', async () => {
  const q = testQueue();
  await send(q, ['a']);
  await endAll(q);
  expect(await send(q, ['a', 'b'], { ...SENDER, fence: 2 })).toEqual({
    replies: [{ outcome: 'known' }, { id: 'job-b', outcome: 'new' }],
  });
  expect(await q.pending()).toEqual(['job-b']);
});

it('I3: changes nothing when repeated after a lost reply', async () => {
  const q = testQueue();
  await send(q, ['a', 'b']);
  const repeated = await expectUnchanged(q, () => send(q, ['a', 'b']));
  expect(repeated).toEqual({ replies: [{ outcome: 'known' }, { outcome: 'known' }] });
});

it('refuses a sender that another has overtaken, whose entries and marks are gone', async () => {
  const q = testQueue();
  await send(q, ['a'], { ...SENDER, fence: 8 });
  await endAll(q);
  await q.run(q.scripts.once.forget({ source: 'orders', keys: ['a'] }));
  const stale = await expectUnchanged(q, () => send(q, ['a', 'b'], { ...SENDER, fence: 7 }));
  expect(stale).toEqual({ newerFence: 8 });
  expect(await send(q, ['a'], { source: 'invoices', fence: 1 })).toMatchObject({ replies: [{ outcome: 'new' }] });
});

it('keeps large fences apart', async () => {
  const q = testQueue();
  await send(q, ['a'], { ...SENDER, fence: 2 ** 53 - 1 });
  expect(await send(q, ['b'], { ...SENDER, fence: 2 ** 53 - 2 })).toEqual({ newerFence: 2 ** 53 - 1 });
});

it('leaves nothing of an entry at whose content it fails, and adds the others', async () => {
  const q = testQueue();
  const broken = entry(q, 'b', { groupLimits: { maxRunning: 1 } }); // no enqueue gives limits without a group
  const entries = [entry(q, 'a'), broken, entry(q, 'c', { group: 'g' }), entry(q, 'd')];
  const reply = await q.run(q.scripts.once.enqueue({ sender: SENDER, entries }));
  expect(reply).toMatchObject({
    replies: [
      { outcome: 'new' },
      { outcome: 'broken', message: expect.stringContaining('nil') },
      { outcome: 'new' },
      { outcome: 'new' },
    ],
  });
  expect(await q.pending()).toEqual(['job-a', 'job-d']);
  expect(await q.total('enqueued')).toBe(3);
  expect(await q.redis.exists(q.keys.job('job-b'))).toBe(0);
  const again = entry(q, 'b', { group: 'h' });
  expect(await q.run(q.scripts.once.enqueue({ sender: SENDER, entries: [again] }))).toMatchObject({
    replies: [{ outcome: 'new' }],
  });
});

it('does not mark an entry that meets a bound or is refused, and adds the others', async () => {
  const q = testQueue({ maxPending: 1 });
  const now = await q.now();
  const late = { runAt: now + 60_000, expiresInMs: 10, request: 'r' };
  const entries = [entry(q, 'late', late), entry(q, 'a'), entry(q, 'b'), entry(q, 'lost', { batch: 'none' })];
  expect(await q.run(q.scripts.once.enqueue({ sender: SENDER, entries }))).toMatchObject({
    replies: [
      { outcome: 'refused', reason: { startsInMs: expect.any(Number) } },
      { outcome: 'new' },
      { full: { limit: 1, unit: 'jobs' } },
      { outcome: 'refused', reason: { refusal: { reason: 'no-batch', about: 'none' } } },
    ],
  });
  expect(await q.run(q.scripts.once.marks({ source: 'orders', limit: 9 }))).toEqual(['a']);
  await endAll(q);
  expect(await send(q, ['b'])).toMatchObject({ replies: [{ outcome: 'new' }] });
});

it('obeys the bound of each group in the code of the sender', async () => {
  const q = testQueue({ groups: { maxPending: 1 } });
  const entries = ['a', 'b'].map((id) => entry(q, id, { group: 'g' }));
  expect(await q.run(q.scripts.once.enqueue({ sender: SENDER, entries }))).toMatchObject({
    replies: [{ outcome: 'new' }, { full: { limit: 1, unit: 'jobs', group: 'g' } }],
  });
});

it('holds later entries of a group behind one that was not added', async () => {
  const q = testQueue({ maxPendingBytes: 5 });
  const large = entry(q, 'large', { group: 'g' });
  const entries = [
    { ...large, job: { ...large.job, payload: '"too large"' } },
    entry(q, 'small', { group: 'g' }),
    entry(q, 'other', { group: 'h' }),
  ];
  expect(await q.run(q.scripts.once.enqueue({ sender: SENDER, entries }))).toMatchObject({
    replies: [{ full: { unit: 'bytes' } }, { outcome: 'held' }, { outcome: 'new' }],
  });
  expect(await q.run(q.scripts.once.marks({ source: 'orders', limit: 9 }))).toEqual(['other']);
});

it('marks an entry whose id or unique key is taken, and names the owner', async () => {
  const q = testQueue();
  await q.add('owner', { unique: 'k', unique_for: 'unfinished', request: 'other' });
  const unique = { unique: { key: 'k', for: 'unfinished' as const } };
  const entries = [entry(q, 'a', unique), entry(q, 'b', { request: 'mine' }, 'owner')];
  expect(await q.run(q.scripts.once.enqueue({ sender: SENDER, entries }))).toEqual({
    replies: [
      { id: 'owner', outcome: 'kept' },
      { id: 'owner', outcome: 'existing' },
    ],
  });
  expect(await q.run(q.scripts.once.marks({ source: 'orders', limit: 9 }))).toEqual(['a', 'b']);
});

it('places delayed, prioritized and grouped jobs', async () => {
  const q = testQueue();
  const entries = [
    entry(q, 'later', { delayMs: 60_000 }),
    entry(q, 'urgent', { priority: 3 }),
    entry(q, 'grouped', { group: 'g' }),
  ];
  await q.run(q.scripts.once.enqueue({ sender: SENDER, entries }));
  expect(await q.ranked(q.keys.scheduled)).toEqual(['job-later']);
  expect(await q.ranked(q.keys.prioritized)).toEqual(['job-urgent']);
  expect((await q.claim(9)).map(({ id }) => id).toSorted()).toEqual(['job-grouped', 'job-urgent']);
});

it('gives a job the attempts, errors and crashes that it had elsewhere', async () => {
  const q = testQueue();
  const ran = { attempts: 2, errors: 1, crashes: 1 };
  const moved = { ...entry(q, 'a', { maxAttempts: 3 }), ran };
  await q.run(q.scripts.once.enqueue({ sender: SENDER, entries: [moved, { ...entry(q, 'b'), ran }] }));
  expect(await q.redis.hmget(q.keys.job('job-a'), 'attempts', 'errors', 'crashes')).toEqual(['2', '1', '1']);
  const [first, second] = await q.claim(2);
  expect([first, second]).toMatchObject([{ attempt: 3 }, { attempt: 3 }]);
});

it('replaces the forwarding record of a move by the job that comes back, and keeps it if the job is refused', async () => {
  const q = testQueue();
  for (const id of ['back', 'full']) {
    await q.redis.hset(q.keys.job(id), {
      status: 'cancelled',
      request: 'mine',
      moved: '1-1',
      last_error: 'The job moved.',
    });
    await q.redis.pexpire(q.keys.job(id), 60_000);
  }
  const of = (id: string) => ({ ...entry(q, id, { request: 'mine' }, id), mustBeNew: true as const });
  const call = (id: string) => q.run(q.scripts.once.enqueue({ sender: SENDER, entries: [of(id)] }));
  expect(await call('back')).toMatchObject({ replies: [{ outcome: 'new' }] });
  expect(await q.job('back')).toMatchObject({ status: 'pending', request: 'mine' });
  expect(await q.job('back')).not.toHaveProperty('moved');
  expect(await q.redis.pttl(q.keys.job('back'))).toBe(-1);
  await q.redis.hset(q.keys.settings, 'max_pending', 1);
  expect(await call('full')).toMatchObject({ replies: [{ full: { limit: 1 } }] });
  expect(await q.job('full')).toMatchObject({ status: 'cancelled', moved: '1-1' });
  expect(await q.redis.pttl(q.keys.job('full'))).toBeGreaterThan(0);
  expect(await q.pending()).toEqual(['back']);
});

it('does not mark an entry that its sender keeps because its id is known', async () => {
  const q = testQueue();
  await q.add('owner', { request: 'other' });
  const kept = { ...entry(q, 'a', { request: 'mine' }, 'owner'), mustBeNew: true as const };
  const sent = await q.run(
    q.scripts.once.enqueue({ sender: SENDER, entries: [kept, { ...entry(q, 'b'), mustBeNew: true }] }),
  );
  expect(sent).toMatchObject({ replies: [{ outcome: 'existing' }, { outcome: 'new' }] });
  expect(await q.run(q.scripts.once.marks({ source: 'orders', limit: 9 }))).toEqual(['b']);
});

it('writes nothing where a key has a wrong type', async () => {
  const q = testQueue();
  q.broken = true;
  await q.redis.set(q.keys.pending, 'x');
  await expectUnchanged(q, () => expect(send(q, ['a'])).rejects.toThrow('WRONGTYPE'));
  await q.redis.unlink(q.keys.pending);
  await q.redis.set(q.keys.once('orders'), 'x');
  await expectUnchanged(q, () => expect(send(q, ['a'])).rejects.toThrow('WRONGTYPE'));
});

it('costs no plain enqueue a key or a command', async () => {
  const q = testQueue();
  const [plain] = [q.scripts.enqueue([entry(q, 'a').job])];
  expect(plain.keys).toHaveLength(5);
  expect(plain.args).toEqual([q.name, 1, 'job-a', '{}']);
});
