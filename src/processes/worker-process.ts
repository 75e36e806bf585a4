import { type ChildProcess, type Serializable, fork } from 'node:child_process';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { SafeLogger } from '../queue/errors/safe-logger.js';
import type { BackgroundRole } from '../queue/runtime/background-role.js';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import {
  WorkerBootError,
  type LogLevel,
  decodeLine,
  type FromChild,
  PROCESS_NAME,
  type ReportedError,
  STOP_TIMEOUT,
  type ServingWorker,
  type ToChild,
  fromChild,
  pack,
  reportedError,
  type WorkerProcessEvent,
  MetricsQuestions,
} from './messages.js';
import type { ScrapedProcess } from './metrics.js';
import type { ResolvedRunWorkersOptions } from './options.js';

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

/** The time the last output of an ended process may take, in ms. A child of that process may keep the output open. */
const LAST_OUTPUT_MS = 500;

interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  error?: unknown;
}

/** A process, and how it ends. */
interface Forked {
  /** Undefined if it could not be started. */
  child: ChildProcess | undefined;
  end: Promise<ProcessEnd>;
}

/**
 * Starts the entry file again, with the arguments and Node options of this process. So a loader for TypeScript works
 * there too. Never throws: a process that cannot be started has ended.
 */
function forkEntry(name: string, options: ResolvedRunWorkersOptions): Forked {
  try {
    const child = tryFork(name, options);
    return { child: child.pid === undefined ? undefined : child, end: endOf(child) };
  } catch (error) {
    return { child: undefined, end: Promise.resolve({ code: null, signal: null, error }) };
  }
}

/** Throws what `env` throws, and where memory is short or the environment too long. */
function tryFork(name: string, { entry, env, stopTimeoutMs }: ResolvedRunWorkersOptions): ChildProcess {
  const own = typeof env === 'function' ? env(name) : env;
  return fork(entry, process.argv.slice(2), {
    // A debugger's port can be had once only.
    execArgv: process.execArgv.map((arg) => arg.replace(/^--inspect(-brk|-wait)?(=.*)?$/, '--inspect=0')),
    env: { ...process.env, ...own, [PROCESS_NAME]: name, [STOP_TIMEOUT]: String(stopTimeoutMs) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** Resolves when a process has ended and all it said has arrived. */
async function endOf(child: ChildProcess): Promise<ProcessEnd> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  const disconnected = new Promise<void>((resolve) => child.once('disconnect', resolve));
  const end = await new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', (error) => child.pid === undefined && resolve({ code: null, signal: null, error }));
  });
  if (child.pid !== undefined) {
    const quiet = Promise.all([closed, child.connected ? disconnected : undefined]);
    await within(systemClock, LAST_OUTPUT_MS, quiet, () => undefined);
  }
  return end;
}

function describeEnd({ code, signal }: ProcessEnd): string {
  return signal ? `was ended by ${signal}` : code === null ? 'could not be started' : `ended with code ${code}`;
}

/** The longest piece that is printed as one line, in characters. */
const LONGEST_LINE = 1_024 * 1_024;

/**
 * Prints the output of a worker process through this process's Nest logger, with its name before each line. Calls of its
 * own logger keep their level and context. Its other output is `log`, its error output `warn`.
 */
class LogStream {
  constructor(private readonly name: string) {}

  read(stdout: Readable, stderr: Readable): void {
    readLines(stdout, (line) => this.printLine(line, 'log'));
    readLines(stderr, (line) => this.printLine(line, 'warn'));
  }

  private printLine(line: string, level: LogLevel): void {
    const { text, record } = decodeLine(line);
    if (text || !record) {
      this.print(level, text, 'output');
    }
    if (record) {
      this.print(record.level, record.text, record.context ?? '');
    }
  }

  private print(level: LogLevel, text: string, context: string): void {
    const named = text
      .split('\n')
      .map((line) => `${this.name} | ${line}`)
      .join('\n');
    new Logger(context)[level](named);
  }
}

/** Calls `take` for each line; the last one need not have an end. */
function readLines(stream: Readable, take: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    lines.forEach((line) => take(line.replace(/\r$/, '')));
    if (rest.length > LONGEST_LINE) {
      take(rest);
      rest = '';
    }
  });
  stream.on('end', () => rest && take(rest));
  stream.on('error', () => undefined); // its end is noticed by the process's
}

/** The most often a process is asked, in ms. */
const LONGEST_PAUSE_MS = 5_000;
/** The lateness of a timer of this process that shows that this process was suspended, in ms. */
const OWN_LATENESS_MS = 1_000;

/** Asks a process over and over whether its event loop runs, and reports one that gives no answer in time. */
class Pulse implements BackgroundRole {
  private timer: NodeJS.Timeout | undefined;

  /** @param timeoutMs 0: never asks */
  constructor(
    private readonly timeoutMs: number,
    private readonly ask: () => void,
    private readonly hangs: () => void,
  ) {}

  start(): void {
    if (this.timeoutMs > 0) {
      this.timer = setTimeout(() => this.runOnce(), Math.min(LONGEST_PAUSE_MS, this.timeoutMs / 3));
    }
  }

  answered(): void {
    if (this.timer) {
      this.stop();
      this.start();
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Asks now, and reports the process if no answer comes in time. */
  runOnce(): void {
    this.ask();
    const due = performance.now() + this.timeoutMs;
    this.timer = setTimeout(() => {
      // If this process was suspended too, nothing is known about the other. A waiting answer is read first.
      this.timer = setTimeout(() => {
        if (performance.now() - due > OWN_LATENESS_MS) {
          this.runOnce();
        } else {
          this.timer = undefined;
          this.hangs();
        }
      }, 0);
    }, this.timeoutMs);
  }
}
