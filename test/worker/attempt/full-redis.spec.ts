// A Redis that is full, or refuses writes for another reason of its own. What a running job needs works or is dropped, and
// no attempt fails because of it. So the workers make room.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { NonRetryableError, RedisOutOfMemoryError, RedisStateError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { BulkHandler } from '#worker/handlers/handler.js';
import type { Job } from '#worker/handlers/job.js';
import { failure } from '../../support/faults/failure.js';
import { refuse, PASSING_FAULTS } from '../../support/faults/refusing-server.js';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';
import { someOf } from '../../support/run/samples.js';

type Handle = (job: Job, next: JobQueue) => unknown;

interface Full {
  boss: Redis;
  queue: JobQueue;
  next: JobQueue;
}

/** Starts a server with waiting jobs, which is full. */
async function full(jobs: number): Promise<Full> {
  const server = await startOwnRedis();
  const boss = connect({}, server.url);
  const client = connect({}, server.url);
  const [queue, next] = [newQueue({ maxAttempts: 1 }, client), newQueue({}, client)];
  await queue.enqueueMany(Array.from({ length: jobs }, (_, i) => ({ payload: i })));
  await boss.config('SET', 'maxmemory-policy', 'noeviction');
  await boss.config('SET', 'maxmemory', '1');
  return { boss, queue, next };
}

const goOn: [string, Handle][] = [
  ['await job.progress', (job) => job.progress(50)],
  ['void job.progress', (job) => void job.progress(50)],
  ['await job.log', (job) => job.log('a line')],
  ['await job.checkpoint', (job) => job.checkpoint({ row: 1 })],
  [
    'job.step',
    async (job) => {
      await job.step('one', () => 1);
      await job.step('two', () => 2);
    },
  ],
  ['nothing but a result', () => ({ done: true })],
  [
    'all of them in turn',
    async (job) => {
      for (let i = 0; i < 3; i++) {
        await Promise.all([job.progress(i), job.log(`${i}`), job.checkpoint(i)]);
      }
    },
  ],
];

describe('a full Redis', () => {
  it.each(goOn)('gets emptier by handlers with %s', async (_, handle) => {
    const { queue, next } = await full(60);
    const worker = await startWorker([
      { queue, handlers: { [queue.name]: (job) => handle(job, next) }, concurrency: 20 },
    ]);
    await worker.event('completed', 60);
    expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, failed: 0, completed: 60 });
    const dropped = worker.warnings.filter((line) => line.includes('are dropped'));
    expect(dropped.length).toBeLessThanOrEqual(1);
  });

  it('keeps the checkpoint for the next attempt', async () => {
    const { queue } = await full(1);
    const seen: unknown[] = [];
    const handle = async (job: Job) => {
      seen.push(job.lastCheckpoint);
      await job.checkpoint('half');
      if (seen.length === 1) job.snooze(1);
    };
    const worker = await startWorker([{ queue, handlers: { [queue.name]: handle } }]);
    await worker.event('completed', 1);
    expect(seen).toEqual([undefined, 'half']);
  });

  const refused: [string, Handle][] = [
    ['enqueue', (_, next) => next.enqueue(1)],
    ['enqueueMany', (_, next) => next.enqueueMany([{ payload: 1 }, { payload: 2 }])],
    ['an enqueue after another job', (job, next) => next.enqueue(1, { after: [{ queue: job.queue, id: job.id }] })],
    ['a new batch', (_, next) => next.batch().add(next.name, 1)],
    ['an error of the app with the refusal as its cause', (_, next) => next.enqueue(1).catch((cause) => { throw new Error('no luck', { cause }); })], // prettier-ignore
    ['a schedule', (_, next) => next.schedules.upsert('s', { everyMs: 60_000 })],
  ];

  it.each(someOf(refused, 3))(
    'uses no attempt of a handler with %s, rests its queue, and says so once',
    async (_, handle) => {
      const { boss, queue, next } = await full(5);
      const worker = await startWorker([
        { queue, handlers: { [queue.name]: (job) => handle(job, next) }, concurrency: 2 },
      ]);
      await worker.event('released', 4);
      expect((await queue.limits.get()).restsUntil).toBeInstanceOf(Date);
      const [waiting] = await queue.list('pending', { limit: 1 });
      expect(waiting).toMatchObject({ attempts: 0, status: 'pending' });
      expect(waiting!.attemptLog.at(-1)).toMatchObject({
        outcome: 'outage',
        error: { name: 'RedisOutOfMemoryError' },
      });
      await boss.config('SET', 'maxmemory', '0');
      await worker.event('completed', 5);
      expect(await queue.stats()).toMatchObject({ failed: 0, completed: 5 });
      expect(worker.warnings.filter((line) => line.includes('could not go on'))).toHaveLength(1);
    },
  );

  it('uses no attempt of the jobs of a bulk handler', async () => {
    const { boss, queue, next } = await full(4);
    const bulk: BulkHandler = {
      bulk: { size: 2, waitMs: 0 },
      handle: async (jobs) => {
        const added = await Promise.allSettled(jobs.map(() => next.enqueue(1)));
        return added.map((each) => (each.status === 'rejected' ? (each.reason as Error) : 'added'));
      },
    };
    const worker = await startWorker([{ queue, handlers: { [queue.name]: bulk } }]);
    await worker.event('released', 2);
    await boss.config('SET', 'maxmemory', '0');
    await worker.event('completed', 4);
    expect(worker.count('failed')).toBe(0);
  });

  it('fails an attempt whose handler says that it is final', async () => {
    const { queue, next } = await full(1);
    const handle = () =>
      next.enqueue(1).catch((cause: unknown) => {
        throw new NonRetryableError('no', { cause });
      });
    const worker = await startWorker([{ queue, handlers: { [queue.name]: handle } }]);
    await worker.event('failed', 1);
  });

  it('refuses calls with a typed error', async () => {
    const { queue, next } = await full(1);
    const calls: [string, () => Promise<unknown>][] = [
      ['enqueue', () => next.enqueue(1)],
      ['enqueueMany', () => next.enqueueMany([{ payload: 1 }])],
      ['batch.add', () => next.batch().add(next.name, 1)],
      ['batch.addMany', () => next.batch().addMany(next.name, [{ payload: 1 }])],
      ['batch.seal', () => next.batch().seal()],
      ['schedules.upsert', () => next.schedules.upsert('s', { everyMs: 60_000 })],
      ['limits.set', () => next.limits.set({ maxRunning: 1 })],
      ['groups.set', () => next.groups.set('g', { maxRunning: 1 })],
      ['update', async () => queue.update((await queue.list('pending'))[0]!.id, { much: 'x' })],
    ];
    for (const [name, call] of calls) {
      const error = await failure(call);
      expect([name, error.name]).toEqual([name, 'RedisOutOfMemoryError']);
      expect(error).toBeInstanceOf(RedisOutOfMemoryError);
      expect(error).toMatchObject({ code: 'REDIS_OUT_OF_MEMORY', reply: expect.stringMatching(/^OOM /) });
    }
  });
});

