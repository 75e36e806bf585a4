// A process without the key stores nothing in the clear in an encrypted queue. No window does. No code does, where the queue
// says so.
import { randomBytes } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { encrypted, EncryptedQueueError, type JobFailure, JobQueue, type QueueOptions } from 'nest-job-queue/core';
import type { SealedVerb } from '#queue/codec/sealed.js';
import { sealFailure } from '#queue/codec/sealed.js';
import { encodeJob } from '#queue/enqueue/encode-job.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

const KEY = { id: 'k', key: randomBytes(32) };
const CANARY = 'CANARY of DE89 3704';
const redis = connect();

/** Returns every value of the keys of a queue as one text. */
async function dump(queue: string): Promise<string> {
  const texts: string[] = [];
  for (const key of await redis.keys(`queue:${queue}:*`)) {
    const type = await redis.type(key);
    if (type === 'hash') texts.push(JSON.stringify(await redis.hgetall(key)));
    if (type === 'stream') texts.push(JSON.stringify(await redis.xrange(key, '-', '+')));
  }
  return texts.join('\n');
}

const fails = () => Promise.reject(new Error('no'));

interface Scene {
  /** The queue with the key. */
  queue: JobQueue;
  /** The same queue, of a process without the key. */
  blind: JobQueue;
  waiting: string;
  dead: string;
}

/** Makes an encrypted queue with a waiting job and a dead letter. */
async function open(options: Parameters<typeof encrypted>[1] = {}): Promise<Scene> {
  const name = uniqueQueueName();
  const queue = new JobQueue(redis, name, { codec: encrypted([KEY], options) });
  const waiting = await queue.enqueue({ to: 'ada' }, { delayMs: 3_600_000 });
  const dead = await queue.enqueue({ to: 'ada' }, { maxAttempts: 1 });
  await queue.fail((await queue.claim())!, new Error('no'));
  return { queue, blind: new JobQueue(connect(), name), waiting: waiting.id, dead: dead.id };
}

type Act = (queue: JobQueue, scene: Scene) => Promise<unknown>;

/** How content gets into the store by each verb. Null for a verb that stores what a worker or a store read. */
const ACTS: Record<SealedVerb<StoreCalls>, Act | null> = {
  enqueue: (queue) => queue.enqueue({ to: CANARY }),
  update: (queue, { waiting }) => queue.update(waiting, { to: CANARY }),
  signal: (queue, { waiting }) => queue.signal(waiting, 'approved', { to: CANARY }),
  'deadLetters.redrive': (queue, { dead }) => queue.deadLetters.redrive(dead, { payload: { to: CANARY } }),
  'deadLetters.redriveAsNew': (queue, { dead }) =>
    queue.deadLetters.redriveAsNew(dead, { payload: { to: CANARY } }),
  'schedules.upsert': (queue) => queue.schedules.upsert('s', { everyMs: 1e7 }, { payload: { to: CANARY } }),
  'batches.create': async (queue) => {
    const batch = queue.batch({ finally: { name: queue.name, payload: { to: CANARY } } });
    await batch.seal();
  },
  'once.enqueue': (queue) =>
    queue.exec(({ once }) =>
      once.enqueue({
        sender: { source: 's', fence: 1 },
        entries: [{ key: 'k', job: encodeJob(queue, { to: CANARY }, {}) }],
      }),
    ),
  'once.addDeadLetters': (queue) => {
    const { error } = sealFailure(undefined, queue.name, { id: 'm', error: { name: 'Error', message: CANARY } });
    const failure = { error, startedAt: 1, endedAt: 2 };
    const ran = { attempts: 1, errors: 1, crashes: 0 };
    const job = encodeJob(queue, { to: CANARY }, { id: 'm' });
    return queue.exec(({ once }) =>
      once.addDeadLetters({ sender: { source: 's', fence: 1 }, entries: [{ key: 'k', job, ran, failure }] }),
    );
  },
  checkEnqueue: null,
  'batches.deliver': null,
  'batches.acknowledge': null,
  'batches.followUps': null,
  complete: null,
  fail: null,
  noteDeath: null,
  progress: null,
  checkpoint: null,
  step: null,
  log: null,
  'streams.write': null,
};
const acts = Object.entries(ACTS).flatMap(([verb, act]) => (act ? [[verb, act] as const] : []));

describe('a window without the key', () => {
  it.each(acts)('stores nothing by %s', async (_, act) => {
    const scene = await open();
    scene.blind.author = { via: 'cli', by: 'ada' };
    await expect(act(scene.blind, scene)).rejects.toThrow(EncryptedQueueError);
    expect(await dump(scene.queue.name)).not.toContain(CANARY);
  });

  it.each(['enqueue', 'schedules.upsert'] as const)(
    'that opened the queue before its codec neither: %s',
    async (verb) => {
      const name = uniqueQueueName();
      const blind = new JobQueue(connect(), name);
      blind.author = null; // as the dashboard's, which writes its own log
      const scene = { queue: blind, blind, waiting: '', dead: '' };
      await ACTS[verb]!(blind, scene);
      const queue = new JobQueue(redis, name, { codec: encrypted([KEY]) });
      await queue.enqueue({ to: 'ada' });
      await expect(ACTS[verb]!(blind, scene)).rejects.toMatchObject({ code: 'ENCRYPTED_QUEUE' });
    },
  );

  it('sends dead letters back to work, pauses and cancels', async () => {
    const { blind, waiting, dead } = await open();
    blind.author = { via: 'cli', by: 'ada' };
    expect(await blind.deadLetters.redrive(dead)).toBe(true);
    await blind.pause();
    expect(await blind.cancel(waiting)).toBe('cancelled');
  });

  it('opens a batch without follow-ups, which stores no content', async () => {
    const { blind } = await open();
    blind.author = { via: 'cli', by: 'ada' };
    await expect(blind.batch().seal()).resolves.toBeUndefined();
  });

  it('stores content in a queue that is not encrypted', async () => {
    const queue = new JobQueue(redis, uniqueQueueName());
    queue.author = { via: 'cli', by: 'ada' };
    expect((await queue.enqueue({ to: 'ada' })).outcome).toBe('new');
  });
});

