// groupmq with the fastest of its documented settings. Jobs of one group run one after the other, so parallel jobs need
// many groups.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Queue, Worker } from 'groupmq';
import { Redis } from 'ioredis';

// The fastest setting at every concurrency: as many groups as parallel jobs, up to a hundred.
const MOST_GROUPS = 100;
const entry = createRequire(import.meta.url).resolve('groupmq');

export const name = 'groupmq';
export const { version } = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8'));
export const settings = {
  enqueue: 'add; with autoBatch (1,000 for bulk, 100 for parallel adds), as it has no bulk call',
  history: 'keepCompleted and keepFailed: keep',
  events: 'has none in Redis',
  worker: `one Worker with \`concurrency\`; as many groups in turn, at most ${MOST_GROUPS}; orderingMethod none; schedulerIntervalMs 10 where jobs are delayed`,
};

/** Other documented settings, for `npm run bench -- --trials groupmq`. */
export const alternatives = {
  'few-groups': { text: 'at most 20 groups', groupsOf: (concurrency) => Math.min(concurrency, 20) },
  'many-groups': {
    text: 'ten times as many groups as jobs run at once',
    groupsOf: (concurrency) => 10 * concurrency,
  },
  'wide-scan': { text: 'reserveScanLimit of 100', queue: { reserveScanLimit: 100 } },
  'no-atomic-completion': { text: 'atomicCompletion off', worker: { atomicCompletion: false } },
  'no-batches': { text: 'autoBatch off: each add is a call of its own', noBatches: true },
};

export async function open({ url, queue: namespace, keep, concurrency, delays = false, trial = {} }) {
  const groups = trial.groupsOf?.(concurrency) ?? Math.min(concurrency, MOST_GROUPS);
  const connect = () => new Redis(url, { maxRetriesPerRequest: null });
  const connections = [];
  const openQueue = (options) => {
    const redis = connect();
    connections.push(redis);
    return new Queue({
      redis,
      namespace,
      keepCompleted: keep,
      keepFailed: keep,
      orderingMethod: 'none',
      ...trial.queue,
      ...options,
    });
  };
  const queue = openQueue();
  const batched = (size) => openQueue(trial.noBatches ? {} : { autoBatch: { size, maxWaitMs: 1 } });
  const bulk = batched(1_000);
  const parallel = batched(100);
  // A delayed job blocks its group, so each gets its own.
  const job = (data) => ({ groupId: `g${data.n % groups}`, data });
  const addAll = (to, payloads) => Promise.all(payloads.map((data) => to.add(job(data))));

  return {
    enqueueOne: (data) => queue.add(job(data)),
    enqueueParallel: (payloads) => addAll(parallel, payloads),
    enqueueBulk: (payloads) => addAll(bulk, payloads),
    enqueueDelayed: (payloads, delay) =>
      Promise.all(payloads.map((data) => bulk.add({ ...job(data), groupId: `later${data.n}`, delay }))),
    async prepareWorker({ concurrency, handler }) {
      const handle = (reserved) => handler(reserved.data);
      const scheduler = delays ? { schedulerIntervalMs: 10 } : {};
      const worker = new Worker({ queue, concurrency, handler: handle, ...scheduler, ...trial.worker });
      worker.on('error', (error) => console.error('groupmq worker:', error.message));
      return { start: () => void worker.run(), stop: () => worker.close(5_000) };
    },
    async counts() {
      const [waiting, active, scheduled, completed, failed] = await Promise.all([
        queue.getWaitingCount(),
        queue.getActiveCount(),
        queue.getDelayedCount(),
        queue.getCompletedCount(),
        queue.getFailedCount(),
      ]);
      return { waiting, active, scheduled, completed, failed };
    },
    shrink: async () => {},
    async close() {
      await Promise.all([queue.close(), bulk.close(), parallel.close()]);
      for (const redis of connections) redis.disconnect();
    },
  };
}
