/** @jest-environment ./test/support/own-environment.mjs */
// Each entry point is called in the async context of a request. Code of the app that runs later runs in the context of the one
// who registered it, or in none. Nothing that lives longer than the call keeps the context of the request.
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Redis } from 'ioredis';
import { filter } from 'rxjs';
import {
  JobHandler,
  JobQueueService,
  OnJobEvent,
  OnJobFailed,
  type Job,
  type JobCodec,
  type JobQueue,
} from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { pathOf, routeSamples } from '../../dashboard/route-samples.js';
import { startDashboard } from '../../dashboard/dashboard-app.js';
import { callAt } from '../../support/queue/bad-arguments.js';
import { VERBS } from '../../support/queue/verb-arguments.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { signal, startApp } from '../app.js';
import { someOf } from '../../support/run/samples.js';

const request = new AsyncLocalStorage<string>();
const REQUEST = 'the request';

/** Timers and connections of the context of the request that have not ended, by where each was made. */
const alive = new Map<number, string>();
/** Commands that were sent in the context of the request after its call had ended. */
const late: string[] = [];
let hasEnded = false;
/** The contexts in which the app's own functions ran. */
const seen = new Map<string, string | undefined>();

const LASTING = ['Timeout', 'TCPWRAP', 'TLSWRAP', 'PIPEWRAP'];
const hook = createHook({
  init: (id, type) => {
    const place = LASTING.includes(type) && request.getStore() === REQUEST ? new Error().stack! : 'http';
    // Node's server has timers of its own.
    if (!place.includes('http')) {
      alive.set(id, `${type} ${place}`);
    }
  },
  destroy: (id) => alive.delete(id),
});
const { sendCommand } = Redis.prototype;

beforeAll(() => {
  hook.enable();
  Redis.prototype.sendCommand = function (this: Redis, ...args: Parameters<typeof sendCommand>) {
    if (hasEnded && request.getStore() === REQUEST) {
      late.push(args[0].name);
    }
    return sendCommand.apply(this, args);
  };
});

afterAll(() => {
  hook.disable();
  Redis.prototype.sendCommand = sendCommand;
});

afterEach(() => {
  hasEnded = false;
  alive.clear();
  late.length = 0;
  seen.clear();
});

function note(who: string): void {
  seen.set(who, request.getStore());
}

const name = uniqueQueueName();
const cancelled = uniqueQueueName();
let running = signal();

@JobHandler(name, { maxAttempts: 1 })
class Work {
  async handle(job: Job<{ fails?: boolean; calls?: boolean }>) {
    note('handler');
    if (job.payload?.fails) {
      throw new Error('no');
    }
    if (job.payload?.calls) {
      await request.run(REQUEST, () => callAll(job));
    }
    return 'done';
  }

  @OnJobFailed(name)
  failed() {
    note('failure handler');
  }

  @OnJobEvent(['started', 'completed', 'failed', 'cancelled', 'released'])
  event() {
    note('listener of the worker');
  }
}

/** Calls all that a job offers to its handler, in the context of a request. */
async function callAll(job: Job): Promise<void> {
  await job.progress(50);
  await job.log('a line');
  await job.checkpoint({ at: 1 });
  await job.stream.write('chunk');
  await job.step('once', () => Promise.resolve(1));
  await job.batch?.add(name, {});
  await job.batch?.status();
}

@JobHandler(cancelled)
class Cancelled {
  async handle({ signal: aborted }: Job) {
    await new Promise<void>((resolve) => {
      aborted.addEventListener('abort', () => {
        note('listener of the signal');
        resolve();
      });
      running.resolve();
    });
  }
}

/** A codec that a context could lead astray, such as one with a key for each tenant. */
const codec: JobCodec = {
  name: 'c',
  encode: (content) => {
    note(`codec encodes ${JSON.stringify(content)?.includes('theirs') ? 'theirs' : 'another'}`);
    return { content };
  },
  decode: (stored) => (stored as { content: unknown }).content,
};

interface World {
  app: INestApplication;
  jobs: JobQueueService;
  queue: JobQueue;
}

type Entry = (world: World) => unknown;

