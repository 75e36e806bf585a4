import { beforeAll, describe, expect, it } from '@jest/globals';
import { DurabilityTimeoutError } from '#queue/enqueue/enqueue-batcher.js';
import { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startReplicatedRedis, type ReplicatedRedis } from '../../support/redis/replicated-redis.js';
import { eventually } from '../../support/faults/wait.js';
import { inside } from '../../support/queue/inside.js';
import { trailOf } from '../../support/invariants/audit-gaps.js';
import { openedQueue } from '../../support/queue/core-queue.js';

let pair: ReplicatedRedis;

beforeAll(async () => {
  pair = await startReplicatedRedis();
});

const queueOn = (client: ReplicatedRedis['redis'], options: QueueOptions) =>
  openedQueue(client, uniqueQueueName(), options);

const durable = (options: QueueOptions = {}) =>
  queueOn(pair.redis, { durability: 'replica', durabilityTimeoutMs: 10_000, ...options });

/** Runs `action` while the replica is frozen. */
async function whileFrozen<Reply>(action: () => Promise<Reply>): Promise<Reply> {
  await pair.replica.kill('SIGSTOP');
  try {
    return await action();
  } finally {
    await pair.replica.kill('SIGCONT');
  }
}

/** Counts the calls of each command on the master while `action` runs. */
async function callsOf(action: () => Promise<unknown>): Promise<Map<string, number>> {
  await pair.redis.config('RESETSTAT');
  await action();
  const stats = await pair.redis.info('commandstats');
  return new Map([...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, n]) => [name!, Number(n)]));
}

/** Returns the id of a connection that waits for replicas. */
async function waiting(): Promise<string | undefined> {
  return /id=(\d+) .* flags=\w*b\w* .* cmd=wait /.exec(String(await pair.redis.client('LIST')))?.[1];
}

async function refusal(enqueue: Promise<unknown>): Promise<DurabilityTimeoutError> {
  const error = await enqueue.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DurabilityTimeoutError);
  return error as DurabilityTimeoutError;
}

