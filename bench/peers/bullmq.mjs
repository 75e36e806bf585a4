// BullMQ with the fastest of its documented settings: bulk adds, one Worker with local concurrency, history capped by the Worker.
import { createRequire } from 'node:module';
import { Queue, Worker } from 'bullmq';
import { Cluster, Redis } from 'ioredis';

export const name = 'BullMQ';
export const { version } = createRequire(import.meta.url)('bullmq/package.json');
export const settings = {
  enqueue: 'addBulk for bulk, add for single jobs',
  history: 'removeOnComplete and removeOnFail { count: keep }, given to the Worker',
  events: 'its event stream, which cannot be turned off; nobody listens',
  worker: 'one Worker with `concurrency`; lock and stalled checks at their defaults',
};
/** Other documented settings, for `npm run bench -- --trials bullmq`. */
export const alternatives = {
  'retention-per-job': {
    text: 'removeOnComplete and removeOnFail given to each job: its `opts` is then over 64 bytes',
    retentionPerJob: true,
  },
  'auto-pipelining': { text: 'ioredis with enableAutoPipelining', connection: { enableAutoPipelining: true } },
  'short-stream': { text: 'an event stream of about 100 entries', queue: { streams: { events: { maxLen: 100 } } } },
  'two-workers': { text: 'two Workers in the process, each with half of the concurrency', workers: 2 },
  'long-lock': {
    text: 'lockDuration of 5 minutes, so that locks are renewed less often',
    worker: { lockDuration: 300_000 },
  },
  'no-stalled-check': {
    text: 'skipStalledCheck, which gives up the recovery of crashed jobs: never chosen',
    worker: { skipStalledCheck: true },
  },
};

/** For `--flow`. No job waits for this rate, because it is above the throughput. So only its bookkeeping costs time. */
export const flows = {
  limited: {
    text: 'a limiter of 100,000 jobs a second, which is not reached',
    worker: { limiter: { max: 100_000, duration: 1_000 } },
  },
};

export async function open({ url, queue: queueName, keep, trial = {} }) {
  const { protocol, hostname: host, port } = new URL(url);
  const tls = protocol === 'rediss:' ? { tls: {} } : {};
  const connection = { host, port: Number(port), maxRetriesPerRequest: null, ...tls, ...trial.connection };
  const retention = { removeOnComplete: { count: keep }, removeOnFail: { count: keep } };
  const defaultJobOptions = trial.retentionPerJob ? retention : {};
  const queue = new Queue(queueName, { connection, defaultJobOptions, ...trial.queue });
  await queue.waitUntilReady();
  const bulk = (payloads, opts) => queue.addBulk(payloads.map((data) => ({ name: 'bench', data, opts })));

  function prepareOne(concurrency, handler) {
    const options = {
      connection,
      concurrency,
      autorun: false,
      ...(!trial.retentionPerJob && retention),
      ...trial.worker,
    };
    const worker = new Worker(queueName, (job) => handler(job.data), options);
    worker.on('error', (error) => console.error('bullmq worker:', error.message));
    return worker;
  }

  return {
    enqueueOne: (data) => queue.add('bench', data),
    enqueueParallel: (payloads) => Promise.all(payloads.map((data) => queue.add('bench', data))),
    enqueueBulk: (payloads) => bulk(payloads),
    enqueueDelayed: (payloads, delay) => bulk(payloads, { delay }),
    async prepareWorker({ concurrency, handler }) {
      const count = Math.min(trial.workers ?? 1, concurrency);
      const workers = Array.from({ length: count }, () => prepareOne(Math.ceil(concurrency / count), handler));
      await Promise.all(workers.map((worker) => worker.waitUntilReady()));
      return {
        start: () => workers.forEach((worker) => void worker.run()),
        stop: () => Promise.all(workers.map((worker) => worker.close())),
      };
    },
    async counts() {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'completed', 'failed');
      return { ...counts, waiting: counts.wait ?? counts.waiting, scheduled: counts.delayed };
    },
    shrink: () => queue.trimEvents(0),
    close: () => queue.close(),
  };
}

/** Opens many queues of one server or Cluster. All share a connection for commands. A worker adds one, which waits. */
export function openMany({ nodes, names }) {
  const redisOptions = { maxRetriesPerRequest: null };
  const connection =
    nodes.length > 1 ? new Cluster(nodes, { redisOptions }) : new Redis({ ...nodes[0], ...redisOptions });
  connection.setMaxListeners(0);
  // The braces keep the keys of a queue in one slot.
  const options = names.map((name) => ({ connection, prefix: `{${name}}` }));
  const queues = [];
  return {
    async work(handler) {
      const retention = { removeOnComplete: { count: 1_000 }, removeOnFail: { count: 1_000 } };
      const workers = names.map(
        (name, i) => new Worker(name, (job) => handler(job.data), { ...options[i], ...retention }),
      );
      let failure;
      workers.forEach((worker) => worker.on('error', (error) => (failure = error)));
      await Promise.all(workers.map((worker) => worker.waitUntilReady()));
      if (failure) throw failure;
    },
    enqueue: (i, data) => (queues[i] ??= new Queue(names[i], options[i])).add('bench', data),
  };
}
