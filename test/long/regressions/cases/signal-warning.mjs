// Many parallel uses of one signal of the library. Node warns of a leak that is none.
import { setTimeout as sleep } from 'node:timers/promises';
import { JobQueue, Worker } from 'nest-job-queue/core';
import { Redis } from 'ioredis';

const warnings = [];
process.on('warning', ({ name }) => warnings.push(name));
const queue = new JobQueue(new Redis(process.env.REDIS_URL), 'q');
const handle = async ({ signal }) => {
  await Promise.all(Array.from({ length: 11 }, () => sleep(1, undefined, { signal })));
};
const worker = new Worker([{ queue, handlers: { q: handle } }]);
await worker.start();
const job = await queue.enqueue({});
const { signal } = new AbortController();
await Promise.all(Array.from({ length: 500 }, () => job.result({ signal })));
await sleep(1);
console.log(JSON.stringify(warnings));
await worker.stop();
process.exit(0);
