import { expect, it } from '@jest/globals';
import {
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  type FleetJobEvent,
  type Job,
  type JobCodec,
  type JobEventFilter,
} from 'nest-job-queue';
import { filter, firstValueFrom, map, take, toArray } from 'rxjs';
import { STUCK_AFTER_MS } from '#worker/attempt/overdue-handler.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { handlerOf, KeptLog, startApp } from '../app.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { inside } from '../../support/queue/inside.js';

async function listeners(queue: string): Promise<number> {
  return Number((await connect().pubsub('NUMSUB', `queue:${queue}:events`))[1]);
}

/** Starts an app without handlers, and returns a function that ends jobs as another process would. */
async function producer() {
  const log = new KeptLog();
  const app = await startApp({ jobs: { maxAttempts: 1 }, log });
  const jobs = app.get(JobQueueService);
  const run = async (queue: string, end: 'complete' | 'fail' = 'complete') => {
    const job = (await jobs.queue(queue).claim())!;
    await (end === 'complete' ? jobs.queue(queue).complete(job) : jobs.queue(queue).fail(job, new Error('no')));
  };
  return { app, jobs, run, log };
}

function throwing(where: string): () => never {
  return () => {
    throw new Error(`a bad listener ${where}`);
  };
}

it('gets events of all known and later queues, and holds a connection only meanwhile', async () => {
  const { jobs, run } = await producer();
  const [known, later] = [uniqueQueueName('known'), uniqueQueueName('later')];
  await jobs.enqueue(known, 1, { id: 'a' });
  const seen: FleetJobEvent[] = [];
  const listening = jobs.events.subscribe((event) => seen.push(event));
  await eventually(async () => (await listeners(known)) === 1);
  await jobs.enqueue(later, 1, { id: 'b' });
  await eventually(async () => (await listeners(later)) === 1);
  await run(known);
  await run(later, 'fail');
  await eventually(() => seen.length === 2);
  expect(seen.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
    { queue: known, id: 'a', name: known, status: 'completed', attempt: 1 },
    { queue: later, id: 'b', name: later, status: 'failed', attempt: 1, error: 'no' },
  ]);
  listening.unsubscribe();
  await eventually(async () => (await listeners(known)) + (await listeners(later)) === 0);
});

it.each<[string, (queue: string) => JobEventFilter, string[]]>([
  ['queue', (queue) => ({ queue }), ['a', 'b', 'c']],
  ['name', () => ({ name: 'email' }), ['a', 'c']],
  ['id', () => ({ id: ['b', 'c', 'nobody'] }), ['b', 'c']],
  ['status', () => ({ status: 'failed' }), ['c']],
  ['all of them', (queue) => ({ queue, name: ['email', 'sms'], id: 'a', status: ['completed'] }), ['a']],
])('is filtered by %s', async (_what, filterOf, ids) => {
  const { jobs, run } = await producer();
  const queue = uniqueQueueName();
  const other = uniqueQueueName('other');
  await jobs.queue(other).enqueue(1, { id: 'x' });
  for (const [id, name] of [
    ['a', 'email'],
    ['b', 'sms'],
    ['c', 'email'],
  ] as const) {
    await jobs.queue(queue).enqueue(1, { id, name });
  }
  const seen: string[] = [];
  jobs.events.where(filterOf(queue)).subscribe(({ id }) => seen.push(id));
  // Told last, so that all others are known by then.
  const last = firstValueFrom(jobs.events.where({ queue, id: 'last' }));
  await jobs.queue(queue).enqueue(1, { id: 'last' });
  await eventually(async () => (await listeners(queue)) === 1);
  await run(other);
  await run(queue);
  await run(queue);
  await run(queue, 'fail');
  await run(queue);
  await last;
  expect(seen.filter((id) => id !== 'last' && id !== 'x')).toEqual(ids);
});