/** The entry points of the service. Does not compile without one, nor with one that the service lacks. */
const SERVICE: Record<keyof JobQueueService, Record<string, Entry>> = {
  enqueue: {
    'a job': ({ jobs }) => jobs.enqueue(name, { content: 'theirs' }),
    'a delayed one': ({ jobs }) => jobs.enqueue(name, {}, { delayMs: 50 }),
    'one that fails': ({ jobs }) => jobs.enqueue(name, { fails: true }),
    'one that calls all that it has': async ({ jobs }) => (await jobs.enqueue(name, { calls: true })).result(),
    'into a queue that is new here': ({ jobs }) => jobs.enqueue(uniqueQueueName(), {}),
    'one for a replica': ({ jobs }) => jobs.enqueue(name, {}, { durability: 'replica' }).catch(() => undefined),
  },
  publish: {
    'to nobody': ({ jobs }) => jobs.publish('nobody', {}, { ifNone: 'ignore' }),
    'by a worker': ({ jobs }) => jobs.publish('nobody', {}, { fanOut: 'worker', delayMs: 60_000 }),
  },
  topics: { list: ({ jobs }) => jobs.topics.list('nobody') },
  enqueueMany: { 'two jobs': ({ jobs }) => jobs.enqueueMany(name, [{ payload: {} }, { payload: {} }]) },
  result: {
    'of a job': async ({ jobs }) => jobs.result(name, (await jobs.enqueue(name, {})).id),
    'of one that does not end': async ({ jobs }) =>
      (await jobs.enqueue(name, {}, { delayMs: 60_000 })).result({ timeoutMs: 50 }).catch(() => undefined),
  },
  stream: {
    'of a job': async ({ jobs }) => {
      const { id } = await jobs.enqueue(name, { calls: true });
      for await (const _item of jobs.stream(name, id)) {
        note('loop over a stream');
      }
    },
    subscribe: async ({ jobs }) => {
      const { id } = await jobs.enqueue(name, { calls: true });
      await new Promise<void>((complete) => jobs.stream(name, id).subscribe({ complete }));
    },
  },
  get: { 'a job': ({ jobs }) => jobs.get(name, 'none') },
  cancel: {
    'one that waits': async ({ jobs }) => (await jobs.enqueue(name, {}, { delayMs: 60_000 })).cancel(),
    'one that runs': async ({ jobs }) => {
      running = signal();
      const job = await jobs.enqueue(cancelled, {});
      await running.promise;
      await job.cancel();
      await job.result().catch(() => undefined);
    },
  },
  signal: {
    'a job': async ({ jobs }) => {
      const { id } = await jobs.enqueue(name, {}, { delayMs: 60_000 });
      await jobs.signal(name, id, 'approved', { content: 'theirs' });
      await jobs.cancel(name, id);
    },
  },
  pause: { 'a queue': ({ jobs }) => jobs.pause(name) },
  resume: { 'a queue': ({ jobs }) => jobs.pause(name).then(() => jobs.resume(name)) },
  limits: { 'of a name': ({ jobs }) => jobs.limits('partner').get() },
  startWorkers: { 'which run': ({ jobs }) => jobs.startWorkers() },
  pauseWorker: { here: ({ jobs }) => jobs.pauseWorker(name) },
  resumeWorker: {
    here: ({ jobs }) => {
      jobs.pauseWorker(name);
      jobs.resumeWorker(name);
    },
  },
  setConcurrency: { 'of a queue': ({ jobs }) => jobs.setConcurrency(name, 3) },
  drain: { all: ({ jobs }) => jobs.drain() },
  queue: { 'a new one': ({ jobs }) => jobs.queue(uniqueQueueName()).stats() },
  shards: { 'of a new queue': ({ jobs }) => jobs.shards(uniqueQueueName()) },
  shardOf: { 'a job': ({ jobs }) => jobs.shardOf(name, 'none') },
  queueNames: { all: ({ jobs }) => jobs.queueNames() },
  batch: {
    'that ends': async ({ jobs }) => {
      const batch = jobs.batch({ finally: { name } });
      await batch.addMany(name, [{ payload: {} }, { payload: { calls: true } }]);
      await batch.seal();
      for await (const _each of batch.progress({ everyMs: 50 })) {
        note('loop over progress');
      }
      await batch.wait();
      await batch.results();
    },
    'that is cancelled': async ({ jobs }) => {
      const batch = jobs.batch({ finally: { name } });
      await batch.add(name, {}, { delayMs: 60_000 });
      await batch.seal();
      await batch.cancel();
    },
  },
  findBatch: { 'an unknown one': ({ jobs }) => jobs.findBatch(name, 'none') },
  events: {
    subscribe: ({ jobs }) => jobs.events.subscribe(() => note('listener')),
    'where, and an operator': ({ jobs }) =>
      jobs.events
        .where({ queue: name })
        .pipe(filter(() => true))
        .subscribe(() => note('listener')),
    loop: ({ jobs }) => {
      void (async () => {
        for await (const _event of jobs.events.where({ queue: name, name })) {
          note('loop over events');
        }
      })();
    },
  },
  schedules: {
    upsert: ({ jobs }) => jobs.schedules.upsert(name, 's', { everyMs: 60_000 }, { payload: {} }),
    'upsert, that ticks soon': ({ jobs }) => jobs.schedules.upsert(name, 's', { everyMs: 100 }, { payload: {} }),
    runNow: async ({ jobs }) => {
      await jobs.schedules.upsert(name, 's', { everyMs: 60_000 }, { payload: {} });
      await jobs.schedules.runNow(name, 's');
    },
    remove: ({ jobs }) => jobs.schedules.remove(name, 's'),
  },
  once: { 'without an outbox': ({ jobs }) => jobs.once({}, {} as Job, () => Promise.resolve()) },
};

