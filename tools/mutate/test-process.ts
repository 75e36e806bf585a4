// Runs test files in a process of the copy, which serves several mutants of scripts. A mutant of a source needs a process
// of its own, because the library is loaded once.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { ExchangedScript } from './texts.js';

/** A test file that takes longer has an endless loop, in ms. */
const MOST_MS = 120_000;

const FLAGS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

interface Report {
  readonly isAlive?: boolean;
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
  async run(files: readonly string[], scripts: readonly ExchangedScript[]): Promise<Failure | undefined> {
    const child = await (this.child ??= this.fork());
    child.send({ files, scripts });
    const report = await this.next(child);
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
    const report = await this.next(child);
    if (typeof report === 'string') throw new Error(`The process of the tests did not start: ${report}`);
    return child;
  }

  /** Waits for the report of a run. Returns a text where none comes. */
  private next(child: ChildProcess): Promise<Report | string> {
    return new Promise((resolve) => {
      const end = (report: Report | string) => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
        resolve(report);
      };
      const onLimit = () => end(`${MOST_MS / 1_000} s`);
      const onExit = () => end('the end of the process');
      let timer = setTimeout(onLimit, MOST_MS);
      const onMessage = (report: Report) => {
        clearTimeout(timer);
        timer = setTimeout(onLimit, MOST_MS);
        if (!report.isAlive) end(report);
      };
      child.on('message', onMessage).on('exit', onExit);
    });
  }
}
