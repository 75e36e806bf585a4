// Redis lost its data, again and again, while workers of limited queues ran. Now and then such a queue started nothing
// for 15 to 25 s. Two claims in flight had found the announcement missing, and the second waited for a call that was over.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const [ROUNDS, LONGEST_MS] = [20, 5_000];
const prefix = `announce-stall-${process.pid}-`;
const clients = [];
const connect = () => {
  clients.push(new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null }));
  return clients.at(-1);
};
const boss = connect();
const logger = { log() {}, warn() {}, error() {} };
const limits = [
  { maxRunning: 2 },
  { groups: { maxRunning: 1 } },
  { rateLimit: { limit: 20, periodMs: 1_000 } },
  { rateLimit: { limit: 20, periodMs: 1_000 }, maxRunning: 2 },
];
const parts = limits.concat(limits).map((options, i) => {
  const name = `${prefix}${i}`;
  const part = { name, starts: 0, producer: new JobQueue(boss, name) };
  const queue = new JobQueue(connect(), name, options);
  const handle = async () => {
    part.starts++;
    await sleep(50);
  };
  part.worker = new Worker([{ queue, concurrency: 10, handlers: { [name]: handle } }], { logger });
  const jobs = Array.from({ length: 60 }, (_, payload) => ({
    payload,
    ...(options.groups && { group: `g${payload % 2}` }),
  }));
  part.fill = () => part.producer.enqueueMany(jobs);
  return part;
});
/** Takes all keys of the queues away in one step, as a server without persistence does when it starts again. */
const lose = () =>
  boss.eval(
    "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end",
    0,
    `queue:${prefix}*`,
  );

for (const { fill, worker } of parts) {
  await fill();
  await worker.start();
}
for (let round = 0; round < ROUNDS; round++) {
  await sleep(200 + Math.random() * 600);
  await lose();
  const lostAt = Date.now();
  parts.forEach((part) => (part.starts = 0));
  await Promise.all(parts.map(({ fill }) => fill()));
  while (parts.some(({ starts }) => starts === 0)) {
    assert.ok(Date.now() - lostAt < LONGEST_MS, `a queue starts no job, ${LONGEST_MS} ms after its data was lost`);
    await sleep(10);
  }
}
await Promise.all(parts.map(({ worker }) => worker.stop({ timeoutMs: 1_000 })));
await lose();
clients.forEach((client) => client.disconnect());
