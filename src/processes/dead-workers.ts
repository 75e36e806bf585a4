import type { SafeLogger } from '../queue/errors/safe-logger.js';
import type { ServingWorker } from './messages.js';
import type { WorkerProcess } from './worker-process.js';

/** The time a process may take to reclaim the claims of a dead worker, in ms. Then another process gets the request. */
const RECLAIM_MS = 30_000;

/** The time from a failed request to the next one, in ms. */
const AGAIN_MS = 1_000;

interface DeadWorker {
  worker: ServingWorker;
  /** The process that has the request; undefined while none has it. */
  asked?: WorkerProcess | undefined;
  timer?: NodeJS.Timeout;
}

/**
 * The workers whose process has ended, until another process has reclaimed their claims. The exit of a process is
 * proof that its workers are gone. So their jobs need not wait until their claims expire.
 *
 * A request is lost with its process, with this process, or while Redis is away. Another process then gets it. Without
 * any process the claims expire.
 */
export class DeadWorkers {
  private readonly open = new Map<string, DeadWorker>();

  constructor(
    private readonly processes: () => readonly WorkerProcess[],
    private readonly logger: SafeLogger,
  ) {}

  /** Takes the workers of a process that has ended, and the requests that it had. */
  add(ended: WorkerProcess, workers: readonly ServingWorker[]): void {
    this.open.forEach((each) => each.asked === ended && this.withdraw(each));
    workers.forEach((worker) => this.open.set(worker.id, { worker }));
    this.assign();
  }

  /** Asks a running process to reclaim what no process reclaims yet. */
  assign(): void {
    const asked = this.processes().find(({ state }) => state === 'running');
    for (const each of this.open.values()) {
      if (asked && !each.asked) {
        each.asked = asked;
        this.askAgain(each, RECLAIM_MS);
        asked.reclaim(each.worker);
      }
    }
  }

  /** Takes the reply of a process. */
  reclaimed(by: WorkerProcess, worker: string, error: string | undefined): void {
    const dead = this.open.get(worker);
    if (dead?.asked !== by) {
      return; // another process has the request now
    }
    clearTimeout(dead.timer);
    if (error === undefined) {
      this.open.delete(worker);
    } else {
      this.logger.warn(
        `Could not reclaim the jobs of worker ${worker}, whose process has ended: ${error}. Trying again.`,
      );
      this.askAgain(dead, AGAIN_MS);
    }
  }

  private askAgain(dead: DeadWorker, ms: number): void {
    clearTimeout(dead.timer);
    dead.timer = setTimeout(() => {
      this.withdraw(dead);
      this.assign();
    }, ms).unref();
  }

  private withdraw(dead: DeadWorker): void {
    clearTimeout(dead.timer);
    dead.asked = undefined;
  }
}
