// This library's core, without Nest, from a built checkout: this one, or another state of it (`--beside`).
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { observers, watchBy } from './observers.mjs';

const settings = {
  enqueue: 'enqueueMany for bulk, enqueue for single jobs',
  history: 'completedHistory: keep',
  events: "events: 'listened', the default: published once somebody subscribes; nobody does",
  worker: 'one Worker with `concurrency`; prefetch, sweep, heartbeat and all guarantees at their defaults',
};

/** The same work with groups or limits, for `--flow`. The rate is above the throughput, so no job waits for it. */
const flows = {
  grouped: {
    text: '100 groups, each of which runs one job at a time, as in groupmq',
    groups: 100,
    limits: { groups: { maxRunning: 1 } },
  },
  'many-groups': { text: 'the same with 1,000 groups', groups: 1_000, limits: { groups: { maxRunning: 1 } } },
  limited: {
    text: 'a rate of 100,000 jobs a second, which is not reached',
    limits: { rateLimit: { limit: 100_000, periodMs: 1_000, burst: 100_000 } },
  },
};

/** Returns the adapter of this checkout. */
export const loadOurs = () => loadFrom(new URL('../../', import.meta.url), 'nest-job-queue (core)');

/** Returns the adapter of the checkout that `--beside` names. Agents get the folder from the environment. */
export const loadBeside = () =>
  loadFrom(pathToFileURL(`${process.env.BENCH_BESIDE}/`), `nest-job-queue (core) of ${process.env.BENCH_BESIDE}`);

/** A process has one SDK for all of its queues. */
const watches = {};

async function loadFrom(root, name) {
  // The entry point without Nest. An earlier version that is measured beside this one may have none.
  const core = new URL('dist/esm/core.js', root);
  const { JobQueue, Worker } = await import(existsSync(core) ? core : new URL('dist/esm/index.js', root));
  const manifest = new URL('package.json', root);
  // The copy of ioredis that the library uses, because an application has one copy.
  const { Redis, Cluster } = createRequire(manifest)('ioredis');
  return {
    name,
    version: JSON.parse(readFileSync(manifest, 'utf8')).version,
    /** False while the build does not export the core yet. */
    available: typeof JobQueue === 'function' && typeof Worker === 'function',
    settings,
    flows,
    /** Ways to watch it, for `--observed`. */
    alternatives: observers,
    async open(options) {
      const watched = await (watches[options.trial?.text ?? ''] ??= watchBy(options.trial ?? {}, root));
      return open({ JobQueue, Worker, Redis }, options, watched);
    },
    openMany: (options) => openMany({ JobQueue, Worker, Redis, Cluster }, options),
  };
}

/** Opens many queues of one server or Cluster. */
function openMany({ JobQueue, Worker, Redis, Cluster }, { nodes, names }) {
  const redis = nodes.length > 1 ? new Cluster(nodes) : new Redis(nodes[0]);
  const queues = names.map((name) => new JobQueue(redis, name));
  return {
    async work(handler) {
      const run = (job) => handler(job.payload);
      const worker = new Worker(queues.map((queue) => ({ queue, handlers: { [queue.name]: run } })));
      await worker.start();
    },
    enqueue: (i, payload) => queues[i].enqueue(payload),
  };
}

async function open({ JobQueue, Worker, Redis }, { url, queue: queueName, keep, events, trial = {} }, watched) {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new JobQueue(redis, queueName, {
    completedHistory: keep,
    events: events ? 'listened' : 'off',
    ...watched.queue,
  });
  await (queue.calls ?? queue.scripts).call(queue); // a version before `calls` may be measured beside this one
  if (trial.limits) await queue.limits.set(trial.limits);
  const grouped = (payload) => (trial.groups ? { group: `g${payload.n % trial.groups}` } : undefined);
  const many = (payloads, options) =>
    watched.enqueue(() =>
      queue.enqueueMany(payloads.map((payload) => ({ payload, ...grouped(payload), ...options }))),
    );
  const one = (payload) => watched.enqueue(() => queue.enqueue(payload));

  return {
    enqueueOne: one,
    enqueueParallel: (payloads) => Promise.all(payloads.map(one)),
    enqueueBulk: (payloads) => many(payloads),
    enqueueDelayed: (payloads, delayMs) => many(payloads, { delayMs }),
    async prepareWorker({ concurrency, prefetch, handler, heldBack }) {
      const handlers = { [queueName]: watched.handler((job) => handler(job.payload)) };
      const worker = new Worker([{ queue, concurrency, prefetch, handlers }], watched.worker(queue));
      // Connected but held back like the other workers, so that the start is not measured.
      if (!heldBack) return { start: () => void worker.start(), stop: () => worker.stop() };
      await queue.pause();
      await worker.start();
      return { start: () => void queue.resume(), stop: () => worker.stop() };
    },
    pause: () => queue.pause(),
    resume: () => queue.resume(),
    async counts() {
      const { pending, processing, scheduled, completed, failed } = await queue.stats();
      return { waiting: pending, active: processing, scheduled, completed, failed };
    },
    shrink: async () => {},
    async close() {
      queue.close();
      redis.disconnect();
    },
  };
}
