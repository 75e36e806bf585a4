import { rmSync, writeFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import type { WorkerBootError } from './boot-error.js';
import type { ResolvedRunWorkersOptions } from './options.js';
import { WorkerProcess, type WorkerProcessState } from './worker-process.js';

/** One worker process as it is now. */
export interface WorkerProcessStatus {
  name: string;
  /** Undefined while it is not alive. */
  pid: number | undefined;
  state: WorkerProcessState;
  /** How often it was started again. */
  restarts: number;
}

/** How it all ended. */
export interface WorkersEnd {
  /** 0 when all processes stopped in time and none gave up, else 1. */
  exitCode: 0 | 1;
  /** The processes that had to be killed, or stopped with an error. */
  unclean: string[];
  /** Why they were given up, where they were. */
  error?: WorkerBootError;
}

/**
 * The worker processes that `runWorkers` started and supervises.
 *
 * @example
 * const workers = await runWorkers(AppModule, { processes: 4, ownsProcess: false });
 * workers.status(); // [{ name: 'worker-1', pid: 4711, state: 'running', restarts: 0 }, …]
 * await workers.stop();
 */
export class WorkerProcesses {
  /** Resolves when all have ended, because of `stop()`, of a signal, or because they were given up. */
  readonly ended: Promise<WorkersEnd>;
  private readonly processes: WorkerProcess[];
  private readonly logger = new Logger('Workers');
  private resolveEnded!: (end: WorkersEnd) => void;
  private stopping = false;
  private wasReady = false;
  private error: WorkerBootError | undefined;
  private readonly waiting = new Set<() => void>();

  /** Made by `runWorkers`. */
  constructor(private readonly options: ResolvedRunWorkersOptions) {
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    this.setReadyFile(false);
    const owner = { changed: () => this.onChange(), gaveUp: (error: WorkerBootError) => this.giveUp(error) };
    this.processes = Array.from(
      { length: options.processes },
      (_, i) => new WorkerProcess(`${options.name}-${i + 1}`, options, owner),
    );
    this.processes.forEach((each) => each.start());
  }

  /** Whether the worker of every process runs now. */
  get ready(): boolean {
    return this.processes.every(({ state }) => state === 'running');
  }

  /**
   * Waits until the worker of every process runs.
   *
   * @throws WorkerBootError when they were given up
   * @returns false when they were stopped before
   */
  whenReady(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.error) {
          // Once all is stopped: nobody should have to clean up after an error.
          void this.ended.then(({ error }) => reject(error!));
        } else if (this.ready || this.stopping) {
          resolve(this.ready);
        } else {
          return;
        }
        this.waiting.delete(look);
      };
      this.waiting.add(look);
      look();
    });
  }

  status(): WorkerProcessStatus[] {
    return this.processes.map(({ name, pid, state, restarts }) => ({ name, pid, state, restarts }));
  }

  /** Stops all: running handlers may finish within `stopTimeoutMs`, what is left then is killed. */
  async stop(): Promise<WorkersEnd> {
    if (!this.stopping) {
      this.stopping = true;
      this.setReadyFile(false);
      void this.end();
      this.onChange();
    }
    return this.ended;
  }

  /** Kills what is alive and starts nothing more: for one who does not want to wait for `stop()`. */
  kill(): void {
    void this.stop();
    this.processes.forEach((each) => each.kill('this was asked for'));
  }

  private async end(): Promise<void> {
    const clean = await Promise.all(this.processes.map((each) => each.stop(this.options.stopTimeoutMs)));
    const unclean = this.processes.filter((_, i) => !clean[i]).map(({ name }) => name);
    this.logger.log(
      `All worker processes have ended${unclean.length > 0 ? `, not in order: ${unclean.join(', ')}` : ''}`,
    );
    this.resolveEnded({ exitCode: unclean.length > 0 || this.error ? 1 : 0, unclean, error: this.error });
  }

  private giveUp(error: WorkerBootError): void {
    if (!this.stopping) {
      this.error = error;
      this.logger.error(`${error.message} All worker processes are stopped.`);
      void this.stop();
    }
  }

  private onChange(): void {
    if (!this.stopping && this.ready !== this.wasReady) {
      this.wasReady = this.ready;
      this.setReadyFile(this.ready);
      if (this.ready) {
        this.logger.log(`All ${this.processes.length} worker processes run`);
      }
    }
    this.waiting.forEach((look) => look());
  }

  private setReadyFile(exists: boolean): void {
    const { readyFile } = this.options;
    try {
      if (readyFile !== undefined && exists) {
        writeFileSync(readyFile, '');
      } else if (readyFile !== undefined) {
        rmSync(readyFile, { force: true });
      }
    } catch (error) {
      this.logger.error(`The ready file cannot be changed: ${(error as Error).message}`);
    }
  }
}
