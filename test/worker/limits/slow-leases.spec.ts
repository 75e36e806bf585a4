// What happens to claimed jobs while the leases of their keys are in flight, by virtual time.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { gate, type Gate } from '../../support/faults/wait.js';
import { isMarked, viewOf } from '../../support/memory/memory-view.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue, startWorker, type TestWorker } from '../../support/worker/workers.js';

const SECOND = 1_000;

/** What stops the workers of a test, by its clock. */
const endings: (() => Promise<void>)[] = [];

/** Makes a queue whose limit has a key, and holds the replies of leases for some groups back. */
function world() {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock);
  const limit = uniqueQueueName();
  const queue = newQueue({ limits: [{ limit, key: 'group' }] }, store);
  const slow = new Map<string, Gate>();
  const end = gate();
  const transportOf = store.transport.bind(store);
  jest.spyOn(store, 'transport').mockImplementation((logger) => {
    const transport = transportOf(logger);
    const carry = transport.carry.bind(transport);
    transport.carry = async (calls, ...others) => {
      const outcomes = await carry(calls, ...others);
      const keys = calls.flatMap((call) => (call.script === 'sharedLimitLease' ? [JSON.stringify(call)] : []));
      const held = [...slow].filter(([group]) => keys.some((each) => each.includes(`#${group}`)));
      await Promise.all(held.map(([, { promise }]) => promise));
      return outcomes;
    };
    return transport;
  });
  const start = async (handle: (job: { id: string }) => unknown = () => undefined): Promise<TestWorker> => {
    const worker = await startWorker(queue, handle, { limits: { [limit]: { maxRunning: 1 } } });
    endings.push(async () => {
      [end, ...slow.values()].forEach(({ open }) => open());
      const stopped = worker.worker.stop();
      await clock.advance(30 * SECOND);
      await stopped;
    });
    await clock.advance(10);
    return worker;
  };
  /** Holds the leases of a group back. Returns what lets them through. */
  const holds = (group: string) => {
    const each = gate();
    slow.set(group, each);
    return async () => {
      each.open();
      slow.delete(group);
      await clock.advance(10);
    };
  };
  return { clock, queue, start, holds, end };
}

const jobOf = async (queue: JobQueue, id: string) => (await viewOf(queue)).job(id)!;

describe('a claimed job whose lease is in flight', () => {
  afterEach(async () => {
    for (const end of endings.splice(0)) await end();
  });

  it('is not charged for the death of its worker, until it starts', async () => {
    const { clock, queue, start, holds, end } = world();
    const answer = holds('acme');
    const worker = await start(() => end.promise);
    const { id } = await queue.enqueue(1, { group: 'acme' });
    await clock.advance(10);
    expect(await jobOf(queue, id)).toMatchObject({ status: 'processing' });
    expect(isMarked(await jobOf(queue, id))).toBe(true);
    await answer();
    expect(worker.count('started')).toBe(1);
    expect(isMarked(await jobOf(queue, id))).toBe(false);
  });

  it('does not start if it has expired meanwhile, and its permit comes back', async () => {
    const { clock, queue, start, holds } = world();
    const answer = holds('acme');
    const worker = await start();
    const { id } = await queue.enqueue(1, { group: 'acme', expiresInMs: 2 * SECOND });
    await clock.advance(10);
    expect(await jobOf(queue, id)).toMatchObject({ status: 'processing' });
    await clock.advance(2 * SECOND);
    await answer();
    await clock.advance(SECOND);
    expect(worker.count('started')).toBe(0);
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 0 });
    await queue.enqueue(2, { group: 'acme' });
    await clock.advance(SECOND);
    expect(worker.count('completed')).toBe(1);
  });

  it('begins first if it is isolated, and the other jobs of its claim go back', async () => {
    const { clock, queue, start, holds, end } = world();
    const { id } = await queue.enqueue(1, { group: 'acme' });
    const other = await queue.enqueue(2, { group: 'bolt' });
    const view = await viewOf(queue);
    view.write(view.keys.job(id), { attempts: '2', crashes: '2', next_crash_is_last: '1' });
    const answer = holds('acme');
    const started: string[] = [];
    const worker = await start((job) => {
      started.push(job.id);
      return job.id === id ? end.promise : undefined;
    });
    expect(started).toEqual([]);
    expect(await jobOf(queue, other.id)).toMatchObject({ status: 'pending', attempts: '0' });
    await answer();
    expect(started).toEqual([id]);
    end.open();
    await clock.advance(30 * SECOND);
    expect(started).toEqual([id, other.id]);
    expect(worker.count('completed')).toBe(2);
  });
});
