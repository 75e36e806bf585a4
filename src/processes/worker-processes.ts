import type { Serializable } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import { SafeObservable } from '../nest/service/job-events.js';
import { SafeLogger } from '../queue/errors/safe-logger.js';
import { isWorkerProcess, runChild, type EntryModule } from './child.js';
import type { WorkerBootError, ServingWorker, WorkerProcessEvent } from './messages.js';
import { MetricsServer } from './metrics.js';
import {
  type ResolvedRunWorkersOptions,
  checkResize,
  resolveRunWorkersOptions,
  type RunWorkersOptions,
} from './options.js';
import { WorkerProcess, type WorkerProcessState } from './worker-process.js';

/**
 * The time a process may take to give its metrics, in ms. Prometheus waits for 10 s by default. A process whose Redis is
 * away takes the `enqueueTimeoutMs` of its queues, 5 s by default.
 */
const METRICS_MS = 7_000;

/** The present state of one worker process. */
export interface WorkerProcessStatus {
  /** The name of the process, such as `worker-1`. */
  name: string;
  /** Undefined while it is not alive. */
  pid: number | undefined;
  /** The state of the process. */
  state: WorkerProcessState;
  /** The number of times it was started again. */
  restarts: number;
}

/** The end of all processes. */
export interface WorkersEnd {
  /** 0 when all processes stopped in time and none gave up, else 1. */
  exitCode: 0 | 1;
  /** The processes that had to be killed, or stopped with an error. */
  unclean: string[];
  /** The reason why they were given up, if they were. */
  error?: WorkerBootError;
}

/**
 * The worker processes that `runWorkers` started and supervises.
 *
 * @example
 * const workers = await runWorkers(AppModule, { processes: 4, ownsProcess: false });
 * workers.status(); // [{ name: 'worker-1', pid: 4711, state: 'running', restarts: 0 }, …]
 * workers.events.subscribe((event) => console.log(event)); // { type: 'ended', name: 'worker-2', signal: 'SIGKILL', … }
 * await workers.resize(2);
 * await workers.stop();
 */
export class WorkerProcesses {
  /** Resolves when all have ended, because of `stop()`, of a signal, or because they were given up. */
  readonly ended: Promise<WorkersEnd>;
  /** The events of the processes, from the subscription on; completes when all have ended. */
  readonly events: Observable<WorkerProcessEvent>;
  private readonly subject = new Subject<WorkerProcessEvent>();
  /** The processes in the order of their numbers. */
  private readonly processes: WorkerProcess[] = [];
  private readonly readyFile: ReadyFile;
  private readonly logger = SafeLogger.of(new Logger('Workers'));
  private readonly deadWorkers = new DeadWorkers(() => this.processes, this.logger);
  private resolveEnded!: (end: WorkersEnd) => void;
  private stopping = false;
  private wasReady = false;
  private error: WorkerBootError | undefined;
  private readonly waiting = new Set<() => void>();

  /** @internal `runWorkers` makes it. */
  constructor(
    private readonly options: ResolvedRunWorkersOptions,
    private readonly metrics?: MetricsServer,
  ) {
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    this.events = new SafeObservable(
      (error) =>
        this.logger.error(
          'A listener of worker process events threw an error; the others got the event. Catch errors inside the listener',
          error,
        ),
      (subscriber) => {
        const subscription = this.subject.subscribe(subscriber);
        return () => subscription.unsubscribe();
      },
    );
    this.readyFile = new ReadyFile(options.readyFile);
    this.readyFile.set(false);
    if (metrics) {
      metrics.scrape = () => Promise.all(this.processes.map((each) => each.scrape(METRICS_MS)));
      void this.ended.then(() => metrics.close());
    }
    this.grow(options.processes);
  }

  /** Returns whether the worker of every process runs now, and is connected to Redis. */
  get ready(): boolean {
    return !this.stopping && this.wanted.every(({ state }) => state === 'running');
  }

