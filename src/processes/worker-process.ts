import type { ChildProcess, Serializable } from 'node:child_process';
import { Logger } from '@nestjs/common';
import { SafeLogger } from '../queue/errors/safe-logger.js';
import { WorkerBootError } from './boot-error.js';
import { describeEnd, forkEntry, type ProcessEnd } from './fork-entry.js';
import { LogStream } from './log-stream.js';
import { MetricsQuestions } from './metrics/question.js';
import type { ScrapedProcess } from './metrics/sum.js';
import {
  fromChild,
  pack,
  reportedError,
  type FromChild,
  type ReportedError,
  type ServingWorker,
  type ToChild,
} from './messages.js';
import type { ResolvedRunWorkersOptions } from './options.js';
import type { WorkerProcessEvent } from './process-event.js';
import { Pulse } from './pulse.js';

/**
 * `starting`: boots, or waits for Redis. `running`: its worker claims jobs. `disconnected`: its worker lost the
 * connection to Redis, and continues when Redis is back. `waiting`: ended, before its restart. `stopping`: finishes its
 * running jobs, permanently or before its restart. `stopped`: ended permanently.
 */
export type WorkerProcessState = 'starting' | 'running' | 'disconnected' | 'waiting' | 'stopping' | 'stopped';

/** Receives the reports of a supervised process. */
interface ProcessOwner {
  changed(): void;
  report(event: WorkerProcessEvent): void;
  bootFailed(error: WorkerBootError): void;
  /** Called when the process has ended, with the workers that ran in it. */
  ended(workers: readonly ServingWorker[]): void;
  /** Called when the process has reclaimed the claims of a dead worker, or could not. */
  reclaimed(worker: string, error: string | undefined): void;
}

/** One supervised process: started, kept alive and replaced, under one name, until it is stopped. */
export class WorkerProcess {
  state: WorkerProcessState = 'waiting';
  /** The number of times it was started again. */
  restarts = 0;
  /** True if it is to live on, or to be started again. */
  wanted = true;
  private child: ChildProcess | undefined;
  private ended: Promise<void> | undefined;
  private stopping: Promise<boolean> | undefined;
  private listens = false;
  /** The workers that run in it. */
  private workers: ServingWorker[] = [];
  private failed: ReportedError | undefined;
  private killedFor: string | undefined;
  private clean = true;
  private runningSince: number | undefined;
  private endsInARow = 0;
  private bootFailures = 0;
  private timer: NodeJS.Timeout | undefined;
  private pulse: Pulse | undefined;
  private readonly logger = SafeLogger.of(new Logger('Workers'));
  private readonly output: LogStream;
  private readonly questions = new MetricsQuestions((id) => this.send({ type: 'metrics', id }));

  constructor(
    readonly name: string,
    private readonly options: ResolvedRunWorkersOptions,
    private readonly owner: ProcessOwner,
  ) {
    this.output = new LogStream(name);
  }

  /** Undefined while it is not alive. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  start(): void {
    const { child, end } = forkEntry(this.name, this.options);
    this.child = child;
    this.state = 'starting';
    this.listens = false;
    this.workers = [];
    this.failed = this.killedFor = this.runningSince = undefined;
    if (child) {
      this.attend(child);
    }
    this.ended = end.then((how) => this.onEnd(how));
    this.owner.changed();
  }

  private attend(child: ChildProcess): void {
    const { bootTimeoutMs, hangTimeoutMs } = this.options;
    this.output.read(child.stdout!, child.stderr!);
    this.pulse = new Pulse(
      hangTimeoutMs,
      () => this.send({ type: 'ping' }),
      () => this.kill(`its event loop gave no answer for ${hangTimeoutMs} ms`),
    );
    this.timer = setTimeout(() => this.kill(`it did not boot within ${bootTimeoutMs} ms`), bootTimeoutMs);
    child.on('message', (received) => {
      const message = fromChild(received);
      if (message) {
        this.take(message);
      } else {
        this.owner.report({ type: 'message', name: this.name, pid: child.pid, message: received });
      }
    });
    this.owner.report({ type: 'started', name: this.name, pid: child.pid });
  }

  /**
   * Stops it within `timeoutMs`; of several calls the earliest deadline holds.
   *
   * @returns whether it stopped in time and without an error
   */
  async stop(timeoutMs: number): Promise<boolean> {
    const late = setTimeout(() => this.kill(`it did not stop within ${timeoutMs} ms`), timeoutMs);
    this.wanted = false;
    this.stopping ??= this.end();
    const clean = await this.stopping;
    clearTimeout(late);
    return clean;
  }

  /** Kills the process. Another one reclaims its jobs. */
  kill(reason: string): void {
    if (this.child && this.killedFor === undefined) {
      this.killedFor = reason;
      this.logger.error(`Killing ${this.name} (${this.pid}): ${reason}`);
      this.child.kill('SIGKILL');
    }
  }

