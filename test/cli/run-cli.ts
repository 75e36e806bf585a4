// Runs the real command line, on a pipe or on a terminal.
import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { testRedisUrl } from '../support/redis/redis.js';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

const BUNDLE = fileURLToPath(new URL('bundle-cli.mjs', import.meta.url));
execFileSync(process.execPath, [BUNDLE], { env: { ...process.env, NODE_OPTIONS: '' } });
const NODE = ['.cache/cli/cli.mjs'];

/** Runs a command to its end; nobody types anything. */
export function cli(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return ended(process.execPath, [...NODE, ...args], env);
}

/**
 * The same on a terminal of 80 columns, by `script` of util-linux.
 *
 * @param answer typed once the command asks something
 */
export function cliOnTerminal(args: readonly string[], answer?: string): Promise<Ran> {
  const command = [process.execPath, ...NODE, ...args].map((each) => `'${each}'`).join(' ');
  return ended('script', ['-qec', `stty cols 80; ${command}`, '/dev/null'], {}, answer);
}

function ended(file: string, args: readonly string[], env: Record<string, string>, answer?: string): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      env: { ...process.env, REDIS_URL: testRedisUrl(), NO_COLOR: '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => undefined); // a command that ends without a question reads no answer
    if (answer === undefined) {
      child.stdin.end();
    }
    const ran: Ran = { code: null, stdout: '', stderr: '' };
    child.stdout.on('data', (data: Buffer) => {
      ran.stdout += data.toString();
      if (answer !== undefined && ran.stdout.includes('[y/N]')) {
        child.stdin.end(`${answer}\n`);
      }
    });
    child.stderr.on('data', (data: Buffer) => (ran.stderr += data.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...ran, code }));
  });
}