  /**
   * Waits until the worker of every process runs and is connected to Redis.
   *
   * @throws WorkerBootError when they were given up
   * @returns false when they were stopped before
   */
  whenReady(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.error) {
          // Rejects once all have stopped, so that callers need no clean-up after an error.
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

  /** The address of the metrics of all processes; undefined without the option `metrics`. */
  get metricsUrl(): string | undefined {
    return this.metrics?.url;
  }

  /** Returns the state of each process. */
  status(): WorkerProcessStatus[] {
    return this.processes.map(({ name, pid, state, restarts }) => ({ name, pid, state, restarts }));
  }

  /**
   * Sets the number of processes: starts missing ones, and stops those with the highest numbers. Does nothing after
   * `stop()`.
   *
   * @param options.stopTimeoutMs how long a surplus process may take. Default: that of `runWorkers`
   * @returns once all surplus processes have ended. An earlier call may have stopped some of them. New ones may still boot
   * @throws InvalidOptionError
   */
  async resize(processes: number, options: { stopTimeoutMs?: number | undefined } = {}): Promise<void> {
    checkResize(processes, options);
    if (this.stopping) {
      return;
    }
    const { stopTimeoutMs = this.options.stopTimeoutMs } = options;
    const stay = this.wanted.slice(0, processes);
    const tooMany = this.processes.filter((each) => !stay.includes(each));
    const ends = tooMany.map((each) => this.remove(each, stopTimeoutMs));
    this.grow(processes);
    this.onChange();
    await Promise.all(ends);
  }

  /**
   * Kills one process (SIGKILL), in the middle of whatever it does. A new one takes its place, unless it is stopping.
   *
   * @returns whether there was one of that name alive
   */
  killOne(name: string): boolean {
    const alive = this.processes.find((each) => each.name === name && each.pid !== undefined);
    alive?.kill('this was asked for');
    return alive !== undefined;
  }

  /**
   * Sends a message to the app in one process, or in each; there `process.on('message', …)` gets it, once it listens.
   * The way back is `process.send(…)` there and `events` here.
   */
  send(message: Serializable, name?: string): void {
    this.processes.filter((each) => name === undefined || each.name === name).forEach((each) => each.post(message));
  }

  /**
   * Stops all. Running handlers may finish within the app's `shutdownTimeoutMs`. Then they are aborted and their jobs
   * released. A process that is still there after `stopTimeoutMs` is killed.
   */
  async stop(): Promise<WorkersEnd> {
    if (!this.stopping) {
      this.stopping = true;
      this.readyFile.set(false);
      void this.end();
      this.onChange();
    }
    return this.ended;
  }

  /** Kills all processes and starts no more, without waiting for `stop()`. */
  kill(): void {
    void this.stop();
    this.processes.forEach((each) => each.kill('this was asked for'));
  }

  /** The processes that are to stay. */
  private get wanted(): WorkerProcess[] {
    return this.processes.filter(({ wanted }) => wanted);
  }

  private grow(size: number): void {
    for (let number = 1; this.wanted.length < size; number++) {
      const name = `${this.options.name}-${number}`;
      // A process that still stops keeps its name.
      if (!this.processes.some((each) => each.name === name)) {
        const added: WorkerProcess = new WorkerProcess(name, this.options, {
          changed: () => this.onChange(),
          report: (event) => this.subject.next(event),
          bootFailed: (error) => this.failBoot(error),
          ended: (workers) => this.deadWorkers.add(added, workers),
          reclaimed: (worker, error) => this.deadWorkers.reclaimed(added, worker, error),
        });
        this.processes.splice(number - 1, 0, added);
        added.start();
      }
    }
  }

  private async remove(excess: WorkerProcess, stopTimeoutMs: number): Promise<void> {
    await excess.stop(stopTimeoutMs);
    // An earlier resize may have stopped it too.
    const at = this.processes.indexOf(excess);
    if (at >= 0) {
      this.processes.splice(at, 1);
    }
  }

  private async end(): Promise<void> {
    const processes = [...this.processes];
    const clean = await Promise.all(processes.map((each) => each.stop(this.options.stopTimeoutMs)));
    const unclean = processes.filter((_, i) => !clean[i]).map(({ name }) => name);
    this.logger.log(
      `All worker processes have ended${unclean.length > 0 ? `, some with an error: ${unclean.join(', ')}` : ''}`,
    );
    this.subject.complete();
    this.resolveEnded({ exitCode: unclean.length > 0 || this.error ? 1 : 0, unclean, error: this.error });
  }

  private failBoot(error: WorkerBootError): void {
    if (!this.stopping) {
      this.error = error;
      this.logger.error(`${error.message} All worker processes are stopped.`);
      void this.stop();
    }
  }

  private onChange(): void {
    if (!this.stopping && this.ready !== this.wasReady) {
      this.wasReady = this.ready;
      this.readyFile.set(this.ready);
      if (this.ready && this.wanted.length > 0) {
        this.logger.log(`All ${this.wanted.length} worker processes run`);
      }
    }
    this.deadWorkers.assign();
    this.waiting.forEach((look) => look());
  }
}

/** A file that exists while all is ready, for a probe. */
class ReadyFile {
  private readonly logger = SafeLogger.of(new Logger('Workers'));

