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
