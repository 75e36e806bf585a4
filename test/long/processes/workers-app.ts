// The app of apps/worker.ts in a supervising process of its own, as a user starts it.
import { JobQueue } from 'nest-job-queue';
import { type RunWorkersOptions, type WorkerProcessStatus } from 'nest-job-queue/workers';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { COMPILED_APP } from './compiled-app.js';
import { startProcess, type ShopProcess } from '../../support/browser/shop.js';

export interface WorkersApp {
  supervisor: ShopProcess;
  queue: JobQueue;
  /** Waits until all run, the `time`-th time. */
  allRun(time?: number): Promise<void>;
}

interface Start {
  options?: RunWorkersOptions;
  env?: Record<string, string>;
  /** The file for Node. Default: apps/worker.ts, compiled. */
  command?: string[];
}

export const FROM_TYPESCRIPT = ['--import', './test/support/typescript.mjs', 'test/long/processes/apps/worker.ts'];

export function startWorkers({ options, env, command = [COMPILED_APP] }: Start = {}): WorkersApp {
  const queue = new JobQueue(connect(), uniqueQueueName());
  const supervisor = startProcess('node', command, {
    REDIS_URL: testRedisUrl(),
    TEST_QUEUE: queue.name,
    TEST_OPTIONS: JSON.stringify(options ?? {}),
    ...env,
  });
  return {
    supervisor,
    queue,
    allRun: async (time = 1) => {
      await supervisor.prints(new RegExp(`(All \\d+ worker processes run[^]*){${time}}`));
    },
  };
}

/** Returns the app's first output in which all workers run. */
export async function firstStatus({ supervisor }: WorkersApp): Promise<WorkerProcessStatus[]> {
  const [, json] = await supervisor.prints(/^ready: (\[.*\])$/m);
  return JSON.parse(json!) as WorkerProcessStatus[];
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
