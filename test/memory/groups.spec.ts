// Groups: a queue in memory does what a queue on Redis does. Each case runs on both.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { newQueue, onEachStore } from '../support/worker/workers.js';

/** Enqueues jobs, each `group:number`. */
async function add(queue: JobQueue, ...names: string[]): Promise<void> {
  for (const name of names) {
    const [group, n] = name.split(':');
    await queue.enqueue({ n }, { id: name, group });
  }
}

/** Enqueues a job for each entry: its id, and the bytes of its payload. An id with a colon names a group. */
async function enqueueSized(queue: JobQueue, sizes: Record<string, number>): Promise<void> {
  for (const [id, bytes] of Object.entries(sizes)) {
    const [group, n] = id.split(':');
    await queue.enqueueMany([{ payload: 'x'.repeat(bytes - 2), id, ...(n && { group }) }]);
  }
}

const CLAIM = { worker: 'w', stream: '0', token: 't', count: 9 } as const;

const idsOf = (jobs: readonly { id: string }[]) => jobs.map(({ id }) => id);

onEachStore('groups', () => {
  it('take turns, however many jobs one of them has', async () => {
    const queue = newQueue();
    await add(queue, 'a:1', 'a:2', 'a:3', 'b:1', 'c:1');
    expect(idsOf(await queue.claimMany(3)).toSorted()).toEqual(['a:1', 'b:1', 'c:1']);
    expect(idsOf(await queue.claimMany(3))).toEqual(['a:2', 'a:3']);
    expect(await queue.get('a:1')).toMatchObject({ group: 'a', status: 'processing' });
  });

  it('run no more jobs at once than they may, and one pauses without the others', async () => {
    const queue = newQueue();
    await queue.groups.set('a', { maxRunning: 1 });
    await queue.groups.pause('b');
    await add(queue, 'a:1', 'a:2', 'b:1');
    const [first, ...others] = await queue.claimMany(5);
    expect([first!.id, others]).toEqual(['a:1', []]);
    expect(await queue.groups.get('a')).toMatchObject({ pending: 1, running: 1, limits: { maxRunning: 1 } });
    expect(await queue.groups.resume('b')).toBe(true);
    await queue.complete(first!);
    expect(idsOf(await queue.claimMany(5)).toSorted()).toEqual(['a:2', 'b:1']);
  });

  it('take turns with jobs of no group, also those that are claimed ahead of a free slot', async () => {
    const queue = newQueue();
    await queue.limits.set({ groups: { ungroupedWeight: 2 } });
    await add(queue, 'a:1', 'a:2', 'b:1', 'b:2');
    for (const id of ['p1', 'p2', 'p3']) await queue.enqueue({}, { id });
    const { jobs } = await queue.exec((calls) =>
      calls.claim({ worker: 'w', stream: '0', token: 't', count: 7, slots: 2 }),
    );
    expect(idsOf(jobs)).toEqual(['p1', 'a:1', 'b:1', 'p2', 'p3', 'a:2', 'b:2']);
    expect(jobs.map(({ prefetched }) => prefetched)).toEqual([false, false, ...Array<boolean>(5).fill(true)]);
  });

  it('fill a claim up to its bytes, and leave a small job without a group its turn', async () => {
    const queue = newQueue();
    await enqueueSized(queue, { 'a:1': 100, 'a:2': 100, p1: 10 });
    const { jobs, isFull } = await queue.exec((calls) => calls.claim({ ...CLAIM, mostBytes: 150 }));
    expect([idsOf(jobs), isFull]).toEqual([['p1', 'a:1'], true]);
  });

  it.each<[string, Record<string, number>, number, string[], string[]]>([
    [
      'end a claim at the first job in turn that exceeds its bytes, with a group or without',
      { 'a:1': 100, 'a:2': 100, p1: 100, p2: 100, p3: 10 },
      250,
      ['p1', 'a:1'],
      ['p2', 'a:2', 'p3'],
    ],
    [
      'wait for a large job without a group whose turn is first',
      { 'a:1': 10, p1: 100, p2: 10 },
      50,
      ['p1'],
      ['a:1', 'p2'],
    ],
  ])('%s', async (_, sizes, mostBytes, first, second) => {
    const queue = newQueue();
    await enqueueSized(queue, sizes);
    const claim = async (token: string) =>
      idsOf((await queue.exec((calls) => calls.claim({ ...CLAIM, token, mostBytes }))).jobs);
    expect(await claim('one')).toEqual(first);
    expect(await claim('two')).toEqual(second);
  });

  it('pay for the rate of the queue in turn, with jobs without a group among them', async () => {
    const queue = newQueue();
    await queue.limits.set({ rateLimit: { limit: 3, periodMs: 3_600_000, burst: 3 } });
    await queue.enqueue({}, { id: 'p', cost: 2 });
    for (const [group, cost] of [['a', 2], ['b', 1]] as const) await queue.enqueue({}, { id: group, group, cost }); // prettier-ignore
    expect(idsOf(await queue.claimMany(5))).toEqual(['p']); // a has the next turn, and b none before it
  });

  it('with limits that get no slot of a busy worker wake another worker', async () => {
    const queue = newQueue();
    await queue.groups.set('a', { maxRunning: 1 });
    await add(queue, 'a:1');
    const { store } = queue;
    const calls = await queue.calls();
    const wait = store.workerWait('other', [calls], console);
    const ahead = { worker: 'busy', stream: '0', token: 't', count: 1, slots: 0 };
    try {
      await wait.wait([calls], 1, []); // takes the marker of the enqueue
      const { jobs } = await queue.exec((each) => each.claim(ahead));
      expect(jobs).toEqual([]);
      const { wokenIn } = await wait.wait([calls], 1, []);
      expect(wokenIn).toBe(calls);
    } finally {
      wait.close();
    }
  });

  it('take another priority of a job that was tried before, also with one slot', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    await queue.groups.set('a', { maxRunning: 1 });
    await add(queue, 'a:1', 'a:2', 'a:3');
    await queue.fail((await queue.claim())!, new Error('no'));
    await queue.setPriority('a:1', 5);
    await queue.setPriority('a:3', 9);
    const order: string[] = [];
    for (let job = await queue.claim(); job; job = await queue.claim()) {
      order.push(job.id);
      await queue.complete(job);
    }
    expect(order).toEqual(['a:3', 'a:1', 'a:2']);
  });

  it('are listed by age in the order in which their first jobs came, also after a retry', async () => {
    const queue = newQueue();
    await queue.groups.set('a', { maxRunning: 1 });
    await add(queue, 'a:1', 'a:2', 'b:1', 'c:1');
    await queue.fail((await queue.claim())!, new Error('no'), { delayMs: 0 });
    const listed = await queue.groups.list({ by: 'age' });
    expect(listed.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('get the charge of a rate back for a job whose handler was never called', async () => {
    const rateLimit = { limit: 1, periodMs: 3_600_000 };
    const queue = newQueue({ groups: { rateLimit } });
    await queue.groups.set('a', { rateLimit });
    await queue.limits.set({ rateLimit, groups: { rateLimit } });
    await add(queue, 'a:1');
    const claim = await queue.claim();
    const release = async (unstarted: boolean) => {
      const of = { ...(await queue.claim())!, reason: 'interruption', delayMs: 0, unstarted } as const;
      return queue.exec((calls) => calls.release([of]));
    };
    await queue.exec((calls) =>
      calls.release([{ ...claim!, reason: 'interruption', delayMs: 0, unstarted: true }]),
    );
    expect(await release(false)).toEqual(['released']); // claimed again at once; this time it stays charged
    expect(await queue.claim()).toBeNull();
  });

  it('with one slot keep their order through a retry', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    await queue.groups.set('a', { maxRunning: 1 });
    await add(queue, 'a:1', 'a:2');
    const first = await queue.claim();
    expect(await queue.fail(first!, new Error('no'), { delayMs: 60_000 })).toBe('retry');
    expect(await queue.claim()).toBeNull();
    expect(await queue.groups.get('a')).toMatchObject({ heldBy: 'a:1' });
    expect(await queue.reschedule('a:1', { delayMs: 0 })).toBe('pending');
    expect(await queue.claim()).toMatchObject({ id: 'a:1', attempt: 2 });
  });
});
