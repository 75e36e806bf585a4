// The example app as users run it: built, in child processes.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';

const root = fileURLToPath(new URL('../../..', import.meta.url));

const running = new Set<ShopProcess>();
const folders = new Set<string>();

afterAll(async () => {
  await Promise.all([...running].map((shop) => shop.kill('SIGKILL')));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Builds the library and the shop if a source is newer than the build. */
export function buildShop(): void {
  execFileSync('node', ['scripts/build/build-shop.mjs'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Does the same for one of the small examples; `main` is a file of its build. */
export function buildExample(name: string, main: string): void {
  const build = `import { buildExample } from './scripts/build/build-example.mjs'; await buildExample('${name}', '${main}');`;
  const args = ['--input-type=module', '--eval', build];
  execFileSync('node', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Returns a folder for the output of the shop's jobs, which is removed after the test file. */
export function shopData(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shop-'));
  folders.add(folder);
  return folder;
}

/** Starts a command in the project's folder. Processes left running are killed after the test file. */
export function startProcess(command: string, args: string[], env: Record<string, string>): ShopProcess {
  const shop = new ShopProcess(command, args, env);
  running.add(shop);
  return shop;
}

export class ShopProcess {
  /** The exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>;
  output = '';
  private readonly child: ChildProcess;
  private readonly waiting = new Set<() => void>();

  constructor(command: string, args: string[], env: Record<string, string>) {
    // Detached: a process group, so that SIGKILL also reaches what npm has started.
    this.child = spawn(command, args, {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', ...env },
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        for (const look of this.waiting) look();
      });
    }
    this.exited = new Promise((resolve) => {
      // On 'close' all output has come.
      this.child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Waits until the output, from its beginning, matches; fails when the process ends before. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    let look!: () => void;
    const found = new Promise<RegExpExecArray>((resolve) => {
      look = () => {
        const match = pattern.exec(this.output);
        if (match) resolve(match);
      };
    });
    this.waiting.add(look);
    look();
    const gone = this.exited.then((code) => {
      throw new Error(`ended with ${code} before it printed ${pattern}:\n${this.output}`);
    });
    return Promise.race([found, gone]).finally(() => this.waiting.delete(look));
  }

  /** Sends a signal: SIGKILL to the whole group, any other to the command alone, as a process manager does. */
  async kill(signal: NodeJS.Signals): Promise<number | string> {
    try {
      process.kill(signal === 'SIGKILL' ? -this.child.pid! : this.child.pid!, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    return this.exited;
  }
}