describe("durability: 'replica'", () => {
  it('does not answer for a neighbour on the way that is refused', async () => {
    const [queue, other] = [durable(), durable()];
    const runAt = Number((await pair.redis.time())[0]) * 1_000 + 3_600_000;
    const [refused, sound, beside] = await Promise.allSettled([
      queue.enqueue(['bad'], { runAt, expiresInMs: 1_000 }),
      queue.enqueue('good'),
      other.enqueue('good'),
    ]);
    expect(refused).toMatchObject({ reason: { name: 'InvalidOptionError', subject: 'enqueue.expiresInMs' } });
    expect([sound, beside]).toMatchObject([{ value: { outcome: 'new' } }, { value: { outcome: 'new' } }]);
    expect((await queue.list('scheduled')).length + (await queue.list('pending')).length).toBe(1);
  });

  it('confirms a job although the counters of a queue on the way are a key of another program', async () => {
    const [broken, sound] = [durable(), durable()];
    await Promise.all([broken, sound].map((queue) => queue.enqueue('warm')));
    const { stats } = (await inside(broken).scripts()).keys;
    await pair.redis.multi().del(stats).set(stats, 'foreign').exec();
    const [refused, confirmed] = await Promise.allSettled([broken.enqueue('bad'), sound.enqueue('good')]);
    expect(refused).toMatchObject({ status: 'rejected' });
    expect(confirmed).toMatchObject({ value: { outcome: 'new' } });
  });

  it('answers when the replica has the job', async () => {
    const queue = durable();
    const { id } = await queue.enqueue({ a: 1 });
    const replica = connect({}, pair.replica.url);
    expect(await replica.hget((await inside(queue).scripts()).keys.job(id), 'payload')).toBe('{"a":1}');
  });

  it('does not answer before it has', async () => {
    const queue = durable();
    await queue.enqueue('warm');
    let answered = false;
    const enqueued = await whileFrozen(async () => {
      const enqueue = queue.enqueue('x').then(() => (answered = true));
      await eventually(waiting);
      expect(answered).toBe(false);
      return { enqueue };
    });
    expect(await enqueued.enqueue).toBe(true);
  });

  it('says honestly when none acknowledged: the job is there, and runs', async () => {
    const queue = durable({ durabilityTimeoutMs: 50 });
    const error = await whileFrozen(() => refusal(queue.enqueue({ a: 1 }, { id: 'order-1' })));
    expect(error).toMatchObject({
      queue: queue.name,
      replicas: 1,
      acknowledged: 0,
      timeoutMs: 50,
      jobIds: ['order-1'],
    });
    expect(error.message).toBe(
      `Job order-1: expected 1 replica of Redis to have what was enqueued to "${queue.name}" within 50 ms, found 0. ` +
        'The master has it and it will run: do not enqueue it again without its id. ' +
        'It is lost only if the master fails before a replica has it.',
    );
    expect(await error.handles[0]!.get()).toMatchObject({ id: 'order-1', status: 'pending' });
    const job = (await queue.claim())!;
    await queue.complete(job, 'done');
    expect(await error.handles[0]!.result()).toBe('done');
  });

  it('counts the replicas that are asked for', async () => {
    const queue = durable({ replicas: 2, durabilityTimeoutMs: 50 });
    expect(await refusal(queue.enqueue(1))).toMatchObject({ replicas: 2, acknowledged: 1 });
  });

  it('without a replica says so', async () => {
    const { url } = await startOwnRedis();
    const queue = queueOn(connect({}, url), { durability: 'replica', durabilityTimeoutMs: 50 });
    expect(await refusal(queue.enqueueMany([{ payload: 1 }, { payload: 2 }]))).toMatchObject({
      acknowledged: 0,
      jobIds: [expect.any(String), expect.any(String)],
    });
    expect(await queue.stats()).toMatchObject({ pending: 2 });
  });

  it('a repeat of a known id, which writes nothing, waits for the replica too', async () => {
    const queue = durable({ durabilityTimeoutMs: 50 });
    await whileFrozen(async () => {
      await refusal(queue.enqueue(1, { id: 'a' }));
      const again = queueOn(connect({}, pair.master.url), { durability: 'replica', durabilityTimeoutMs: 50 });
      expect(await refusal(again.enqueue(1, { id: 'a' }))).toMatchObject({ acknowledged: 0 });
    });
    expect((await queue.enqueue(1, { id: 'a' })).outcome).toBe('existing');
  });

  it('a repeat that could write nothing at all is no acknowledgement', async () => {
    const queue = durable();
    await queue.enqueue(1, { id: 'a' });
    await pair.redis.hset((await inside(queue).scripts()).keys.stats, 'durable_total', 'abc');
    const error = await refusal(queue.enqueue(1, { id: 'a' }));
    expect(error).toMatchObject({ acknowledged: 0, cause: expect.any(Error) });
  });

  it('parallel enqueues of all queues share few waits', async () => {
    const queues = [durable(), durable()];
    await queues[0]!.enqueue('warm');
    const enqueueAll = () => Promise.all(Array.from({ length: 100 }, (_, i) => queues[i % 2]!.enqueue(i)));
    expect((await callsOf(enqueueAll)).get('wait')).toBeLessThanOrEqual(3);
    expect((await queues[1]!.stats()).pending).toBe(50);
  });

  it('enqueues of one tick share a wait, though the code that makes them pauses between', async () => {
    const queue = durable();
    await queue.enqueue('warm');
    const enqueueAll = async () => {
      const first = queue.enqueue(1);
      await Promise.resolve();
      await Promise.resolve();
      await Promise.all([first, queue.enqueue(2)]);
    };
    expect((await callsOf(enqueueAll)).get('wait')).toBe(1);
  });

  it('is counted for each queue of a shared wait', async () => {
    const queues = [durable(), durable(), durable()];
    await Promise.all(queues.map((queue) => queue.enqueue(1)));
    for (const queue of queues) {
      expect(await pair.redis.hget((await inside(queue).scripts()).keys.stats, 'durable_total')).toBe('1');
    }
  });

  it('can be asked for by one enqueue, and waived by one', async () => {
    const plain = queueOn(pair.redis, { durabilityTimeoutMs: 50 });
    const strict = durable({ durabilityTimeoutMs: 50 });
    await whileFrozen(async () => {
      await refusal(plain.enqueue(1, { durability: 'replica' }));
      expect((await strict.enqueue(1, { durability: 'memory' })).outcome).toBe('new');
      await refusal(plain.enqueueMany([{ payload: 1 }, { payload: 2, durability: 'replica' }]));
    });
    expect((await plain.stats()).pending).toBe(3);
  });

  it('a plain enqueue opens no connection and waits for no replica', async () => {
    const client = connect({ connectionName: uniqueQueueName('plain') }, pair.master.url);
    const queue = queueOn(client, {});
    const calls = await callsOf(() => queue.enqueue(1));
    expect(calls.has('wait')).toBe(false);
    const list = String(await client.client('LIST'));
    expect(list.split(`name=${client.options.connectionName}`)).toHaveLength(2);
  });

  it('a connection that dies during the wait is no acknowledgement', async () => {
    const queue = durable();
    await queue.enqueue('warm');
    const error = await whileFrozen(async () => {
      const enqueue = refusal(queue.enqueue(1, { id: 'cut' }));
      await pair.redis.client('KILL', 'ID', await eventually(waiting));
      return enqueue;
    });
    expect(error).toMatchObject({ acknowledged: 0, cause: expect.any(Error) });
    expect((await queue.enqueue(2)).outcome).toBe('new');
  });

  it('a frozen master gives an outcome that is unknown, in time', async () => {
    const server = await startOwnRedis();
    const queue = queueOn(connect({}, server.url), {
      durability: 'replica',
      durabilityTimeoutMs: 50,
      enqueueTimeoutMs: 200,
    });
    await refusal(queue.enqueue('warm'));
    await server.kill('SIGSTOP');
    await expect(queue.enqueue(1)).rejects.toMatchObject({ name: 'EnqueueError', outcome: 'unknown' });
    await server.kill('SIGCONT');
    await refusal(queue.enqueue(2));
  });

  it('a queue that is closed during a wait leaves no connection behind', async () => {
    const client = connect({ connectionName: uniqueQueueName('closed') }, pair.master.url);
    const queue = queueOn(client, { durability: 'replica', durabilityTimeoutMs: 10_000 });
    await queue.enqueue('warm');
    await whileFrozen(async () => {
      const enqueue = queue.enqueue(1);
      await eventually(waiting);
      queue.close();
      return { enqueue };
    }).then(({ enqueue }) => enqueue);
    const open_ = async () => String(await client.client('LIST')).split(`name=${client.options.connectionName} `);
    await eventually(async () => (await open_()).length === 2, {
      timeoutMs: 2_000,
      what: 'only the client itself',
    });
  });

  it('many enqueues wait for one connection together, and one that keeps silent is replaced', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    const proxy = await FaultProxy.start(pair.master.url);
    const queue = queueOn(connect({}, proxy.url), {
      durability: 'replica',
      durabilityTimeoutMs: 50,
      enqueueTimeoutMs: 500,
    });
    await queue.stats();
    proxy.pause((requests) => requests === ''); // only what is connected from now on
    const enqueues: Promise<unknown>[] = [];
    for (let i = 0; i < 30; i++) {
      enqueues.push(queue.enqueue(i).catch((error: Error) => error));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const answer of await Promise.all(enqueues)) expect(answer).toMatchObject({ outcome: 'not-sent' });
    proxy.heal();
    const enqueued = () => queue.enqueue('after').catch(() => undefined);
    await eventually(enqueued, { timeoutMs: 8_000, what: 'an enqueue over a new connection' });
    process.off('warning', note);
    expect(warnings).toEqual([]);
  }, 15_000);

  it.each([
    [{ durability: 'disk' }, "durability: expected 'memory' or 'replica', found \"disk\"."],
    [{ replicas: 0 }, 'replicas: expected a whole number from 1 to 100, found 0.'],
    [{ durabilityTimeoutMs: 0 }, 'durabilityTimeoutMs: expected a whole number from 1 to 3600000 ms, found 0.'],
  ])('%j is refused', (options, text) => {
    expect(() => new JobQueue(pair.redis, 'jobs', options as QueueOptions)).toThrow(text);
  });
});

