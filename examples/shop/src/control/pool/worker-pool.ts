import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Subject } from 'rxjs';
import { settings } from '../../settings.js';
import type { Conditions, FromWorker } from '../../trouble/messages.js';
import type { PoolEvent } from './pool-event.js';
import { WorkerProcess } from './worker-process.js';

/** A little more than a worker's own `shutdownTimeoutMs`. */
const STOP_MS = 6_000;
const ASK_EVERY_MS = 1_000;
/** How long after a crash its replacement starts; twice as long after each that did not even get ready. */
const RESTART_MS = 500;
const LONGEST_RESTART_MS = 10_000;

/** Worker processes: as many as are wanted, a new one for each that dies, and all under the same conditions. */
@Injectable()
export class WorkerPool implements OnModuleDestroy {
  readonly events = new Subject<PoolEvent>();
  conditions: Conditions = { latencyMs: 400, failRate: 0, hangRate: 0 };
  /** How many jobs all workers so far have completed. */
  processedTotal = 0;
  private wanted = 0;
  private started = 0;
  private failedStarts = 0;
  private restart: NodeJS.Timeout | undefined;
  private readonly processes = new Set<WorkerProcess>();
  private readonly watch = setInterval(() => this.askAll(), ASK_EVERY_MS);

  /** How many there are to be. */
  get size(): number {
    return this.wanted;
  }

  get workers(): WorkerProcess[] {
    return [...this.processes];
  }

  get running(): WorkerProcess[] {
    return this.workers.filter((each) => each.running);
  }

  /** Makes it `size` workers: starts what is missing, stops the youngest that are too many. */
  resize(size: number): void {
    this.wanted = size;
    this.failedStarts = 0;
    clearTimeout(this.restart);
    this.fill();
    for (const each of this.running.slice(size)) void each.stop(STOP_MS);
  }

  configure(change: Partial<Conditions>): void {
    this.conditions = { ...this.conditions, ...change };
    for (const each of this.workers) each.tell({ type: 'conditions', conditions: this.conditions });
  }

  /** Resolves when all have ended; those that need longer than `timeoutMs` are killed. */
  async stop(timeoutMs = STOP_MS): Promise<void> {
    this.wanted = 0;
    clearTimeout(this.restart);
    await Promise.all(this.workers.map((each) => each.stop(timeoutMs)));
  }

  /** Kills a worker in the middle of its work: the named one, else one that has a job. */
  kill(name?: string): WorkerProcess | undefined {
    const { running } = this;
    const victim =
      name === undefined
        ? (running.find((each) => each.job) ?? running[0])
        : running.find((each) => each.name === name);
    if (victim) {
      victim.kill();
      this.events.next({ type: 'killed', worker: victim.name, pid: victim.pid, job: victim.job });
    }
    return victim;
  }

  /** While the HTTP server still listens: a webhook that is under way can arrive. */
  async onModuleDestroy(): Promise<void> {
    clearInterval(this.watch);
    await this.stop();
    this.events.complete();
  }

  private fill(): void {
    while (this.running.length < this.wanted) this.start();
  }

  private start(): void {
    const name = `worker-${++this.started}`;
    const worker: WorkerProcess = new WorkerProcess(name, this.conditions, (message) => this.hear(worker, message));
    this.processes.add(worker);
    this.events.next({ type: 'started', worker: name, pid: worker.pid });
    void worker.exited.then((how) => this.end(worker, how));
  }

  private hear(worker: WorkerProcess, message: FromWorker): void {
    const { name, pid, job } = worker;
    if (message.type === 'ready') {
      this.failedStarts = 0;
      this.events.next({ type: 'ready', worker: name, pid });
    } else if (message.type === 'began' || message.type === 'hangs') {
      if (job) this.events.next({ type: message.type, worker: name, job });
    } else if (message.type === 'ended' && message.completed) {
      this.processedTotal += 1;
    }
  }

  private end(worker: WorkerProcess, how: string | number): void {
    this.processes.delete(worker);
    const { name, job } = worker;
    // Code 0: it was asked to end, by us or by Ctrl-C in the terminal that we share.
    if (worker.state === 'stopping' || how === 0) {
      this.events.next({ type: 'stopped', worker: name });
      return;
    }
    this.events.next({ type: 'died', worker: name, how, job });
    this.failedStarts = worker.state === 'starting' ? this.failedStarts + 1 : 0;
    clearTimeout(this.restart);
    const delay = Math.min(LONGEST_RESTART_MS, RESTART_MS * 2 ** this.failedStarts);
    this.restart = setTimeout(() => this.fill(), delay);
  }

  /** A worker that answers nothing for two visibility timeouts hangs: its job is long with another, so it is replaced. */
  private askAll(): void {
    const patience = Math.max(5, Math.ceil((2 * settings.visibilityMs) / ASK_EVERY_MS));
    for (const worker of this.running) {
      if (worker.state === 'starting') continue;
      if (worker.unanswered > patience) {
        this.events.next({ type: 'silent', worker: worker.name });
        worker.kill();
      } else {
        worker.ask();
      }
    }
  }
}
