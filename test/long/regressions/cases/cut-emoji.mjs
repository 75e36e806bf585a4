// A log line that is cut in the middle of an emoji.
import { JobQueue, Worker } from 'nest-job-queue/core';
import { Redis } from 'ioredis';

const queue = new JobQueue(new Redis(process.env.REDIS_URL), 'q');
const worker = new Worker([{ queue, handlers: { q: (job) => job.log(`${'x'.repeat(999)}😀 end`) } }]);
await worker.start();
const job = await queue.enqueue({});
await job.result();
console.log(JSON.stringify((await job.get()).log.map(({ message }) => message.isWellFormed())));
await worker.stop();
process.exit(0);
