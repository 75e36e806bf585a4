// Runs the command line: in this process, as a process on a pipe, or on a terminal.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import type { HostProcess } from '#cli/host-process.js';
import { main } from '#cli/program.js';
import { testRedisUrl } from '../support/redis/redis.js';
import { Screen } from './screen.js';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The bundle that `global-setup.mjs` makes before the run. */
const NODE = ['.cache/cli/cli.mjs'];

/** Keeps what a command writes. */
class Kept extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    this.emit('kept');
    done();
  }
}

/** Runs a command to its end within this process, as on a pipe; nobody types anything. */
export function cli(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return cliHere(args, env).over;
}

/** Returns the names of all commands, as the help lists them. */
export async function listedCommands(): Promise<string[]> {
  const { stdout } = await cli(['--help']);
  const [, list] = stdout.split('\nCommands:\n');
  return [...list!.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name!);
}

/** A command within this process. */
type RunningHere = Pick<Running, 'over' | 'ran' | 'said'>;

/** Starts a command within this process. */
export function cliHere(args: readonly string[], env: Record<string, string> = {}): RunningHere {
  return within(args, { stdin: new PassThrough(), stdout: new Kept(), stderr: new Kept(), env: environment(env) });
}

/** The terminal of a command within this process. */
export interface OnScreen extends Pick<Running, 'over' | 'ran' | 'said' | 'type'> {
  /** Resolves once the screen shows this, after the last key. */
  shows(what: RegExp): Promise<void>;
  /** Returns the lines of the screen. */
  screen(): Screen;
  /** True while single keys arrive without Enter. */
  readonly isRaw: boolean;
}

/** Starts a command within this process, on a terminal. */
export function cliOnScreen(
  args: readonly string[],
  { columns = 80, rows = 24, env = {} }: { columns?: number; rows?: number; env?: Record<string, string> } = {},
): OnScreen {
  const tty = { isTTY: true as const, columns, rows };
  let isRaw = false;
  const keyboard = keyboardOf(tty, (mode) => (isRaw = mode));
  const [stdout, stderr] = [Object.assign(new Kept(), tty), Object.assign(new Kept(), tty)];
  const screen = () => new Screen(columns, rows, stdout.text.replaceAll('\n', '\r\n'));
  return {
    ...within(args, { stdin: keyboard, stdout, stderr, env: environment(env) }),
    shows: (what) =>
      new Promise((resolve) => {
        let looking: NodeJS.Immediate | undefined;
        const look = () => {
          looking = undefined;
          if (what.test(screen().lines.join('\n'))) {
            stdout.off('kept', lookSoon);
            resolve();
          }
        };
        const lookSoon = () => (looking ??= setImmediate(look)); // once for many keys
        stdout.on('kept', lookSoon);
        look();
      }),
    screen,
    type: (text) => keyboard.write(text),
    get isRaw() {
      return isRaw;
    },
  };
}

/**
 * Runs a command to its end within this process, on a terminal of 80 columns. It shows what is written to stderr too.
 *
 * @param answer typed once the command asks something
 */
export async function cliOnTerminal(
  args: readonly string[],
  answer?: string,
  env: Record<string, string> = {},
): Promise<Ran> {
  const tty = { isTTY: true as const, columns: 80, rows: 24 };
  const shown = Object.assign(new Kept(), tty);
  const stdin = keyboardOf(tty);
  const command = within(args, { stdin, stdout: shown, stderr: shown, env: environment(env) });
  if (answer !== undefined) {
    void command.said('[y/N]').then(() => stdin.write(`${answer}\n`));
  }
  return { ...(await command.over), stderr: '' };
}

function keyboardOf<Terminal extends object>(tty: Terminal, becomesRaw: (mode: boolean) => void = () => undefined) {
  const keyboard = Object.assign(new PassThrough(), {
    ...tty,
    setRawMode: (mode: boolean) => {
      becomesRaw(mode);
      return keyboard as never;
    },
  });
  return keyboard;
}

function within(args: readonly string[], host: HostProcess & { stdout: Kept; stderr: Kept }): RunningHere {
  const { stdout, stderr } = host;
  const ran: Ran = {
    code: null,
    get stdout() {
      return stdout.text;
    },
    get stderr() {
      return stderr.text;
    },
  };
  const over = main([process.execPath, 'nest-job-queue', ...args], host).then((code) => ({ ...ran, code }));
  const said = (what: string | RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!has(ran, what)) return;
        [stdout, stderr].forEach((stream) => stream.off('kept', look));
        resolve();
      };
      [stdout, stderr].forEach((stream) => stream.on('kept', look));
      look();
    });
  return { over, ran, said };
}

function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, REDIS_URL: testRedisUrl(), NO_COLOR: '', ...env };
}

/** Runs a command to its end as a process of its own, on a pipe. */
export function cliProcess(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const command = running(process.execPath, [...NODE, ...args], env);
  command.end();
  return command.over;
}

/** A command that runs until it is stopped. */
export interface Running {
  /** Its end. */
  readonly over: Promise<Ran>;
  /** Resolves once it has written this to stdout or stderr. */
  said(what: string | RegExp): Promise<void>;
  /** The result so far. */
  readonly ran: Ran;
  signal(name: NodeJS.Signals): void;
  /** Types this. */
  type(text: string): void;
}

/** Starts a command on a pipe. */
export function cliRunning(args: readonly string[], env: Record<string, string> = {}): Running {
  return running(process.execPath, [...NODE, ...args], env);
}

/** Starts a command as a process, on a terminal of 80 columns and 24 rows, by `script` of util-linux. */
export function cliRunningOnTerminal(args: readonly string[], env: Record<string, string> = {}): Running {
  const command = [process.execPath, ...NODE, ...args].map((each) => `'${each}'`).join(' ');
  return running('script', ['-qec', `stty cols 80 rows 24; exec ${command}`, '/dev/null'], env);
}

function running(file: string, args: readonly string[], env: Record<string, string>): Running & { end(): void } {
  const child = spawn(file, args, {
    env: environment(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined); // a command that ends without a question reads no answer
  const ran: Ran = { code: null, stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8'); // a chunk may end within a character
    child[stream].on('data', (data: string) => {
      ran[stream] += data;
      waiting.forEach((look) => look());
    });
  }
  const over = new Promise<Ran>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ran, code }));
  });
  return {
    over,
    ran,
    said: (what) =>
      new Promise((resolve) => {
        const look = () => {
          if (has(ran, what)) {
            waiting.delete(look);
            resolve();
          }
        };
        waiting.add(look);
        look();
      }),
    signal: (name) => process.kill(file === 'script' ? childOf(child.pid!) : child.pid!, name),
    type: (text) => child.stdin.write(text),
    end: () => child.stdin.end(),
  };
}

/** Returns the pid of the command that `script` runs. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}

function has(ran: Ran, what: string | RegExp): boolean {
  return (ran.stdout + ran.stderr).search(what instanceof RegExp ? what : escaped(what)) >= 0;
}

function escaped(text: string): RegExp {
  return new RegExp(text.replaceAll(/[[\]\\/()+.*?{}|^$]/g, String.raw`\$&`));
}
