// A call with many jobs travels in several steps. Where some of them fail, the error has an answer for each job.
import { describe, expect, it } from '@jest/globals';
import { bulkReplies } from '#queue/enqueue/producer.js';
import { RedisOutOfMemoryError } from '#queue/errors/errors.js';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import type { EncodedJob } from '#queue/store/enqueue-call.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { sealed } from '../../support/queue/unsealed.js';

const failed = (outcome: 'not-sent' | 'unknown', id: string) => new EnqueueError(outcome, 'q', [id], 'no answer');

describe('enqueueMany that was written in part', () => {
  it('returns an outcome for each job, and repeated with the ids adds nothing twice', async () => {
    const { queue, state } = coreQueue();
    state.broken = true; // one job is left halfway
    await queue.enqueue({}, { id: 'known' });
    await queue.enqueue({}, { id: 'holder', unique: { key: 'k', for: 'pending' } });
    await state.redis.set(state.keys.sequence, 'no number'); // a job with a priority ends its step
    const jobs = [
      { payload: 0, id: 'known' },
      { payload: 0, unique: { key: 'k', for: 'pending' } as const },
      ...Array.from({ length: 498 }, (_, i) => ({ payload: i, id: `a${i}` })),
      { payload: 1, id: 'urgent', priority: 5 },
    ];
    const error = await failure<EnqueueError>(() => queue.enqueueMany(jobs));
    expect(error).toBeInstanceOf(EnqueueError);
    expect(error.outcome).toBe('unknown');
    expect(error.message).toContain('500 of 501 jobs');
    expect(error.items.map(({ outcome }) => outcome)).toEqual([
      'existing',
      'kept',
      ...Array.from({ length: 498 }, () => 'new'),
      'unknown',
    ]);
    expect(error.items.slice(0, 3).map(({ id }) => id)).toEqual(['known', 'holder', 'a0']);
    expect(error.items.at(-1)!.id).toBe('urgent');
    const total = await state.total('enqueued');
    const again = await queue.enqueueMany(jobs.slice(0, 500).map((job, i) => ({ ...job, id: error.jobIds[i] })));
    expect(new Set(again.map(({ outcome }) => outcome))).toEqual(new Set(['existing', 'kept']));
    expect(await state.total('enqueued')).toBe(total);
  });

  it('distinguishes refused and unsent jobs from those that may be written', async () => {
    const jobs = ['a', 'b', 'c', 'd', 'e'].map((id): EncodedJob => ({ id, name: 'q', payload: sealed('1') }));
    const answers = [
      Promise.resolve({ id: 'other', outcome: 'replaced' } as const),
      Promise.reject(failed('unknown', 'b')),
      Promise.reject(failed('not-sent', 'c')),
      Promise.reject(new RedisOutOfMemoryError('no memory')),
      Promise.resolve({ id: 'e', outcome: 'new', full: { group: undefined, limit: 1, unit: 'jobs' } } as const),
    ];
    const outcomes = await Promise.allSettled(answers);
    const error = await failure<EnqueueError>(() => bulkReplies('q', jobs, outcomes));
    expect(error).toMatchObject({ outcome: 'unknown', jobIds: ['a', 'b', 'c', 'd', 'e'] });
    expect(error.message).toContain('1 of 5 jobs');
    expect(error.items).toEqual([
      { id: 'other', outcome: 'replaced' },
      { id: 'b', outcome: 'unknown' },
      { id: 'c', outcome: 'not-sent' },
      { id: 'd', outcome: 'not-sent' },
      { id: 'e', outcome: 'not-sent' },
    ]);
  });

  it('of one job has one answer, its own', () => {
    expect(failed('not-sent', 'a').items).toEqual([{ id: 'a', outcome: 'not-sent' }]);
  });
});
