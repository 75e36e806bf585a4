import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import {
  runWorkers,
  type WorkerProcessEnded,
  type WorkerProcessEvent,
  type WorkerProcesses,
} from 'nest-job-queue/workers';
import { Subject } from 'rxjs';
import { AppModule } from '../../app.module.js';
import { settings } from '../../settings.js';
import type { Conditions, FromWorker } from '../../trouble/messages.js';
import { Activity } from './activity.js';
import type { PoolEvent } from './pool-event.js';

/** A little more than a worker's own `shutdownTimeoutMs`. */
const STOP_MS = 6_000;

/** The number of workers of a story if none was wanted: one that leaves, and another. */
const STAFF = 2;

export type PoolWorker = ReturnType<WorkerPool['list']>[number];

/**
 * The worker processes of the page, by `runWorkers`: as many as wanted, all under the same conditions. Each dead or
 * hanging process is replaced.
 */
@Injectable()
export class WorkerPool implements OnModuleInit, OnModuleDestroy {
  readonly events = new Subject<PoolEvent>();
  conditions: Conditions = { latencyMs: 400, failRate: 0, hangRate: 0 };
  /** The number of jobs that all workers have completed so far. */
  processedTotal = 0;
  /** The wanted number of processes. */
  size = 0;
  private processes!: WorkerProcesses;
  /** Activities by pid. */
  private readonly activities = new Map<number | undefined, Activity>();

  async onModuleInit(): Promise<void> {
    this.processes = await runWorkers(AppModule, {
      processes: 0,
      entry: new URL('../../worker.js', import.meta.url),
      // This process serves the page, too: it stops them itself.
      ownsProcess: false,
      stopTimeoutMs: STOP_MS,
      // Somebody watches: each crash is followed by a restart soon, and by the next try where that fails.
      stableMs: 0,
      longestRestartDelayMs: 10_000,
      maxBootFailures: 1_000,
      // By then the claim of its job is long with another.
      hangTimeoutMs: Math.max(5_000, 2 * settings.visibilityMs),
      env: () => ({
        SHOP_WORKS: 'yes',
        // One job at a time, like the workers of the Redis pattern, so that a crash affects one job.
        SHOP_CONCURRENCY: '1',
        SHOP_CONDITIONS: JSON.stringify(this.conditions),
      }),
    });
    this.processes.events.subscribe((event) => this.hear(event));
  }

  list() {
    return this.processes.status().map(({ name, pid, state }) => {
      const { job, processed, hangs } = this.activities.get(pid) ?? new Activity();
      return { name, pid, state: hangs && state === 'running' ? ('hanging' as const) : state, job, processed };
    });
  }

  /** Returns the number of live processes. */
  get running(): number {
    return this.processes.status().filter(({ state }) => state !== 'stopping').length;
  }

  /** Changes the number of workers: starts missing ones, or stops those with the highest numbers. */
  async resize(size: number, stopTimeoutMs = STOP_MS): Promise<void> {
    // Other processes would not see the jobs in the memory of this one.
    if (settings.inMemory) return;
    this.size = size;
    const resized = this.processes.resize(size, { stopTimeoutMs });
    // A hanging process does not react to a stop.
    for (const each of this.list()) {
      if (each.state === 'stopping' && this.activities.get(each.pid)?.hangs) this.killNow(each);
    }
    await resized;
  }

  /** Starts two workers if none is wanted. Returns what stops them again, unless the wanted number has changed. */
  staff(): () => void {
    if (this.size > 0) return () => undefined;
    void this.resize(STAFF);
    return () => {
      if (this.size === STAFF) void this.resize(0);
    };
  }

  configure(change: Partial<Conditions>): void {
    this.conditions = { ...this.conditions, ...change };
    this.processes.send({ type: 'conditions', conditions: this.conditions });
  }

  /** Kills a worker at work: the named one, else one that has a job. */
  kill(name?: string): PoolWorker | undefined {
    const alive = this.list().filter(({ pid, state }) => pid !== undefined && state !== 'stopping');
    const victim =
      name === undefined ? (alive.find(({ job }) => job) ?? alive[0]) : alive.find((each) => each.name === name);
    if (victim) this.killNow(victim);
    return victim;
  }

  /** Asks a worker to stop. Its supervisor starts another in its place. Returns whether it runs. */
  replace(name: string): boolean {
    const worker = this.list().find((each) => each.name === name);
    if (worker?.pid === undefined || worker.state === 'stopping') return false;
    this.activityOf(worker.pid).replaced = true;
    return process.kill(worker.pid, 'SIGTERM');
  }

  /** Runs while the HTTP server still listens, so that a webhook in flight can arrive. */
  async onModuleDestroy(): Promise<void> {
    await this.resize(0);
    await this.processes.stop();
    this.events.complete();
  }

  private killNow({ name, pid, job }: PoolWorker): void {
    this.activityOf(pid).killed = true;
    this.processes.killOne(name);
    this.events.next({ type: 'killed', worker: name, pid, job });
  }

  private hear(event: WorkerProcessEvent): void {
    const { name: worker, pid } = event;
    if (event.type === 'running') {
      this.events.next({ type: 'ready', worker, pid });
    } else if (event.type === 'message') {
      this.hearMessage(worker, pid, event.message as FromWorker);
    } else if (event.type === 'ended') {
      this.end(event);
    }
  }

  private hearMessage(worker: string, pid: number | undefined, message: FromWorker): void {
    const activity = this.activityOf(pid);
    activity.hear(message);
    const { job } = activity;
    if (message.type === 'ended') {
      this.processedTotal += message.outcome === 'completed' ? 1 : 0;
    } else if (job) {
      this.events.next({ type: message.type, worker, job });
    }
  }

  private end({ name: worker, pid, code, signal, stopped, killedFor }: WorkerProcessEnded): void {
    const { job, released, killed, replaced } = this.activityOf(pid);
    this.activities.delete(pid);
    if (killed) return; // has been told
    if (killedFor !== undefined) this.events.next({ type: 'silent', worker, pid, why: killedFor, job });
    else if ((stopped || replaced) && code === 0) this.events.next({ type: 'stopped', worker, job: released });
    else this.events.next({ type: 'died', worker, pid, how: signal ?? code ?? 'could not be started', job });
  }

  private activityOf(pid: number | undefined): Activity {
    let activity = this.activities.get(pid);
    if (!activity) {
      activity = new Activity();
      this.activities.set(pid, activity);
    }
    return activity;
  }
}
