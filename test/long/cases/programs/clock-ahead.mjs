// The server's clock was two hours ahead for a moment. Schedules and limits continue within a period.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const redis = new Redis(process.env.REDIS_URL);
const queue = new JobQueue(redis, `case-clock-${process.pid}`);
const ran = { tick: 0, api: 0 };
const worker = new Worker([{ queue, handlers: { tick: () => void ran.tick++, api: () => void ran.api++ } }]);
await worker.start();
await queue.schedules.upsert('tick', { everyMs: 500 }, { name: 'tick' });
await queue.limits.set({ rateLimit: { limit: 10, periodMs: 1_000 } });
await queue.enqueue({}, { name: 'api' });
while (ran.tick < 1 || ran.api < 1) await sleep(20);

const ahead = Date.now() + 7_200_000;
await redis.zadd(`queue:${queue.name}:schedule_due`, Math.ceil(ahead / 500) * 500, 'tick');
await redis.hset(`queue:${queue.name}:settings`, 'rate_tat_us', String(ahead * 1_000));
Object.assign(ran, { tick: 0, api: 0 });
await queue.enqueue({}, { name: 'api' });
const until = Date.now() + 20_000;
while ((ran.tick < 3 || ran.api < 1) && Date.now() < until) await sleep(20);
assert.equal(ran.api, 1, 'a rate that was spent by a wrong clock opens');
assert.ok(ran.tick >= 3, `a schedule that a wrong clock put off ticks again; it ticked ${ran.tick} times`);

await worker.stop();
await queue.purge({ confirm: queue.name });
queue.close();
redis.disconnect();
