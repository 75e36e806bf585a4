// A Nest app without work, in a process of its own. It is bare, or has a client of Redis, this library, or @nestjs/bullmq. The last two
// have one queue and its handler. Prints how long the process took until the app was ready, and its memory after three idle seconds.
// Arguments: none, redis, ours or bullmq; the URL of Redis; the name of the queue.
import { createRequire } from 'node:module';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const [kind, url, queue] = process.argv.slice(2);

const modules = {
  none: () => ({ imports: [], providers: [] }),
  async redis() {
    const { Redis } = createRequire(new URL('../../package.json', import.meta.url))('ioredis');
    return { imports: [], providers: [], ready: () => new Redis(url).ping() };
  },
  async ours() {
    const { JobHandler, JobQueueModule } = await import('../../dist/esm/index.js');
    class Work {
      handle() {}
    }
    JobHandler(queue)(Work);
    return { imports: [JobQueueModule.forRoot({ redis: url })], providers: [Work] };
  },
  async bullmq() {
    const { BullModule, Processor, WorkerHost } = await import('@nestjs/bullmq');
    class Work extends WorkerHost {
      async process() {}
    }
    Processor(queue)(Work);
    const { hostname: host, port } = new URL(url);
    const connection = { host, port: Number(port) };
    return {
      imports: [BullModule.forRoot({ connection }), BullModule.registerQueue({ name: queue })],
      providers: [Work],
      ready: (app) => app.get(Work).worker.waitUntilReady(),
    };
  },
};

class App {}
const { ready, ...parts } = await modules[kind]();
Module(parts)(App);
const app = await NestFactory.createApplicationContext(App, { logger: ['error'] });
await ready?.(app);
const bootMs = performance.now();
const { user, system } = process.cpuUsage();
await new Promise((resolve) => setTimeout(resolve, 3_000));
globalThis.gc();
const { rss, heapUsed } = process.memoryUsage();
process.stdout.write(
  JSON.stringify({ bootMs, cpuMs: (user + system) / 1_000, rss: rss / 2 ** 20, heap: heapUsed / 2 ** 20 }),
  () => process.exit(0),
);
