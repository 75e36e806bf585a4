// A producer and a worker with a real SDK of Sentry. Its transport prints what it sends. Arguments: FOLDER of the SDK, URL of Redis.
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { type SentrySdk, sentryJobs } from '../../../src/sentry.js';
import { startWatchedWorker } from '../../support/worker/watched-worker.js';

interface RealSdk extends SentrySdk {
  init(options: object): void;
  createTransport(options: object, send: (request: { body: string | Uint8Array }) => Promise<object>): object;
  setTag(name: string, value: string): void;
  flush(ms: number): Promise<boolean>;
}

const [folder, url] = process.argv.slice(2) as [string, string];
const Sentry = createRequire(join(folder, 'package.json'))('@sentry/node') as RealSdk;
const items: unknown[] = [];
Sentry.init({
  dsn: 'https://public@sentry.invalid/1',
  tracesSampleRate: 1,
  transport: (options: object) =>
    Sentry.createTransport(options, ({ body }) => {
      const lines = (typeof body === 'string' ? body : new TextDecoder().decode(body)).split('\n');
      items.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown));
      return Promise.resolve({ statusCode: 200 });
    }),
});

const redis = new Redis(url, { maxRetriesPerRequest: null });
const middleware = [sentryJobs(Sentry)];
const queue = new JobQueue(redis, 'mail', { middleware, backoff: { type: 'fixed', delayMs: 0 } });
let hasSlept = false;
const handle = async (job: Job) => {
  const { id, payload } = job;
  const { told } = payload as { told: string };
  Sentry.setTag('tenant', id);
  if (told === 'fails') throw new Error('smtp is down', { cause: new Error('connection refused') });
  if (told === 'steps') {
    await job.step('reserve', () => 1);
    await job.step('charge', () => Promise.reject(new Error('card refused')));
  }
  if (told === 'sleeps' && !hasSlept) {
    hasSlept = true;
    await job.sleep(1);
  }
};
const { worker, untilEnded } = await startWatchedWorker(queue, handle, middleware);
const attributes = {};
await Sentry.startSpan({ name: 'POST /orders', op: 'http.server', attributes }, async () => {
  await queue.enqueue({ told: 'works' }, { id: 'a' });
  await queue.enqueue({ told: 'fails' }, { id: 'b', maxAttempts: 2 });
});
await queue.enqueue({ told: 'steps' }, { id: 'c', maxAttempts: 1 });
await queue.enqueue({ told: 'sleeps' }, { id: 'd', maxAttempts: 1 });
await untilEnded(4);

// Runs of schedules: each ends in another way, and the failed one is redriven.
const withCrons = [sentryJobs(Sentry, { capture: 'dead-letters', checkIns: true })];
const crons = new JobQueue(redis, 'crons', { maxAttempts: 1 });
const ends = new EventEmitter();
let isBroken = true;
const run = async ({ id, payload, signal }: Job) => {
  if (payload === 'fails' && isBroken) throw new Error('no report');
  if (payload === 'is cancelled') void crons.cancel(id);
  if (payload === 'is cancelled' || payload === 'is late') await once(signal, 'abort');
  if (payload === 'is cancelled') throw signal.reason;
};
const cronWorker = new Worker([{ queue: crons, handlers: { crons: run } }], {
  middleware: withCrons,
  onEvent: ({ type, job }) => void ends.emit(type, job),
});
await cronWorker.start();
for (const [payload, end] of [
  ['works', 'completed'],
  ['is cancelled', 'cancelled'],
  ['is late', 'failed'],
  ['fails', 'failed'],
] as const) {
  const ended = once(ends, end);
  const id = payload.replaceAll(' ', '-');
  await crons.schedules.upsert(
    id,
    { everyMs: 86_400_000 },
    { payload, ...(payload === 'is late' && { timeoutMs: 1 }) },
  );
  await crons.schedules.runNow(id);
  const [job] = (await ended) as [Job];
  if (payload === 'fails') {
    isBroken = false;
    const repeated = once(ends, 'completed');
    await crons.deadLetters.redrive(job.id);
    await repeated;
  }
}
await cronWorker.stop();
await Sentry.flush(5_000);
await worker.stop();
redis.disconnect();
process.stdout.write(JSON.stringify(items), () => process.exit(0));
