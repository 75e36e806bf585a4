// What a server clock that was two hours ahead leaves behind: a tick and a rate. Both end by the clock of now.
import { JobQueue, Worker } from 'nest-job-queue/core';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';

const redis = new Redis(process.env.REDIS_URL);
const queue = new JobQueue(redis, 'q');
let ticks = 0;
let sent = 0;
let works;
const count = (name) => () => {
  if (name === 'tick') ticks++;
  else sent++;
  if (ticks >= 2 && sent >= 1) works?.();
};
const worker = new Worker([{ queue, handlers: { tick: count('tick'), api: count('api') } }]);
await worker.start();
await queue.schedules.upsert('tick', { everyMs: 1_000 }, { name: 'tick' });
await queue.limits.set({ rateLimit: { limit: 10, periodMs: 1_000 } });
await (await queue.enqueue({}, { name: 'api' })).result();
const ahead = Date.now() + 7_200_000;
await redis.zadd('queue:q:schedule_due', Math.ceil(ahead / 1_000) * 1_000, 'tick');
await redis.hset('queue:q:settings', 'rate_tat_us', String(ahead * 1_000));
ticks = sent = 0;
const both = new Promise((resolve) => (works = resolve));
await queue.enqueue({}, { name: 'api' });
await Promise.race([both, sleep(20_000)]);
console.log(JSON.stringify({ ticks: ticks >= 2, sent }));
await worker.stop();
process.exit(0);
