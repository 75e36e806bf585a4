// Producers and workers of the real BullMQ and Bull, from the packages of the benchmark.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fetchPackages } from '../databases/fetched-packages.js';

const ROOT = join(import.meta.dirname, '../../..');

/** A job that runs there. */
export interface OldRun {
  id: string;
  attempt: number;
}

/** A queue of the old library, with one worker. */
export interface OldFleet {
  add(name: string, data: unknown, options: Record<string, unknown>): Promise<unknown>;
  /** Adds a job that comes again. Its name is the id of its scheduler. */
  repeat(name: string, data: unknown, rule: Record<string, unknown>): Promise<unknown>;
  /** Starts a worker. */
  work(concurrency: number, run: (job: OldRun) => Promise<void>): void;
  close(): Promise<void>;
}

/* eslint-disable @typescript-eslint/no-explicit-any -- packages that are no dependency of the library have no types here */
type Any = any;

function load(name: string): Any {
  execFileSync(process.execPath, [join(ROOT, 'bench/install.mjs')], { stdio: 'ignore' });
  return createRequire(join(ROOT, 'bench/package.json'))(name);
}

/** Returns the package BullMQ 6.7 of the benchmark. */
export function loadBullmqOfTests(): Any {
  return load('bullmq');
}

/** Makes a fleet of the last version 5 of BullMQ. It is fetched once, because the benchmark has a later one. */
export async function bullmq5Fleet(queue: string, url: string): Promise<OldFleet> {
  const fetched = await fetchPackages('bullmq5', ['bullmq@5.81.5']);
  return bullmqFleet(queue, url, fetched.require('bullmq'));
}

export function bullmqFleet(queue: string, url: string, library: Any = load('bullmq')): OldFleet {
  const { Queue, Worker } = library;
  const connection = { host: '127.0.0.1', port: Number(new URL(url).port) };
  const producer = new Queue(queue, { connection });
  let worker: Any;
  return {
    add: (name, data, options) => producer.add(name, data, options),
    repeat: (name, data, rule) => producer.upsertJobScheduler(name, rule, { name, data }),
    work: (concurrency, run) => {
      const processed = (job: Any) => run({ id: job.id, attempt: job.attemptsMade + 1 });
      worker = new Worker(queue, processed, { connection, concurrency });
      worker.on('error', () => undefined);
    },
    close: async () => {
      await worker?.close();
      await producer.close();
    },
  };
}

export function bullFleet(queue: string, url: string): OldFleet {
  const Bull = load('bull');
  const old = new Bull(queue, url);
  return {
    add: (name, data, options) => old.add(name, data, options),
    repeat: (name, data, rule) => old.add(name, data, { repeat: rule }),
    work: (concurrency, run) => {
      void old.process('*', concurrency, (job: Any) => run({ id: String(job.id), attempt: job.attemptsMade + 1 }));
    },
    close: () => old.close(),
  };
}

/** Makes a fleet of bee-queue. Its jobs have no names, and its schedules no counterpart. */
export async function beeFleet(queue: string, url: string): Promise<Omit<OldFleet, 'repeat'>> {
  const BeeQueue = load('bee-queue');
  const options = { redis: { url }, getEvents: false, sendEvents: false, storeJobs: false };
  const producer = new BeeQueue(queue, { ...options, isWorker: false });
  const worker = new BeeQueue(queue, { ...options, activateDelayedJobs: true, removeOnSuccess: true });
  worker.on('error', () => undefined);
  await Promise.all([producer.ready(), worker.ready()]);
  return {
    add: (_name, data, { id, retries, delayMs, backoffMs }) => {
      const job = producer.createJob(data).setId(id).retries(retries);
      if (backoffMs !== undefined) job.backoff('fixed', backoffMs);
      if (delayMs !== undefined) job.delayUntil(Date.now() + Number(delayMs));
      return job.save();
    },
    work: (concurrency, run) => {
      // Attempts are counted down there, from three.
      worker.process(concurrency, (job: Any) => run({ id: job.id, attempt: 3 - job.options.retries }));
    },
    close: async () => {
      await worker.close(5_000);
      await producer.close();
    },
  };
}
