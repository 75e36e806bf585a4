import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from '#queue/enqueue/define-job.js';
import { encodeJob } from '#queue/enqueue/encode-job.js';
import { InvalidOptionError, InvalidPayloadError, QueueClosedError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { eventually } from '../../support/faults/wait.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';
import { sealedError } from '../../support/queue/unsealed.js';

/** Enqueues and fails one job for good. */
async function bury(queue: JobQueue, id: string, message = 'no', name?: string): Promise<void> {
  await queue.enqueue({ to: id }, { id, name });
  await queue.fail((await queue.claim())!, new TypeError(message), { final: true });
}

describe('dead letters', () => {
  it('are listed with their attempts, the latest first, in pages', async () => {
    const { queue } = coreQueue({ maxAttempts: 2 });
    await queue.enqueue({ to: 'a' }, { id: 'a' });
    await queue.fail((await queue.claim())!, new Error('first'));
    await queue.fail((await queue.claim())!, new TypeError('second'));
    for (const id of ['b', 'c', 'd']) await bury(queue, id);
    const first = await queue.deadLetters.list({ limit: 3 });
    expect(first.jobs.map(({ id }) => id).toSorted()).toHaveLength(3);
    const second = await queue.deadLetters.list({ limit: 3, cursor: first.cursor });
    expect(second.cursor).toBeUndefined();
    expect([...first.jobs, ...second.jobs].map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c', 'd']);
    const one = (await queue.deadLetters.get('a'))!;
    expect(one).toMatchObject({ status: 'failed', payload: { to: 'a' }, lastError: 'second', attempts: 2 });
    expect(one.attemptLog.map(({ error }) => `${error!.name}: ${error!.message}`)).toEqual([
      'Error: first',
      'TypeError: second',
    ]);
  });

  it('are no longer redriven slowly once the queue is closed', async () => {
    const { queue } = coreQueue();
    for (const id of ['a', 'b', 'c']) await bury(queue, id);
    const redriven = queue.deadLetters.redriveAll({}, { perSecond: 1 });
    await eventually(async () => (await queue.stats()).pending === 1);
    queue.close();
    await expect(redriven).rejects.toThrow(QueueClosedError);
  });

  it('do not include live jobs', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'waits' });
    expect(await queue.deadLetters.get('waits')).toBeNull();
    expect(await queue.deadLetters.get('nobody')).toBeNull();
    expect(await queue.deadLetters.redrive('waits')).toBe(false);
    expect(await queue.deadLetters.discard('waits')).toBe(false);
    expect(await queue.deadLetters.list()).toEqual({ jobs: [], cursor: undefined });
  });

  it('are redriven, as they were or with another payload', async () => {
    const { queue } = coreQueue();
    await bury(queue, 'a');
    await bury(queue, 'b');
    expect(await queue.deadLetters.redrive('a')).toBe(true);
    expect(await queue.deadLetters.redrive('b', { payload: { to: 'elsewhere' } })).toBe(true);
    const jobs = await queue.claimMany(2);
    expect(jobs.map(({ id, payload, attempt }) => [id, payload, attempt])).toEqual([
      ['a', { to: 'a' }, 1],
      ['b', { to: 'elsewhere' }, 1],
    ]);
    expect((await queue.get('b'))!.lastError).toBe('no');
  });

  it('are redriven or discarded by a filter, in slices; the others stay', async () => {
    const { queue } = coreQueue();
    const ids = Array.from({ length: 230 }, (_, i) => `job-${i}`);
    await queue.enqueueMany(ids.map((id) => ({ payload: id, id, name: 'email' })));
    for (const job of await queue.claimMany(230)) {
      await queue.fail(job, new Error('connect ECONNREFUSED'), { final: true });
    }
    await bury(queue, 'other', 'out of paper', 'print');
    expect(await queue.deadLetters.redriveAll({ name: 'email', error: 'econnrefused' })).toBe(230);
    expect(await queue.stats()).toMatchObject({ pending: 230, failed: 1 });
    expect(await queue.deadLetters.discardAll({ name: 'email' })).toBe(0);
    expect(await queue.deadLetters.discardAll({ olderThanMs: 60_000 })).toBe(0);
    expect(await queue.deadLetters.discardAll()).toBe(1);
    expect(await queue.stats()).toMatchObject({ pending: 230, failed: 0 });
  });

  it('that fail again while all are redriven are left alone', async () => {
    const { queue, state } = coreQueue();
    await bury(queue, 'a');
    const later = (await state.now()) + 60_000;
    await bury(queue, 'b');
    await state.redis.zadd(state.keys.dead, later, 'b');
    expect(await queue.deadLetters.redriveAll()).toBe(1);
    expect(await state.ranked(state.keys.dead)).toEqual(['b']);
  });
});

