// Small texts travel with a job from its enqueue to each of its attempts; a job without them stores nothing.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { InvalidOptionError, NonRetryableError } from '#queue/errors/errors.js';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import type { Job } from '#worker/handlers/job.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';
import { sealed } from '../../support/queue/unsealed.js';

const metadata = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  'x-request/id': '{"ü": 1}',
};

/** A key that is held for a time leaves a job plain. */
const inAnHour = { key: 'k', for: { ms: 3_600_000 }, onConflict: 'replace' } as const;

async function checkpointAndRelease(queue: JobQueue): Promise<void> {
  const claimed = (await queue.claim())!;
  const calls = await inside(queue).scripts();
  await inside(queue).run(calls.checkpoint({ claim: claimed, checkpoint: sealed('1') }));
  await queue.release(claimed);
}

async function completeAndRunAgain(queue: JobQueue, id: string): Promise<void> {
  await queue.complete((await queue.claim())!);
  await queue.runAgain(id);
}

async function failAndRedrive(queue: JobQueue, id: string): Promise<void> {
  await queue.fail((await queue.claim())!, new NonRetryableError('no'));
  await queue.deadLetters.redriveMany([id]);
}

it('comes to the handler and is in the record, also of many jobs', async () => {
  const queue = newQueue();
  const seen: unknown[] = [];
  const worker = await startWorker(queue, (job: Job) => void seen.push(job.metadata));
  const one = await queue.enqueue(1, { metadata });
  await worker.event('completed');
  await queue.enqueueMany([
    { payload: 2, metadata: { a: 'b' } },
    { payload: 3, priority: 1 },
  ]);
  await worker.event('completed', 3);
  expect(seen).toEqual(expect.arrayContaining([metadata, { a: 'b' }, {}]));
  expect((await one.get())!.metadata).toEqual(metadata);
});

it.each<EnqueueOptions | undefined>([undefined, { metadata: {} }])('%j stores no field', async (options) => {
  const queue = newQueue();
  const handle = await queue.enqueue(1, options);
  const { keys } = await inside(queue).scripts();
  expect(await connect().hexists(keys.job(handle.id), 'options')).toBe(0);
  expect(await handle.get()).not.toHaveProperty('metadata');
});

it('stays through a retry, a crash and a redrive; a replacement brings its own', async () => {
  const queue = newQueue({ maxAttempts: 3, visibilityMs: 100 });
  const unique = { key: 'k', for: 'unfinished', onConflict: 'replace' } as const;
  await queue.enqueue(1, { metadata: { first: 'yes' }, unique });
  const handle = await queue.enqueue(2, { metadata, unique });
  const claim = async () => (await queue.claim({ timeoutMs: 5_000 }))!;
  await queue.fail(await claim(), new Error('retry'));
  expect((await claim()).options.metadata).toEqual(metadata);
  await connect().zadd((await inside(queue).scripts()).keys.claims, 'XX', 1, handle.id);
  await queue.reclaim();
  const third = await claim();
  expect(third.options.metadata).toEqual(metadata);
  expect(await queue.fail(third, new Error('dead'))).toBe('failed');
  expect((await queue.deadLetters.list()).jobs).toMatchObject([{ metadata }]);
  await queue.deadLetters.redriveMany([handle.id]);
  const again = await claim();
  expect(again.options.metadata).toEqual(metadata);
  await queue.complete(again);
});

it('of many jobs of one call stays with its own job', async () => {
  const queue = newQueue();
  const asked = [{ a: '1' }, { a: '1' }, undefined, { a: '2' }, undefined, undefined, { a: '1' }];
  const handles = await queue.enqueueMany(
    asked.map((own, i) => ({ payload: i, ...(own && { metadata: own }), ...(i === 6 && { name: 'other' }) })),
  );
  const records = await Promise.all(handles.map((handle) => handle.get()));
  expect(records.map((record) => record!.metadata)).toEqual(asked);
  expect(records.map((record) => record!.payload)).toEqual(asked.map((_, i) => i));
  const listed = await queue.list('pending', { metadata: { a: '1' } });
  expect(listed.map(({ id }) => id)).toEqual([0, 1, 6].map((i) => handles[i]!.id));
  const claimed = await queue.claimMany(7);
  expect(claimed.map((job) => job.options.metadata)).toEqual(asked);
  expect(claimed.every((job) => job.plain)).toBe(true);
});

it.each<[string, EnqueueOptions]>([
  ['a priority', { priority: 1 }],
  ['attempts', { maxAttempts: 5 }],
  ['crashes', { maxCrashes: 5 }],
  ['a group', { group: 'g' }],
  ['a unique key', { unique: { key: 'k', for: 'unfinished' } }],
  ['a time to start within', { expiresInMs: 60_000 }],
  ['a lifetime of its result', { resultTtlMs: 60_000 }],
  ['a start', { runAt: Date.now() - 1_000 }],
])('beside %s makes no plain job, and the option counts', async (_, options) => {
  const queue = newQueue();
  const handle = await queue.enqueue(1, { metadata, ...options });
  const [job] = await queue.claimMany(1);
  expect(job).toMatchObject({ plain: false, options: { metadata } });
  await queue.complete(job!);
  expect((await handle.get())!.metadata).toEqual(metadata);
  if (options.unique) {
    expect((await queue.enqueue(2, options)).outcome).toBe('new');
  }
});

it('hides no option that its object inherits, such as from defaults of the app', async () => {
  const defaults: EnqueueOptions = { priority: 5 };
  const options = Object.assign(Object.create(defaults) as EnqueueOptions, { metadata });
  expect(await (await newQueue().enqueue(1, options)).get()).toMatchObject({ priority: 5, metadata });
});

it.each<[string, (queue: JobQueue, id: string) => Promise<unknown>]>([
  ['a checkpoint', checkpointAndRelease],
  ['a priority that is set', (queue, id) => queue.setPriority(id, 5)],
  ['another run', completeAndRunAgain],
  ['a redrive', failAndRedrive],
  ['a job that waits for it', (queue, id) => queue.enqueue(2, { after: [id] })],
  ['a replacement', (queue) => queue.enqueue(2, { metadata, unique: inAnHour })],
])('is kept through %s, after which the job is plain no more', async (_, change) => {
  const queue = newQueue();
  const { id } = await queue.enqueue(1, { metadata, unique: inAnHour });
  await change(queue, id);
  const [job] = await queue.claimMany(1);
  expect(job).toMatchObject({ id, plain: false, options: { metadata } });
});

it.each<[unknown, string]>([
  ['text', 'metadata'],
  [[1], 'metadata'],
  [{ a: 5 }, 'metadata.a'],
  [{ a: '\ud800' }, 'metadata.a'],
  [{ 'a b': '' }, 'metadata'],
  [{ ['k'.repeat(129)]: '' }, 'metadata'],
  [JSON.parse('{"__proto__":"x"}'), 'metadata'],
  [Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, ''])), 'metadata'],
  [{ a: 'x'.repeat(8_192) }, 'metadata'],
])('refuses %j', async (value, subject) => {
  const error: unknown = await newQueue()
    .enqueue(1, { metadata: value as never })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect((error as InvalidOptionError).subject).toBe(`enqueue.${subject}`);
});

it('takes the most that is allowed', async () => {
  const queue = newQueue();
  const most = { a: 'x'.repeat(8_191) };
  expect((await (await queue.enqueue(1, { metadata: most })).get())!.metadata).toEqual(most);
});
