// Worker processes of apps/worker.ts whose supervisor is the test's own process.
import { afterEach } from '@jest/globals';
import { JobQueue } from 'nest-job-queue';
import {
  runWorkers,
  type RunWorkersOptions,
  type WorkerProcessEvent,
  type WorkerProcesses,
} from 'nest-job-queue/workers';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { patiently } from '../../support/faults/wait.js';
import { COMPILED_APP } from './compiled-app.js';

export const SOON = { timeoutMs: 40_000 };

export interface SteeredWorkers {
  workers: WorkerProcesses;
  queue: JobQueue;
  /** All that happened since the start. */
  events: WorkerProcessEvent[];
  /** Waits for the first event of a type. */
  happened: <Type extends WorkerProcessEvent['type']>(type: Type) => Promise<WorkerProcessEvent & { type: Type }>;
}

const started = new Set<WorkerProcesses>();

afterEach(async () => {
  await Promise.all([...started].map((workers) => workers.stop()));
  started.clear();
});

/** Starts no process yet: `workers.resize()` does. They are stopped after the test. */
export async function steerWorkers(options: RunWorkersOptions = {}): Promise<SteeredWorkers> {
  const queue = new JobQueue(connect(), uniqueQueueName());
  const common = { REDIS_URL: testRedisUrl(), TEST_QUEUE: queue.name };
  const { env = {} } = options;
  const workers = await runWorkers(class {}, {
    processes: 0,
    entry: COMPILED_APP,
    ownsProcess: false,
    restartDelayMs: 10,
    logger: false,
    ...options,
    env: (name) => ({ ...common, ...(typeof env === 'function' ? env(name) : env) }),
  });
  started.add(workers);
  const events: WorkerProcessEvent[] = [];
  workers.events.subscribe((event) => events.push(event));
  const ofType = <Type extends WorkerProcessEvent['type']>(type: Type) =>
    events.find((event): event is WorkerProcessEvent & { type: Type } => event.type === type);
  return { workers, queue, events, happened: (type) => patiently(() => ofType(type), SOON) };
}
