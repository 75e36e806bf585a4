// A process of an older version leaves a queue alone that a newer version has, and says what to do.
import { describe, expect, it, jest } from '@jest/globals';
import { QueueLayoutError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { LAYOUT, OLDEST_LAYOUT } from '#queue/scripts/layout.js';
import { Worker } from '#worker/worker.js';
import type { Job } from '#worker/handlers/job.js';
import { ScriptStore } from '#memory/script-store.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { eventually } from '../../support/faults/wait.js';
import { connect } from '../../support/redis/redis.js';
import { coreQueue, openedQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';

/** Marks the queue as served by a newer version. */
async function upgrade(state: TestQueue): Promise<void> {
  await state.redis.hset(state.keys.sweep, 'layout', LAYOUT + 1);
}

const REMEDY = `expected a layout of at most ${LAYOUT}, found ${LAYOUT + 1}, which a newer version of nest-job-queue wrote. Upgrade`;

describe('a queue whose keys a newer version wrote', () => {
  it('is refused by a worker at its start', async () => {
    const { queue, state } = coreQueue();
    await upgrade(state);
    const worker = new Worker([{ queue, handlers: { [queue.name]: () => 1 } }]);
    await expectUnchanged(state, () => expect(worker.start()).rejects.toThrow(QueueLayoutError));
    await worker.stop();
  });

  it('is refused by a worker whose process knew the queue before, and its other queues are withdrawn', async () => {
    const { queue, state } = coreQueue();
    const other = coreQueue();
    await queue.stats();
    await upgrade(state);
    const handlers = { job: () => 1 };
    const worker = new Worker([
      { queue, handlers },
      { queue: other.queue, handlers },
    ]);
    await expect(worker.start()).rejects.toThrow(REMEDY);
    expect(await state.redis.exists(state.keys.workers, other.state.keys.workers)).toBe(0);
    await worker.stop();
  });
});

describe('a producer without a worker on such a queue', () => {
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['enqueue', (queue) => queue.enqueue({ to: 'ada@example.com' })],
    ['a durable enqueue', (queue) => queue.enqueue(1, { durability: 'replica' })],
    ['enqueueMany', (queue) => queue.enqueueMany([{ payload: 1 }, { payload: 2 }])],
    ['claim', (queue) => queue.claim()],
    ['pause', (queue) => queue.pause()],
    ['a schedule', (queue) => queue.schedules.upsert('nightly', { everyMs: 60_000 })],
    ['stats', (queue) => queue.stats()],
    ['doctor', (queue) => queue.doctor({ repair: true })],
  ])('is refused by %s, and writes nothing', async (_call, ask) => {
    const { queue, state } = coreQueue();
    await upgrade(state);
    await expectUnchanged(state, () => expect(ask(queue)).rejects.toThrow(QueueLayoutError));
    await expect(ask(queue)).rejects.toThrow(REMEDY);
  });

  it('works once the queue has a layout that it knows', async () => {
    const { queue, state } = coreQueue();
    await upgrade(state);
    await expect(queue.enqueue(1)).rejects.toThrow(QueueLayoutError);
    await state.redis.hset(state.keys.sweep, 'layout', LAYOUT);
    await queue.enqueue(2);
    expect(await state.redis.llen(state.keys.pending)).toBe(1);
  });

  it('asks once, however many calls begin together', async () => {
    const { queue, state } = coreQueue();
    const asks = jest.spyOn(state.redis, 'hmget');
    await Promise.all([queue.enqueue(1), queue.enqueue(2), queue.stats()]);
    await queue.enqueue(3);
    expect(asks).toHaveBeenCalledTimes(1);
  });
});

it('a worker announces the layout', async () => {
  const { queue, state } = coreQueue();
  const worker = new Worker([{ queue, handlers: { [queue.name]: () => 1 } }]);
  await worker.start();
  expect(await state.redis.hget(state.keys.sweep, 'layout')).toBe(String(LAYOUT));
  await worker.stop();
});

it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
  ['a worker', (queue) => new Worker([{ queue, handlers: { [queue.name]: () => 1 } }]).start()],
  ['enqueue', (queue) => queue.enqueue(1)],
  ['claim', (queue) => queue.claim()],
  ['a batch', (queue) => queue.batch({ id: 'b' }).add('member', 1)],
  ['purge', (queue) => queue.purge({ confirm: queue.name })],
  ['doctor', (queue) => queue.doctor({ repair: true })],
])(
  'a queue whose keys an older version wrote, in formats that are read no more is refused by %s, and nothing is written',
  async (_call, ask) => {
    const { queue, state } = coreQueue();
    await state.redis.hset(state.keys.sweep, 'layout', OLDEST_LAYOUT - 1);
    await expectUnchanged(state, () => expect(ask(queue)).rejects.toThrow(QueueLayoutError));
    await expect(ask(queue)).rejects.toThrow(
      `expected a layout of at least ${OLDEST_LAYOUT}, found ${OLDEST_LAYOUT - 1}, which an older version of nest-job-queue wrote. Let`,
    );
  },
);