it('decodes an event once for all who watch its job, and never for those who watch another', async () => {
  const decoded: string[] = [];
  const codec: JobCodec = {
    name: 'counted',
    encode: (content) => ({ content }),
    decode: (stored, { field, id }) => {
      decoded.push(`${field} of ${id}`);
      return (stored as { content: unknown }).content;
    },
  };
  const queue = uniqueQueueName();
  @JobHandler(queue)
  class Reporting {
    handle = (job: Job) => job.progress({ half: true });
  }
  const app = await startApp({ jobs: { queues: { [queue]: { codec } } }, providers: [Reporting] });
  const jobs = app.get(JobQueueService);
  const seen: FleetJobEvent[] = [];
  const watch = (which: JobEventFilter) => jobs.events.where(which).subscribe((event) => seen.push(event));
  watch({ queue, id: 'watched' }).unsubscribe();
  for (let i = 0; i < 50; i++) {
    watch({ queue, id: ['watched', 'nobody'], status: 'progress' });
    watch({ queue, id: `other-${i}` });
    watch({ queue, status: 'failed' });
  }
  watch({ queue, id: 'last', status: 'completed' });
  await eventually(async () => (await listeners(queue)) === 1);
  await jobs.enqueue(queue, 1, { id: 'watched' });
  await eventually(() => seen.length === 50);
  await jobs.enqueue(queue, 1, { id: 'last' });
  await eventually(() => seen.length === 51);
  expect(seen[0]).toEqual({
    queue,
    name: queue,
    id: 'watched',
    status: 'progress',
    attempt: 1,
    progress: { half: true },
  });
  expect(new Set(seen).size).toBe(51); // each has an object of its own
  expect(decoded.filter((each) => each.startsWith('progress'))).toEqual(['progress of watched']);
});

it('is filtered by all chained filters', async () => {
  const { jobs, run } = await producer();
  const [queue, other] = [uniqueQueueName(), uniqueQueueName('other')];
  const of = (first: JobEventFilter, second: JobEventFilter) => {
    const seen: string[] = [];
    jobs.events
      .where(first)
      .where(second)
      .subscribe(({ id }) => seen.push(id));
    return seen;
  };
  const seen = {
    ids: of({ queue, id: ['a', 'b'] }, { id: ['b', 'c'] }),
    noId: of({ queue, id: 'a' }, { id: 'b' }),
    statuses: of({ queue, status: ['completed', 'failed'] }, { status: ['failed', 'retry'] }),
    queues: of({ queue: [queue, 'elsewhere'] }, { queue: [queue, other] }),
    noQueue: of({ queue }, { queue: other }),
    names: of({ queue, name: 'email' }, { name: 'sms' }),
  };
  await eventually(async () => (await listeners(queue)) === 1);
  await jobs.queue(queue).enqueueMany(['a', 'b', 'c'].map((id) => ({ payload: 1, id, name: 'email' })));
  await jobs.queue(other).enqueue(1, { id: 'x' });
  await run(other);
  await run(queue);
  await run(queue, 'fail');
  await run(queue);
  await eventually(() => seen.ids.includes('b') && seen.queues.includes('c'));
  expect(seen).toEqual({
    ids: ['b'],
    noId: [],
    statuses: ['b'],
    queues: ['a', 'b', 'c'],
    noQueue: [],
    names: [],
  });
  expect(await listeners('elsewhere')).toBe(0);
});

it('gets an event once of a queue that the process knows only by listening', async () => {
  const { jobs, run } = await producer();
  const queue = uniqueQueueName();
  const seen: string[] = [];
  jobs.events.where({ queue }).subscribe(({ id }) => seen.push(id));
  await eventually(async () => (await listeners(queue)) === 1);
  await jobs.queue(queue).enqueueMany(['a', 'b'].map((id) => ({ payload: 1, id })));
  await run(queue);
  await run(queue);
  await eventually(() => seen.includes('b'));
  expect(seen).toEqual(['a', 'b']);
});

it('can be piped', async () => {
  const { jobs, run } = await producer();
  const queue = uniqueQueueName();
  await jobs.queue(queue).enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  const statuses = firstValueFrom(
    jobs.events.where({ queue }).pipe(
      filter(({ status }) => status === 'completed'),
      map(({ status }) => status),
      take(2),
      toArray(),
    ),
  );
  await eventually(async () => (await listeners(queue)) === 1);
  await run(queue);
  await run(queue, 'fail');
  await run(queue);
  expect(await statuses).toEqual(['completed', 'completed']);
});

it('is an async iterator that keeps events between two steps, and ends with its loop', async () => {
  const { jobs, run } = await producer();
  const queue = uniqueQueueName();
  await jobs.queue(queue).enqueueMany(['a', 'b', 'c'].map((id) => ({ payload: 1, id })));
  const events = jobs.events.where({ queue })[Symbol.asyncIterator]();
  await eventually(async () => (await listeners(queue)) === 1);
  await run(queue);
  await run(queue);
  await run(queue);
  const ids: string[] = [];
  for await (const { id } of events) {
    ids.push(id);
    if (id === 'b') break;
  }
  expect(ids).toEqual(['a', 'b']);
  await eventually(async () => (await listeners(queue)) === 0);
});

