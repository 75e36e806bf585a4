// A producer that enqueues a job for each line that it reads. It prints how many it has enqueued, or the error. Argument: the URL
// of Redis.
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';

const redis = new Redis(process.argv[2]!, { maxRetriesPerRequest: null, connectionName: 'producer' });
const queue = new JobQueue(redis, 'mail');
let count = 0;
console.log('ready');
for await (const _ of createInterface({ input: process.stdin })) {
  await queue.enqueue({ count }).then(
    () => console.log(String(++count)),
    (error: Error) => console.log(error.message),
  );
}
redis.disconnect();