describe('code without the key', () => {
  it('adds a job in the clear, which runs', async () => {
    const { blind, queue } = await open();
    const job = await blind.enqueue({ to: 'bob' });
    await startWorker(queue, ({ payload }) => payload);
    expect(await queue.get(job.id)).not.toBeNull();
    await eventually(async () => (await queue.get(job.id))?.status === 'completed');
  });

  it.each(acts)('stores nothing by %s where plain jobs are refused', async (_, act) => {
    const scene = await open({ plainJobs: 'refuse' });
    await expect(act(scene.blind, scene)).rejects.toThrow(EncryptedQueueError);
    expect(await dump(scene.queue.name)).not.toContain(CANARY);
  });

  it.each(acts.filter(([verb]) => verb.startsWith('once.')))('stores by %s what has the key', async (_, act) => {
    const scene = await open({ plainJobs: 'refuse' });
    await act(scene.queue, scene);
    const { pending, failed } = await scene.queue.stats();
    expect(pending + failed).toBe(2); // beside the dead letter of the scene
  });

  it('gets a dead letter of a job that another program stored in the clear', async () => {
    const { queue, dead } = await open({ plainJobs: 'refuse' });
    const told: unknown[] = [];
    const ran: unknown[] = [];
    await startWorker([
      {
        queue,
        handlers: { [queue.name]: ({ payload }) => void ran.push(payload) },
        onFailed: { [queue.name]: ({ payload }) => void told.push(payload) },
      },
    ]);
    await redis.hset(`queue:${queue.name}:job:plain`, { name: queue.name, payload: '{"to":"eve"}', status: 'pending', enqueued_at_ms: '1' }); // prettier-ignore
    await redis.lpush(`queue:${queue.name}:pending`, 'plain');
    await eventually(async () => (await queue.get('plain'))?.status === 'failed');
    expect((await queue.get('plain'))!.lastError).toContain('was stored in the clear, which this queue refuses');
    await queue.deadLetters.redrive(dead);
    await eventually(() => ran.length === 1); // the encrypted one runs
    expect(ran).toEqual([{ to: 'ada' }]);
    expect(told).toEqual([]); // the plain failure job of the plain job does not run either
  });

  it('runs the failure job of an encrypted job', async () => {
    const { queue } = await open({ plainJobs: 'refuse' });
    const told: unknown[] = [];
    await startWorker([
      {
        queue,
        handlers: { [queue.name]: fails },
        onFailed: { [queue.name]: ({ payload }) => void told.push((payload as JobFailure).payload) },
      },
    ]);
    await queue.enqueue({ to: 'ada' }, { maxAttempts: 1 });
    await eventually(() => told.length === 1);
    expect(told).toEqual([{ to: 'ada' }]);
  });
});

/** Returns what is known of a queue after producers with these options, one after the other. */
function announced(options: QueueOptions, ...others: QueueOptions[]): Promise<unknown> {
  const name = uniqueQueueName();
  return [options, ...others].reduce(
    (before, each) =>
      before.then(async () => {
        await new JobQueue(connect(), name, each).enqueue({});
        return new JobQueue(connect(), name).exec((calls) => calls.content());
      }),
    Promise.resolve<unknown>(undefined),
  );
}

describe('a producer without a worker', () => {
  it('announces what it hides, and that it encrypts', async () => {
    expect(await announced({ redact: ['iban'], codec: encrypted([KEY]) })).toMatchObject({
      encrypted: true,
      redact: ['iban'],
      keyIds: ['k'],
    });
    expect(await announced({})).toBeUndefined();
  });

  it('is none where it only reads: a window has the options of its own app', async () => {
    const name = uniqueQueueName();
    const reader = new JobQueue(connect(), name, { redact: ['iban'] });
    expect(await reader.list('pending')).toEqual([]);
    expect(await reader.exec((calls) => calls.content())).toBeUndefined();
  });

  it('is not overruled by one without options, and is by one that hides nothing', async () => {
    expect(await announced({ redact: ['iban'] }, {})).toEqual({ redact: ['iban'] });
    expect(await announced({ redact: ['iban'] }, { redact: [] })).toEqual({ redact: [] });
  });

  it('hides beside what workers hide', async () => {
    const name = uniqueQueueName();
    await startWorker(new JobQueue(connect(), name, { redact: ['iban'] }), () => undefined);
    await new JobQueue(connect(), name, { redact: ['card'], codec: encrypted([KEY]) }).enqueue({});
    const content = await new JobQueue(connect(), name).exec((calls) => calls.content());
    expect(content).toMatchObject({ redact: ['iban', 'card'], encrypted: true, codec: 'encrypted' });
  });
});

it('makes the calls that refuse content in the clear once, and not for each step', async () => {
  const { queue } = await open({ plainJobs: 'refuse' });
  const first = await queue.calls();
  expect(await queue.calls()).toBe(first);
  expect(await queue.as(null).calls()).not.toBe(first);
});

it('is announced by a producer once, and not before each batch', async () => {
  const queue = new JobQueue(redis, uniqueQueueName(), { redact: ['to'] });
  const hset = jest.spyOn(redis, 'hset');
  await queue.producerCalls();
  await queue.producerCalls();
  const written = hset.mock.calls.filter(([key]) => String(key).includes(queue.name));
  hset.mockRestore();
  expect(written).toHaveLength(1);
});
