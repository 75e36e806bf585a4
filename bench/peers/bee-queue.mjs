// bee-queue with the fastest of its documented settings: saveAll, producers without events, no jobs stored in the process.
import { createRequire } from 'node:module';
import BeeQueue from 'bee-queue';

export const name = 'bee-queue';
export const { version } = createRequire(import.meta.url)('bee-queue/package.json');
export const keepsAll = true;
export const settings = {
  enqueue: 'saveAll for bulk, save for single jobs; storeJobs and getEvents off',
  history: 'keeps all, as a cap does not exist: removeOnSuccess would keep none',
  events: 'sendEvents off, since nobody listens',
  worker: 'process(concurrency); activateDelayedJobs and delayedDebounce 1 where jobs are delayed',
};
/** Other documented settings, for `npm run bench -- --trials bee-queue`. */
export const alternatives = {
  'send-events': { text: 'sendEvents on, its default: an event for each completed job', sendEvents: true },
  'store-jobs': { text: 'storeJobs on, its default', common: { storeJobs: true } },
  'get-events': { text: 'getEvents on in the producer, its default', common: { getEvents: true } },
};

export async function open({ url, queue: queueName, delays = false, trial = {} }) {
  const common = { redis: { url }, getEvents: false, storeJobs: false, ...trial.common };
  const queue = new BeeQueue(queueName, { ...common, isWorker: false });
  await queue.ready();
  const saveAll = async (jobs) => {
    const errors = await queue.saveAll(jobs);
    if (errors.size > 0) throw new Error(`bee-queue did not save ${errors.size} jobs`);
  };

  return {
    enqueueOne: (data) => queue.createJob(data).save(),
    enqueueParallel: (payloads) => Promise.all(payloads.map((data) => queue.createJob(data).save())),
    enqueueBulk: (payloads) => saveAll(payloads.map((data) => queue.createJob(data))),
    enqueueDelayed: (payloads, ms) =>
      saveAll(payloads.map((data) => queue.createJob(data).delayUntil(Date.now() + ms))),
    async prepareWorker({ concurrency, handler }) {
      const delayed = delays ? { activateDelayedJobs: true, delayedDebounce: 1 } : {};
      const worker = new BeeQueue(queueName, { ...common, ...delayed, sendEvents: trial.sendEvents ?? false });
      worker.on('error', (error) => console.error('bee-queue worker:', error.message));
      await worker.ready();
      return {
        start: () => worker.process(concurrency, (job) => handler(job.data)),
        stop: () => worker.close(5_000),
      };
    },
    async counts() {
      const { waiting, active, delayed, succeeded, failed } = await queue.checkHealth();
      return { waiting, active, scheduled: delayed, completed: succeeded, failed };
    },
    shrink: async () => {},
    close: () => queue.close(),
  };
}
