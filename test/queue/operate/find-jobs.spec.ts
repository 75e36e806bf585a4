// list with a filter, on Redis and in memory.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { JobStatus } from '#queue/model/job.js';
import type { ListOptions } from '#queue/operate/find-jobs.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const HOUR = 3_600_000;

async function ids(queue: JobQueue, status: JobStatus, options: ListOptions): Promise<string[]> {
  return (await queue.list(status, options)).map(({ id }) => id);
}

onEachStore('a list', () => {
  it('shows waiting jobs of groups behind the others, the group with the oldest head first', async () => {
    const queue = newQueue();
    for (const [id, options] of Object.entries({
      b1: { group: 'b' },
      a1: { group: 'a' },
      plain: {},
      b2: { group: 'b', priority: 5 },
      urgent: { priority: 1 },
      a2: { group: 'a', priority: 9 },
    })) {
      await queue.enqueue(1, { id, ...options });
    }
    expect(await ids(queue, 'pending', {})).toEqual(['urgent', 'plain', 'b2', 'b1', 'a2', 'a1']);
    expect(await ids(queue, 'pending', { offset: 1, limit: 2 })).toEqual(['plain', 'b2']);
  });

  it('shows a group with an urgent head behind one whose head is older', async () => {
    const queue = newQueue();
    await queue.enqueue(1, { id: 'a1', group: 'a' });
    await queue.enqueue(1, { id: 'b1', group: 'b', priority: 5 });
    expect(await ids(queue, 'pending', {})).toEqual(['a1', 'b1']);
  });

  it('shows the jobs of a name, and those with all the metadata that is given, in pages', async () => {
    const queue = newQueue();
    await queue.enqueueMany(
      Array.from({ length: 12 }, (_, i) => ({
        id: `j${i}`,
        payload: i,
        name: i % 2 ? 'odd' : 'even',
        ...(i % 3 === 0 && { metadata: { tenant: 'acme', third: i % 2 ? 'odd' : 'even' } }),
      })),
    );
    expect(await ids(queue, 'pending', { name: 'odd' })).toEqual(['j1', 'j3', 'j5', 'j7', 'j9', 'j11']);
    expect(await ids(queue, 'pending', { name: 'odd', offset: 1, limit: 2 })).toEqual(['j3', 'j5']);
    expect(await ids(queue, 'pending', { name: 'odd', offset: 6 })).toEqual([]);
    expect(await ids(queue, 'pending', { metadata: { tenant: 'acme' } })).toEqual(['j0', 'j3', 'j6', 'j9']);
    expect(await ids(queue, 'pending', { metadata: { tenant: 'acme', third: 'odd' } })).toEqual(['j3', 'j9']);
    expect(await ids(queue, 'pending', { metadata: { tenant: 'zeta' } })).toEqual([]);
    expect(await ids(queue, 'pending', { name: 'even', metadata: { tenant: 'acme' } })).toEqual(['j0', 'j6']);
    expect(await ids(queue, 'completed', { name: 'odd' })).toEqual([]);
  });

  it('shows the jobs of an age in each state', async () => {
    const queue = newQueue();
    await queue.enqueueMany([
      { id: 'now', payload: 1 },
      { id: 'later', payload: 1, delayMs: HOUR },
    ]);
    const both = async (status: JobStatus) => [
      await ids(queue, status, { newerThanMs: HOUR }),
      await ids(queue, status, { olderThanMs: HOUR }),
    ];
    expect(await both('pending')).toEqual([['now'], []]);
    expect(await both('scheduled')).toEqual([['later'], []]);
    const [job] = await queue.claimMany(1);
    expect(await both('processing')).toEqual([['now'], []]);
    await queue.complete(job!, 'done');
    expect(await both('completed')).toEqual([['now'], []]);
    await queue.cancel('later');
    expect(await both('cancelled')).toEqual([['later'], []]);
    expect(await ids(queue, 'completed', { olderThanMs: 0 })).toEqual(['now']);
  });

  it('counts the age of a scheduled job from its enqueue, as clean does', async () => {
    const queue = newQueue();
    await queue.enqueue(1, { id: 'later', delayMs: HOUR });
    expect(await ids(queue, 'scheduled', { olderThanMs: 0 })).toEqual(['later']);
    expect(await ids(queue, 'scheduled', { newerThanMs: HOUR })).toEqual(['later']);
    expect(await ids(queue, 'scheduled', { olderThanMs: HOUR })).toEqual([]);
    expect(await queue.clean('scheduled', { olderThanMs: HOUR })).toBe(0);
    expect(await queue.clean('scheduled', { olderThanMs: 0 })).toBe(1);
  });

  it.each([
    [{ name: '' }, 'list.name: expected text'],
    [{ metadata: { a: 5 } }, 'list.metadata'],
    [{ newerThanMs: 5, olderThanMs: 6 }, 'list.newerThanMs: expected olderThanMs or more'],
    [{ nme: 'a' }, 'nme'],
  ])('refuses %j', async (options, message) => {
    const queue = newQueue();
    await expect(queue.list('pending', options as ListOptions)).rejects.toThrow(message);
  });
});