/** Returns the transitions of a queue with an audit trail. */
const transitionsOf = async (durability: 'memory' | 'replica', enqueue: (queue: JobQueue) => Promise<unknown>) => {
  const queue = durable({ durability, auditTrail: {} });
  await enqueue(queue);
  return (await trailOf(queue)).map(({ transition, from, to }) => ({ transition, from, to }));
};

describe('the audit trail of enqueues', () => {
  const ENQUEUES: Record<string, (queue: JobQueue) => Promise<unknown>> = {
    'a plain job': (queue) => queue.enqueue(1),
    'a job with options': (queue) => queue.enqueue(1, { id: 'a', priority: 5, group: 'tenant' }),
    'a job later': (queue) => queue.enqueue(1, { delayMs: 60_000 }),
    'several jobs': (queue) => queue.enqueueMany([{ payload: 1 }, { payload: 2, lifo: true }]),
    'a job of a batch': (queue) => queue.batch().add(queue.name, 1),
    'a replaced job': async (queue) => {
      const unique = { key: 'k', for: 'pending', onConflict: 'replace' } as const;
      await queue.enqueue(1, { unique });
      await queue.enqueue(2, { unique, delayMs: 60_000 });
    },
  };

  it.each(Object.entries(ENQUEUES))('has %s, whatever the durability', async (_name, enqueue) => {
    const inMemory = await transitionsOf('memory', enqueue);
    expect(inMemory).not.toEqual([]);
    expect(await transitionsOf('replica', enqueue)).toEqual(inMemory);
  });
});
