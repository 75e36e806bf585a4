// Runs test files in a process of the copy, which serves several mutants of scripts. A mutant of a source needs a process
// of its own, because the library is loaded once.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { ExchangedScript } from './texts.js';

/** A test file that takes longer has an endless loop, in ms. */
const MOST_MS = 120_000;

/** A process that has not started by then never does, in ms. A busy machine takes minutes. */
const MOST_START_MS = 900_000;

const FLAGS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

/** What a process tells of a test file that has ended. */
export interface EndedFile {
  readonly ended: string;
  readonly seconds: number;
  readonly hasPassed: boolean;
  /** The numbers of the mutants behind switches that it reached. */
  readonly reached: readonly number[];
}

/** What runs in a process. */
export interface Run {
  readonly files: readonly string[];
  readonly scripts?: readonly ExchangedScript[];
  /** The number of the mutant whose switch is on. */
  readonly mutant?: number;
  /** After this time in ms no further test file begins. */
  readonly ms?: number;
  readonly onEnded?: (file: EndedFile) => void;
}

interface Report extends Partial<EndedFile> {
  readonly isReady?: boolean;
  readonly isSent?: boolean;
  readonly failed?: string;
  readonly test?: string;
}

/** What noticed a mutant. */
export interface Failure {
  /** A test file, the build, or a limit. */
  readonly by: string;
  /** The name of the test. */
  readonly test?: string;
}

export class TestProcess {
  private child: Promise<ChildProcess> | undefined;

  /** @param place where the specs of the scripts run */
  constructor(
    private readonly folder: string,
    private readonly place: 'memory' | 'redis' = 'redis',
  ) {}

  /** Starts the process, unless it runs. It loads the library of the copy, as that is now. */
  async start(): Promise<void> {
    await (this.child ??= this.fork());
  }

  /** Runs test files until the first fails. Returns what failed: a test file, or the limit of time. */
  async run({ files, scripts = [], mutant, ms, onEnded }: Run): Promise<Failure | undefined> {
    const child = await (this.child ??= this.fork());
    child.send({ files, scripts, mutant, ms });
    const report = await this.next(child, onEnded);
    if (scripts.length > 0 && typeof report !== 'string' && !report.isSent && !report.failed) {
      console.error(`No test of ${files.join(', ')} sent the changed script: record them again.`);
    }
    if (typeof report !== 'string')
      return report.failed === undefined ? undefined : { by: report.failed, test: report.test };
    await this.stop();
    return { by: report };
  }

  /** Ends the process. Its Redis ends with it. The next run has a new one. */
  async stop(): Promise<void> {
    const running = this.child;
    this.child = undefined;
    const child = await running;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }

  private async fork(): Promise<ChildProcess> {
    const child = fork(join(this.folder, 'tools/mutate/jest/process.mjs'), {
      cwd: this.folder,
      execArgv: FLAGS,
      env: { ...process.env, NODE_OPTIONS: '', MUTATE_PLACE: this.place },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: true,
    });
    const report = await this.next(child, undefined, MOST_START_MS);
    if (typeof report === 'string') throw new Error(`The process of the tests did not start: ${report}`);
    return child;
  }

  /** Waits for the report of a run. Returns a text where none comes. */
  private next(
    child: ChildProcess,
    onEnded?: (file: EndedFile) => void,
    mostMs = MOST_MS,
  ): Promise<Report | string> {
    return new Promise((resolve) => {
      const end = (report: Report | string) => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
        resolve(report);
      };
      const onLimit = () => end(`${mostMs / 1_000} s`);
      const onExit = () => end('the end of the process');
      let timer = setTimeout(onLimit, mostMs);
      const onMessage = (report: Report) => {
        clearTimeout(timer);
        timer = setTimeout(onLimit, mostMs);
        if (report.ended === undefined) end(report);
        else onEnded?.(report as EndedFile);
      };
      child.on('message', onMessage).on('exit', onExit);
    });
  }
}