  /** @param path undefined: there is none */
  constructor(private readonly path: string | undefined) {}

  set(exists: boolean): void {
    if (this.path === undefined) {
      return;
    }
    try {
      if (exists) {
        writeFileSync(this.path, '');
      } else {
        rmSync(this.path, { force: true });
      }
    } catch (error) {
      this.logger.error(
        `Could not ${exists ? 'write' : 'delete'} the ready file ${this.path}: ${(error as Error).message}. Check its folder and permissions.`,
      );
    }
  }
}

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

/** A second Ctrl-C this many ms after the first means that the user does not want to wait. */
const IMPATIENT_MS = 1_000;

/**
 * Runs the handlers of a Nest app in several supervised processes. It replaces a process that dies or hangs and writes one
 * log. At SIGTERM and SIGINT it lets running handlers finish.
 *
 * Call it in a separate entry file. Each worker process runs that file again. There this call boots the app, without
 * HTTP, and never returns.
 *
 * @returns once the worker of every process runs, in the supervising process only
 * @throws InvalidOptionError; WorkerBootError when a process ends before its worker runs, five times in a row
 * @example
 * // worker.ts
 * import { runWorkers } from 'nest-job-queue';
 * import { AppModule } from './app.module.js';
 *
 * await runWorkers(AppModule, { processes: 4 });
 */
export async function runWorkers(module: EntryModule, options: RunWorkersOptions = {}): Promise<WorkerProcesses> {
  if (isWorkerProcess()) {
    return runChild(module);
  }
  const resolved = resolveRunWorkersOptions(options);
  if (resolved.logger !== undefined) {
    Logger.overrideLogger(resolved.logger);
  }
  const metrics = resolved.metrics && (await MetricsServer.open(resolved.metrics));
  const workers = new WorkerProcesses(resolved, metrics);
  if (resolved.ownsProcess) {
    own(workers);
  }
  if (!(await workers.whenReady()) && resolved.ownsProcess) {
    await new Promise(() => undefined); // a signal came first: this process is about to end
  }
  return workers;
}

/**
 * Ends this process with the workers: at a signal, or when they are given up. A second Ctrl-C kills them. A Ctrl-C at
 */
function own(workers: WorkerProcesses): void {
  let askedAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    askedAt ??= performance.now();
    if (signal === 'SIGINT' && performance.now() - askedAt > IMPATIENT_MS) {
      workers.kill();
    }
    void workers.stop();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const onEnd = ({ exitCode, error }: WorkersEnd): void => {
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    process.exitCode = exitCode;
    if (askedAt !== undefined || error) {
      // Whoever awaits it gets the error first.
      setImmediate(() => process.exit());
    }
  };
  void workers.ended.then(onEnd);
}