describe('dead letters refuse, and change nothing', () => {
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['deadLetters.list.name', (queue) => queue.deadLetters.list({ name: '' })],
    ['deadLetters.list.error', (queue) => queue.deadLetters.list({ error: 5 as never })],
    ['deadLetters.list.olderThanMs', (queue) => queue.deadLetters.list({ olderThanMs: -1 })],
    ['deadLetters.list.newerThanMs', (queue) => queue.deadLetters.list({ newerThanMs: Number.NaN })],
    ['deadLetters.list.limit', (queue) => queue.deadLetters.list({ limit: 1_001 })],
    ['deadLetters.list.cursor', (queue) => queue.deadLetters.list({ cursor: 'page 2' })],
    ['deadLetters.list.nam', (queue) => queue.deadLetters.list({ nam: 'email' } as never)],
    ['deadLetters.redrive.data', (queue) => queue.deadLetters.redrive('a', { data: 1 } as never)],
    ['deadLetters.redriveAll.eror', (queue) => queue.deadLetters.redriveAll({ eror: 'x' } as never)],
    ['deadLetters.discardAll', (queue) => queue.deadLetters.discardAll(5 as never)],
    ['deadLetters.discardAll.name', (queue) => queue.deadLetters.discardAll({ name: '' })],
    ['clean status', (queue) => queue.clean('processing' as never)],
    ['olderThanMs', (queue) => queue.clean('failed', { olderThanMs: -1 })],
    ['limit', (queue) => queue.clean('failed', { limit: 0 })],
  ])('%s', async (subject, call) => {
    const { queue } = coreQueue();
    await bury(queue, 'a');
    const error = (await call(queue).catch((thrown: unknown) => thrown)) as InvalidOptionError;
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error.subject).toBe(subject);
    expect((await queue.deadLetters.get('a'))!.status).toBe('failed');
  });

  it('an edited payload that JSON cannot carry', async () => {
    const { queue } = coreQueue();
    await bury(queue, 'a');
    const error = await queue.deadLetters.redrive('a', { payload: { n: 5n } }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect((await queue.deadLetters.get('a'))!.payload).toEqual({ to: 'a' });
  });
});

describe('an edited payload', () => {
  const Email = defineJob('email', { payload: z.object({ to: z.string(), at: z.coerce.date<Date>().optional() }) });

  it('is checked by the definition that is given, as the handler would find it', async () => {
    const { queue } = coreQueue();
    await bury(queue, 'a', 'no', 'email');
    const bad = queue.deadLetters.redrive(Email, 'a', { payload: { to: 5 } as never });
    await expect(bad).rejects.toThrow('payload.to: expected string, found 5.');
    await expect(bad).rejects.toThrow(InvalidPayloadError);
    expect((await queue.deadLetters.get('a'))!.payload).toEqual({ to: 'a' });
    expect(await queue.deadLetters.redrive(Email, 'a', { payload: { to: 'b', at: new Date(0) } })).toBe(true);
    expect((await queue.get('a'))!.payload).toEqual({ to: 'b', at: '1970-01-01T00:00:00.000Z' });
    expect(await queue.deadLetters.redrive(Email, 'a', { payload: { to: 'b' } })).toBe(false);
  });

  it('is refused by the definition of another job', async () => {
    const { queue } = coreQueue();
    await bury(queue, 'a', 'no', 'print');
    const other = queue.deadLetters.redrive(Email, 'a', { payload: { to: 'b' } });
    await expect(other).rejects.toThrow('deadLetters.redrive: expected the definition of "print", found "email".');
    expect((await queue.deadLetters.get('a'))!.payload).toEqual({ to: 'a' });
  });
});

describe('clean', () => {
  it('takes pending jobs of every priority, in slices, up to the limit', async () => {
    const { queue } = coreQueue();
    await queue.enqueueMany(Array.from({ length: 1_200 }, (_, i) => ({ payload: i, priority: i % 2 })));
    expect(await queue.clean('pending', { olderThanMs: 3_600_000 })).toBe(0);
    expect(await queue.clean('pending', { limit: 100 })).toBe(100);
    expect(await queue.clean('pending')).toBe(1_100);
    expect(await queue.stats()).toMatchObject({ pending: 0 });
  });

  it('leaves the other states alone', async () => {
    const { queue } = coreQueue();
    await bury(queue, 'dead');
    await queue.enqueue(1, { id: 'later', delayMs: 60_000 });
    await queue.enqueue(1, { id: 'now' });
    expect(await queue.clean('completed')).toBe(0);
    expect(await queue.clean('scheduled')).toBe(1);
    expect(await queue.clean('failed')).toBe(1);
    expect(await queue.stats()).toMatchObject({ pending: 1, scheduled: 0, failed: 0 });
  });
});

onEachStore('a dead letter that was redriven as a new job', () => {
  it('is redriven again only once that job is gone', async () => {
    const queue = newQueue();
    await bury(queue, 'a');
    const { id } = await queue.deadLetters.redriveAsNew('a');
    expect(await queue.deadLetters.redriveAsNew('a')).toEqual({ outcome: 'known', id });
    expect(await queue.deadLetters.redrive('a')).toBe(false);
    expect((await queue.stats()).pending).toBe(1);
    await queue.remove(id);
    expect(await queue.deadLetters.redrive('a')).toBe(true);
  });
});

onEachStore('a dead letter that was moved here from another library', () => {
  it('has the line of its outcome', async () => {
    const queue = newQueue({ outcomes: {} });
    const moved = {
      key: 'k',
      job: encodeJob(queue, 1, { id: 'a' }),
      ran: { attempts: 2, errors: 2, crashes: 0 },
      failure: { error: sealedError({ name: 'Error', message: 'no' }), startedAt: 1, endedAt: 2 },
    };
    await queue.exec(({ once }) =>
      once.addDeadLetters({ sender: { source: 'other', fence: 1 }, entries: [moved] }),
    );
    expect(await queue.outcome('a')).toMatchObject({ status: 'failed', attempts: 2 });
  });
});
