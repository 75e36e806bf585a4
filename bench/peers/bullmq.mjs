// BullMQ as its guide advises: bulk adds, one worker with local concurrency, capped history, ioredis.
import { createRequire } from 'node:module';
import { Queue, Worker } from 'bullmq';

export const name = 'BullMQ';
export const { version } = createRequire(import.meta.url)('bullmq/package.json');
export const settings = {
  enqueue: 'addBulk for bulk, add for single jobs',
  history: 'removeOnComplete and removeOnFail { count: keep }',
  events: 'its event stream, which cannot be turned off; nobody listens',
  worker: 'one Worker with `concurrency`; lock and stalled checks at their defaults',
};

export async function open({ url, queue: queueName, keep }) {
  const { hostname: host, port } = new URL(url);
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const defaultJobOptions = { removeOnComplete: { count: keep }, removeOnFail: { count: keep } };
  const queue = new Queue(queueName, { connection, defaultJobOptions });
  await queue.waitUntilReady();
  const bulk = (payloads, opts) => queue.addBulk(payloads.map((data) => ({ name: 'bench', data, opts })));

  return {
    enqueueOne: (data) => queue.add('bench', data),
    enqueueParallel: (payloads) => Promise.all(payloads.map((data) => queue.add('bench', data))),
    enqueueBulk: (payloads) => bulk(payloads),
    enqueueDelayed: (payloads, delay) => bulk(payloads, { delay }),
    async prepareWorker({ concurrency, handler }) {
      const worker = new Worker(queueName, (job) => handler(job.data), { connection, concurrency, autorun: false });
      worker.on('error', (error) => console.error('bullmq worker:', error.message));
      await worker.waitUntilReady();
      return { start: () => void worker.run(), stop: () => worker.close() };
    },
    async counts() {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'completed', 'failed');
      return { ...counts, waiting: counts.wait ?? counts.waiting, scheduled: counts.delayed };
    },
    shrink: () => queue.trimEvents(0),
    close: () => queue.close(),
  };
}