const READS = new Set(['MASTERDOWN', 'BUSY', 'LOADING']);

describe.each(PASSING_FAULTS.filter(({ reply }) => !READS.has(reply)))(
  'a Redis that replies $reply',
  ({ reply, begin, end }) => {
    it('fails no attempt that meets it, and the work goes on after it', async () => {
      const server = await startOwnRedis();
      const [boss, client] = [connect({}, server.url), connect({}, server.url)];
      const [queue, next] = [newQueue({ maxAttempts: 1 }, client), newQueue({}, client)];
      leaveBroken(queue);
      leaveBroken(next);
      const errors: Error[] = [];
      let begun = false;
      const handle = async () => {
        begun = true;
        await eventually(() => isRefused);
        await next.enqueue(1).catch((error: Error) => {
          errors.push(error);
          throw error;
        });
      };
      let isRefused = false;
      const worker = await startWorker([{ queue, handlers: { [queue.name]: handle } }]);
      await queue.enqueue(1);
      await eventually(() => begun);
      await begin(boss, client);
      isRefused = true;
      await eventually(() => errors.length > 0);
      await end(boss, client);
      await worker.event('completed', 1);
      expect(worker.count('failed')).toBe(0);
      expect(errors[0]!.cause).toBeInstanceOf(RedisStateError);
      expect(errors[0]!.message).toContain(reply);
    });
  },
);

it.each([
  'CLUSTERDOWN The cluster is down',
  'NOREPLICAS Not enough good replicas to write.',
  'MISCONF no disk',
  'READONLY no',
])('each call that Redis refuses by %s has a typed error', async (reply) => {
  const client = connect();
  const queue = newQueue({}, client);
  const batch = queue.batch();
  await queue.stats();
  const end = refuse(client, reply);
  for (const call of [() => queue.stats(), () => batch.seal(), () => queue.pause(), () => queue.cancel('a')]) {
    const error = await failure(call);
    expect(error).toBeInstanceOf(RedisStateError);
    expect(error).toMatchObject({ code: 'REDIS_STATE', reply });
  }
  end();
});