it('gets a lost claim, a stuck handler and a released job of another process', async () => {
  const { jobs } = await producer();
  const [name, finish] = [uniqueQueueName(), gate()];
  const timers = holdTimers(STUCK_AFTER_MS);
  const queues = { [name]: { visibilityMs: 900 } };
  const worker = await startApp({
    jobs: { queues, maxAttempts: 1, shutdownTimeoutMs: 500 },
    providers: [handlerOf(name, () => finish.promise)],
  });
  const seen: string[] = [];
  jobs.events.where({ queue: name, name }).subscribe(({ id, status }) => seen.push(`${id} ${status}`));
  await eventually(async () => (await listeners(name)) === 1);
  await jobs.enqueue(name, 1, { id: 'stuck', timeoutMs: 10 });
  await jobs.enqueue(name, 1, { id: 'lost' });
  await jobs.enqueue(name, 1, { id: 'released' });
  const running = (id: string) => jobs.get(name, id).then((job) => job?.status === 'processing');
  await eventually(() => running('lost'));
  await eventually(() => running('released'));
  await connect().hset(`queue:${name}:job:lost`, 'claim_token', 'of another');
  await timers.fire();
  await eventually(() => seen.includes('stuck stuck') && seen.includes('lost lost'));
  const closing = worker.get(JobQueueService).drain();
  await eventually(() => seen.includes('released released'), { timeoutMs: 15_000 });
  finish.open();
  await closing;
  expect(seen.filter((event) => event === 'stuck stuck' || event === 'lost lost')).toHaveLength(2);
});

it('ignores a message that is no event, and an unknown status', async () => {
  const { jobs, run } = await producer();
  const queue = uniqueQueueName();
  await jobs.queue(queue).enqueue(1);
  const told: unknown[] = [];
  jobs.events.where({ queue }).subscribe((event) => told.push(event));
  await eventually(async () => (await listeners(queue)) === 1);
  const { client } = inside(jobs.queue(queue)).connection;
  const { keys } = await inside(jobs.queue(queue)).scripts();
  const bad = ['5', '{"id":5,"status":"completed"}', '{"id":"x","status":"nonsense"}', '{"id":"x","status":{}}'];
  for (const message of bad) await client.publish(keys.events, message);
  await run(queue);
  await eventually(() => told.length > 0);
  expect(told).toEqual([expect.objectContaining({ queue, status: 'completed' })]);
});

it('a listener that throws, also behind an operator, harms nothing, and is logged', async () => {
  const { jobs, run, log } = await producer();
  const queue = uniqueQueueName();
  await jobs.queue(queue).enqueueMany([{ payload: 1 }, { payload: 2 }]);
  let calls = 0;
  const events = jobs.events.where({ queue });
  events.subscribe(throwing('alone'));
  events.pipe(map(({ id }) => id)).subscribe({ next: throwing('behind an operator') });
  events.pipe(map(throwing('in an operator'))).subscribe();
  events.subscribe(() => calls++);
  await eventually(async () => (await listeners(queue)) === 1);
  await run(queue);
  await run(queue);
  await eventually(() => calls === 2);
  for (const where of ['alone', 'behind an operator', 'in an operator']) {
    expect(log.lines.filter((line) => line.includes(`a bad listener ${where}`))).not.toEqual([]);
  }
});

it('ends when the app closes: an observable completes, a loop ends', async () => {
  const { app, jobs } = await producer();
  const queue = uniqueQueueName();
  const completed = new Promise<void>((resolve) => {
    jobs.events.where({ queue }).subscribe({ complete: resolve });
  });
  const step = jobs.events.where({ queue })[Symbol.asyncIterator]().next();
  await eventually(async () => (await listeners(queue)) === 1);
  await app.close();
  await completed;
  expect(await step).toEqual({ done: true, value: undefined });
  await eventually(async () => (await listeners(queue)) === 0);
});

it.each<[string, unknown]>([
  ['events.where', 5],
  ['events.where.queue', { queue: 5 }],
  ['events.where.id', { id: [''] }],
  ['events.where.status', { status: 'done' }],
  ['events.where.job', { job: 'a' }],
])('refuses %s of %j', async (subject, bad) => {
  const { jobs } = await producer();
  let error: unknown;
  try {
    jobs.events.where(bad as JobEventFilter);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect((error as InvalidOptionError).subject).toContain(subject);
});
