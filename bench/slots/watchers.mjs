// node bench/slots/watchers.mjs: what an event costs a process in which callers watch single jobs. Open pages do so that each
// show the progress of one. Prints the table of docs/internals/performance.md. Needs `npm run build`.
import { randomBytes } from 'node:crypto';
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { JobHandler, JobQueueModule, JobQueueService, encrypted } from '../../dist/esm/index.js';
import { startRedisServer } from '../../scripts/redis/redis-server.mjs';
import { median } from '../report/stats.mjs';

const WATCHERS = [1, 300, 1_500];
const EVENTS = 3_000;
const ROUNDS = 5;
const PUBLISH = `for _, message in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do redis.call('PUBLISH', ARGV[1], message) end`;

const server = await startRedisServer();
const redis = new Redis(server.url);
const listener = new Redis(server.url);
const codec = encrypted([{ id: 'k', key: randomBytes(32).toString('base64') }]);
const queues = { plain: {}, encrypted: { codec } };

class Reporting {
  handle = (job) => job.progress({ step: 5, of: 10, text: 'converts the pages' });
}
class Plain extends Reporting {}
class Encrypted extends Reporting {}
JobHandler('plain')(Plain);
JobHandler('encrypted')(Encrypted);
class App {}
Module({
  imports: [JobQueueModule.forRoot({ redis: server.url, queues })],
  providers: [Plain, Encrypted],
})(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
const jobs = app.get(JobQueueService);

/** Runs a job for each watcher, and keeps the messages of their progress in a list. */
async function record(name, count) {
  const messages = [];
  listener.on('message', (_, message) => message.includes('"progress"') && messages.push(message));
  await listener.subscribe(`queue:${name}:events`);
  await jobs.enqueueMany(
    name,
    Array.from({ length: count }, (_, i) => ({ payload: {}, id: `${count}-${i}` })),
  );
  while (messages.length < count) await sleep(5);
  await listener.unsubscribe();
  listener.removeAllListeners('message');
  await redis.del('messages');
  for (let i = 0; i < EVENTS; i++) await redis.rpush('messages', messages[i % count]);
}

/** Returns the CPU time of an event, in µs. */
async function usOfEvent(name, count) {
  await record(name, count);
  let heard = 0;
  const watches = Array.from({ length: count }, (_, i) =>
    jobs.events.where({ queue: name, id: `${count}-${i}` }).subscribe(() => heard++),
  );
  while ((await redis.pubsub('NUMSUB', `queue:${name}:events`))[1] !== 1) await sleep(5);
  const rounds = [];
  for (let i = 0; i <= ROUNDS; i++) {
    const [before, cpu] = [heard, process.cpuUsage()];
    await redis.eval(PUBLISH, 1, 'messages', `queue:${name}:events`);
    while (heard < before + EVENTS) await sleep(5);
    const { user, system } = process.cpuUsage(cpu);
    rounds.push((user + system) / EVENTS);
  }
  watches.forEach((each) => each.unsubscribe());
  return median(rounds.slice(1));
}

console.log('| watchers of one job each | an event | of an encrypted queue |\n|---|---|---|');
for (const count of WATCHERS) {
  const [plain, sealed] = [await usOfEvent('plain', count), await usOfEvent('encrypted', count)];
  console.log(`| ${count.toLocaleString('en')} | ${plain.toFixed(0)} µs | ${sealed.toFixed(0)} µs |`);
}
await app.close();
await Promise.all([redis, listener].map((each) => each.quit()));
await server.stop();
