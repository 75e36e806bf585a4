// Worker processes under a supervisor, one of which has all jobs of a queue and dies.
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { runWorkers, type WorkerProcesses } from '#processes/worker-processes.js';
import type { RunWorkersOptions } from '#processes/options.js';
import type { WorkerProcessEvent } from '#processes/messages.js';
import { bundle } from '../bundle.mjs';
import { connect, testRedisUrl, uniqueQueueName } from '../redis/redis.js';
import { eventually, patiently } from '../faults/wait.js';

const APP = join(import.meta.dirname, '../../processes/apps/waiting.ts');
const BOOT = { timeoutMs: 60_000 };
const started = new Set<WorkerProcesses>();

afterEach(async () => {
  await Promise.all([...started].map((workers) => workers.stop()));
  started.clear();
});

/** A fleet of worker processes, each with ten slots. */
export class DyingWorkers {
  readonly queue = new JobQueue(connect(), uniqueQueueName());
  workers!: WorkerProcesses;

  /** Starts `worker-1`, as a fleet of one. */
  async start(options: RunWorkersOptions = {}): Promise<void> {
    this.workers = await runWorkers(class {}, {
      processes: 1,
      entry: await bundle(APP, '.cache/programs/waiting.mjs'),
      ownsProcess: false,
      restartDelayMs: 10,
      logger: false,
      env: { REDIS_URL: testRedisUrl(), TEST_QUEUE: this.queue.name },
      ...options,
    });
    started.add(this.workers);
  }

  /** Adds ten jobs, and waits until all of them run. */
  async fill(count = 10): Promise<void> {
    await this.queue.enqueueMany(Array.from({ length: count }, () => ({ payload: 'wait' })));
    await eventually(async () => (await this.queue.stats()).processing === count);
  }

  until(ask: () => Promise<boolean>): Promise<boolean> {
    return eventually(ask);
  }

  /** Waits until all processes run. */
  async allRun(): Promise<void> {
    await patiently(() => this.workers.ready, BOOT);
  }

  /** Returns the pids of the workers that run jobs, for each job. */
  async pids(): Promise<number[]> {
    const jobs = await this.queue.list('processing', { limit: 100 });
    return jobs.map(({ worker }) => Number(worker?.split(':').at(-2)));
  }

  pidOf(name: string): number | undefined {
    return this.workers.status().find((each) => each.name === name)?.pid;
  }

  /** Kills a process. Returns the ms from its end until its jobs run in other processes. */
  async kill(name: string): Promise<number> {
    const pid = this.pidOf(name)!;
    const jobs = (await this.pids()).length;
    const ended = this.ended(pid);
    process.kill(pid, 'SIGKILL');
    return this.msUntilAgain(await ended, jobs, pid);
  }

  /** Resolves at the end of a process, with its time. */
  ended(pid: number): Promise<number> {
    return this.next('ended', pid);
  }

  /** Resolves when the worker of a process next runs, with its time. */
  running(): Promise<number> {
    return this.next('running');
  }

  private next(type: WorkerProcessEvent['type'], pid?: number): Promise<number> {
    return new Promise((resolve) => {
      const subscription = this.workers.events.subscribe((event) => {
        if (event.type === type && (pid === undefined || event.pid === pid)) {
          subscription.unsubscribe();
          resolve(performance.now());
        }
      });
    });
  }

  async msUntilAgain(sinceMs: number, jobs: number, deadPid: number): Promise<number> {
    await eventually(async () => {
      const pids = await this.pids();
      return pids.length === jobs && !pids.includes(deadPid);
    });
    return performance.now() - sinceMs;
  }
}