  /** Returns its metrics. They are undefined before its worker has run, and without a reply in time. */
  async scrape(timeoutMs: number): Promise<ScrapedProcess> {
    const { name, pid, restarts } = this;
    const reply = this.child && this.runningSince !== undefined ? await this.questions.read(timeoutMs) : undefined;
    if (reply && 'error' in reply) {
      this.logger.warn(`Could not read the metrics of ${name}: ${reply.error}`);
    }
    return { name, pid, restarts, metrics: reply && 'metrics' in reply ? reply.metrics : undefined };
  }

  /** Hands the app in it a message: `process.on('message')`. */
  post(message: Serializable): void {
    // A channel that closes just now is no fault: the end of the process follows.
    this.child?.send(message, () => undefined);
  }

  /** Asks it to reclaim the claims of a dead worker. */
  reclaim(worker: ServingWorker): void {
    this.send({ type: 'reclaim', worker });
  }

  private async end(): Promise<boolean> {
    clearTimeout(this.timer);
    this.pulse?.stop();
    if (this.child) {
      this.state = 'stopping';
      if (this.listens) {
        this.send({ type: 'stop' });
      } else {
        this.child.kill('SIGKILL'); // its app has not begun yet
      }
      const unstarted = !this.listens;
      await this.ended;
      this.clean ||= unstarted;
    }
    this.state = 'stopped';
    this.owner.changed();
    return this.clean;
  }

  private take(message: FromChild): void {
    switch (message.type) {
      case 'hello':
        this.listens = true;
        break;
      case 'booted':
        clearTimeout(this.timer);
        if (this.state === 'starting') {
          this.pulse?.start();
        }
        break;
      case 'running':
        this.runningSince ??= performance.now();
        this.bootFailures = 0;
        this.turn('running');
        break;
      case 'disconnected':
        this.turn('disconnected');
        break;
      case 'failed':
        this.failed = message.error;
        break;
      case 'stopping':
        this.state = 'stopping';
        this.owner.changed();
        break;
      case 'pong':
        this.pulse?.answered();
        break;
      case 'metrics':
        this.questions.take(message.id, message.reply);
        break;
      case 'serves':
        this.workers.push(message.worker);
        break;
      case 'reclaimed':
        this.owner.reclaimed(message.worker, message.error);
    }
  }

  /** Handles the reports of a process about its worker count until it stops. */
  private turn(state: 'running' | 'disconnected'): void {
    if (this.child && this.state !== 'stopping') {
      this.state = state;
      this.owner.report({ type: state, name: this.name, pid: this.pid });
      this.owner.changed();
    }
  }

  private onEnd(end: ProcessEnd): void {
    clearTimeout(this.timer);
    this.pulse?.stop();
    this.questions.abandon();
    const pid = this.pid;
    const stopped = !this.wanted;
    this.child = undefined;
    if (end.error !== undefined) {
      this.failed = reportedError(end.error);
    }
    let restartInMs: number | undefined;
    if (stopped) {
      this.clean = end.code === 0;
    } else {
      this.state = 'waiting';
      restartInMs = this.afterDeath(this.killedFor ? `was killed: ${this.killedFor}` : describeEnd(end), pid);
    }
    const { name, killedFor, failed: error } = this;
    const { code, signal } = end;
    this.owner.report({ type: 'ended', name, pid, code, signal, stopped, killedFor, error, restartInMs });
    this.owner.ended(this.workers);
    this.owner.changed();
  }

  /** Gives up, or starts it again after a while, which is answered, in ms. */
  private afterDeath(outcome: string, pid: number | undefined): number | undefined {
    const ran = this.runningSince === undefined ? undefined : performance.now() - this.runningSince;
    if (ran === undefined) {
      this.bootFailures++;
    }
    this.endsInARow = ran !== undefined && ran >= this.options.stableMs ? 1 : this.endsInARow + 1;
    if (this.bootFailures >= this.options.maxBootFailures) {
      this.owner.bootFailed(new WorkerBootError(this.name, this.bootFailures, outcome, this.failed));
      return undefined;
    }
    return this.restart(`${this.name} (${pid ?? 'no process'}) ${outcome}`);
  }

  private restart(what: string): number {
    const { restartDelayMs, longestRestartDelayMs } = this.options;
    const delay = Math.min(longestRestartDelayMs, restartDelayMs * 2 ** Math.min(30, this.endsInARow - 1));
    const why = this.failed ? `: ${this.failed.name}: ${this.failed.message}` : '';
    this.logger.warn(`${what}${why}; restarting it in ${delay} ms`);
    this.timer = setTimeout(() => {
      this.restarts++;
      this.start();
    }, delay);
    return delay;
  }

  private send(message: ToChild): void {
    this.post(pack(message));
  }
}
