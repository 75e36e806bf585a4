// Reports that are not awaited, the first time after SCRIPT FLUSH. They are sent again before their job ends.
import { JobQueue, Worker } from 'nest-job-queue/core';
import { Redis } from 'ioredis';

const redis = new Redis(process.env.REDIS_URL);
const queue = new JobQueue(redis, 'l');
const report = (job) => {
  void job.log('imported 10 rows');
  void job.progress(100);
};
const worker = new Worker([{ queue, handlers: { plain: () => 1, report } }]);
await worker.start();
const run = async (name) => {
  const job = await queue.enqueue({}, { name });
  await job.result();
  const { log, progress } = await job.get();
  return [log.length, progress];
};
await redis.script('FLUSH');
await run('plain');
console.log(JSON.stringify([await run('report'), await run('report')]));
await worker.stop();
process.exit(0);