/** Announces a worker of a version with other layouts. */
function announce(state: TestQueue, worker: string, layout: number, oldest: number): Promise<unknown> {
  const call = state.scripts.workers.register({ worker, serves: true });
  const args = call.args.with(4, layout).with(5, oldest);
  return state.run({ ...call, args, decode: Number });
}

const clock = new VirtualClock();

/** Lets a call end, by virtual time. */
async function settled<Reply>(call: Promise<Reply>): Promise<Reply> {
  void call.catch(() => undefined);
  await clock.advance(10);
  return call;
}

describe('a worker of a newer version', () => {
  it('ends the announcements of the others if it changes the layout, and a worker of the older one is refused', async () => {
    const { state } = coreQueue();
    await announce(state, 'older', LAYOUT, OLDEST_LAYOUT);
    expect(await announce(state, 'newer', LAYOUT + 1, OLDEST_LAYOUT)).toBe(LAYOUT + 1);
    expect(await state.ranked(state.keys.workers)).toEqual(['newer']);
    await announce(state, 'newer too', LAYOUT + 1, OLDEST_LAYOUT);
    expect(await announce(state, 'older', LAYOUT, OLDEST_LAYOUT)).toBe(LAYOUT + 1);
    expect(await state.ranked(state.keys.workers)).toEqual(['newer', 'newer too']);
  });

  it('stops the claims and the calls of a process that runs since before', async () => {
    const errors: string[] = [];
    const store = new ScriptStore(clock);
    const logger = { log: () => undefined, warn: () => undefined, error: (line: string) => void errors.push(line) };
    const queue = openedQueue(store, 'mail');
    const ran: unknown[] = [];
    const handlers = { mail: ({ payload }: Job) => void ran.push(payload) };
    const worker = new Worker([{ queue, handlers }], { logger });
    await settled(worker.start());
    await settled(queue.enqueue('before'));
    await clock.advance(1_000);
    expect(ran).toEqual(['before']);

    const call = ((await queue.calls()) as QueueCalls).workers.register({ worker: 'newer', serves: true });
    await settled(store.exec({ ...call, args: call.args.with(4, LAYOUT + 1), decode: () => 0 } as typeof call));
    await clock.advance(30_000);
    await expect(settled(queue.stats())).rejects.toThrow(QueueLayoutError);
    await clock.advance(30_000);
    expect(ran).toEqual(['before']);
    expect(errors.join('\n')).toContain(REMEDY);
    expect(worker.trouble).toBeInstanceOf(QueueLayoutError);
    await settled(worker.stop());
  });

  it('refuses the enqueues of a process without a worker within a minute, and takes them again once it may', async () => {
    const expiries: (() => void)[] = [];
    const { setTimeout } = systemClock;
    jest.spyOn(systemClock, 'setTimeout').mockImplementation((task, ms) => {
      if (ms === 60_000) expiries.push(task);
      return setTimeout(task, ms);
    });
    const { queue, state } = coreQueue();
    await queue.enqueue('before');
    await upgrade(state);
    await queue.enqueue('soon after');
    expiries.splice(0).forEach((task) => task());
    await eventually(() => queue.isRefused); // the layout is read beside the calls
    await expectUnchanged(state, () => expect(queue.enqueue('late')).rejects.toThrow(QueueLayoutError));
    await expect(queue.stats()).rejects.toThrow(QueueLayoutError);
    await state.redis.hset(state.keys.sweep, 'layout', LAYOUT);
    await queue.enqueue('again');
    expect(await state.redis.llen(state.keys.pending)).toBe(3);
  });

  it('reads the layout again beside the calls, which do not wait for it', async () => {
    const expiries: (() => void)[] = [];
    const { setTimeout } = systemClock;
    jest.spyOn(systemClock, 'setTimeout').mockImplementation((task, ms) => {
      if (ms === 60_000) expiries.push(task);
      return setTimeout(task, ms);
    });
    const client = connect();
    const { queue, state } = coreQueue({}, client);
    await queue.enqueue('before');
    const read = jest.spyOn(client, 'hmget').mockReturnValue(new Promise(() => undefined));
    expiries.splice(0).forEach((task) => task());
    await queue.enqueue('meanwhile');
    await queue.stats();
    expect(read).toHaveBeenCalledTimes(1);
    expect(await state.redis.llen(state.keys.pending)).toBe(2);
  });
});
