// Runs the real command line, on a pipe or on a terminal.
import { spawn } from 'node:child_process';
import { testRedisUrl } from '../support/redis/redis.js';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

const NODE = ['--import', './test/support/typescript.mjs', 'src/cli.ts'];

/** Runs a command to its end; nobody types anything. */
export function cli(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return ended(process.execPath, [...NODE, ...args], env);
}

/** The same on a terminal of 80 columns, by `script` of util-linux. */
export function cliOnTerminal(args: readonly string[]): Promise<Ran> {
  const command = [process.execPath, ...NODE, ...args].map((each) => `'${each}'`).join(' ');
  return ended('script', ['-qec', `stty cols 80; ${command}`, '/dev/null'], {});
}

function ended(file: string, args: readonly string[], env: Record<string, string>): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: { ...process.env, REDIS_URL: testRedisUrl(), NO_COLOR: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ran: Ran = { code: null, stdout: '', stderr: '' };
    child.stdout.on('data', (data: Buffer) => (ran.stdout += data.toString()));
    child.stderr.on('data', (data: Buffer) => (ran.stderr += data.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ran, code }));
  });
}