const entries: [string, Entry][] = [
  ...Object.entries(SERVICE).flatMap(([entry, ways]) =>
    Object.entries(ways).map(([way, call]): [string, Entry] => [`${entry}: ${way}`, call]),
  ),
  ...Object.entries(VERBS).map(([verb, parameters]): [string, Entry] => [
    `queue.${verb}`,
    async ({ queue }) => callAt(queue, verb)(...parameters.map(([sound]) => sound)),
  ]),
  ['health', ({ app }) => app.get(JobQueueHealthIndicator).check('jobs')],
];

/** What runs in the context of its caller. All else runs in none. */
const OWN = new Set([
  'listener',
  'loop over progress',
  'loop over events',
  'loop over a stream',
  'codec encodes theirs',
]);

/** A connection that closes has a timer until it is closed, of two seconds at most. */
const CLOSES_WITHIN_MS = 3_000;

/** Returns what Node has not ended after connections had the time to close. */
async function left(): Promise<string[]> {
  const deadline = performance.now() + CLOSES_WITHIN_MS;
  for (let turn = 0; turn < 3 || (alive.size > 0 && performance.now() < deadline); turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  return [...alive.values()];
}

it.each(someOf(entries, 16))('%s', async (entry, call) => {
  const app = await startApp({ providers: [Work, Cancelled], jobs: { queues: { [name]: { codec } } } });
  const jobs = app.get(JobQueueService);
  await request.run(REQUEST, async () => {
    await Promise.resolve(call({ app, jobs, queue: jobs.queue(name) })).catch(() => undefined);
    hasEnded = true;
  });
  const kept = await left();
  await jobs.resume(name);
  jobs.resumeWorker(name);
  await jobs.enqueueMany(name, [{ payload: {} }, { payload: { fails: true } }, { payload: {}, delayMs: 100 }]);
  const jobsLater = entry.startsWith('drain') ? 0 : 2;
  for (let i = 0; i < jobsLater; i++) {
    await (await jobs.enqueue(name, {}, { delayMs: 100 })).result();
  }
  const contexts = [...seen].filter(([who, context]) => context !== (OWN.has(who) ? REQUEST : undefined));
  await app.close();
  expect({ entry, kept, late, contexts }).toEqual({ entry, kept: [], late: [], contexts: [] });
});

it('the requests of the dashboard', async () => {
  const { url, app } = await startDashboard({
    dashboard: { queues: [name] },
    prepare: (made) =>
      void made.use((_request: unknown, _reply: unknown, next: () => void) => request.run(REQUEST, next)),
  });
  for (const [route, samples] of Object.entries(routeSamples(name))) {
    const [method, path] = pathOf(route);
    for (const [input] of samples) {
      const control = new AbortController();
      const query = method === 'GET' ? `?${new URLSearchParams(input as Record<string, string>).toString()}` : '';
      await fetch(`${url}${path && `/${path}`}${query}`, {
        method,
        signal: control.signal,
        headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1' },
        ...(method === 'POST' && { body: JSON.stringify(input) }),
      });
      if (route.includes('events')) {
        expect(await left()).toEqual([]); // a stream that is open
      }
      control.abort();
    }
  }
  expect(await left()).toEqual([]);
  await app.close();
});
