// A copy of the project in which mutants run, so that the tree itself never has one.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readLuaScripts, readTransitions, renderModule } from '../../scripts/build/embed-lua.mjs';

/** The name of the module that carries the scripts. */
const GENERATED = 'src/queue/lua.generated.ts';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', 'coverage']);

const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
  '--runInBand',
  '--bail',
  '--forceExit',
  '--testSequencer=<rootDir>/tools/mutate/given-order.mjs',
  '--reporters=default',
  '--runTestsByPath',
];

/** A mutant that runs longer has an endless loop, in ms. */
const MOST_MS = 240_000;

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'mutate-'));
  private readonly scripts: Record<string, string>;
  private running?: ChildProcess;

  constructor(private readonly root: string) {
    cpSync(root, this.folder, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => path === root || !LEFT_OUT.has(basename(path)),
    });
    // Jest shares the modules of the project's own node_modules only, so a link does not do.
    execFileSync('cp', ['-Rl', join(root, 'node_modules'), join(this.folder, 'node_modules')]);
    this.scripts = this.readScripts();
  }

  /** Puts the changed text in place of a file. Returns the names of the scripts that it changes. */
  put(file: string, changed: string): string[] {
    writeFileSync(join(this.folder, file), changed);
    if (!file.endsWith('.lua')) return [];
    const scripts = this.readScripts();
    writeFileSync(join(this.folder, GENERATED), renderModule(scripts, readTransitions(join(this.folder, 'lua'))));
    return Object.keys(scripts).filter((name) => scripts[name] !== this.scripts[name]);
  }

  /** Puts the right text back. */
  restore(file: string): void {
    this.put(file, readFileSync(join(this.root, file), 'utf8'));
  }

  /** Runs test files until the first fails. Returns what noticed the mutant: a test file, or the limit of time. */
  async run(files: readonly string[]): Promise<string | undefined> {
    const child = spawn(process.execPath, [...JEST, ...files], {
      cwd: this.folder,
      env: { ...process.env, MUTATE_ORDER: JSON.stringify(files), NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.running = child;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.killRun();
    }, MOST_MS);
    const code = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [out, said] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const ended = await code;
    this.running = undefined;
    clearTimeout(timer);
    if (isLate) return `${MOST_MS / 1_000} s`;
    if (ended === 0) return undefined;
    return /^FAIL (\S+)/m.exec(said)?.[1] ?? `no test ran:\n${out}${said}`;
  }

  /** Ends a run, and removes the copy. */
  close(): void {
    this.killRun();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /** Kills the processes of a run. Its Redis ends with them. */
  private killRun(): void {
    if (this.running?.pid !== undefined) process.kill(-this.running.pid, 'SIGKILL');
  }

  private readScripts(): Record<string, string> {
    return readLuaScripts(join(this.folder, 'lua'), () => undefined); // a mutant may need fewer names
  }
}
