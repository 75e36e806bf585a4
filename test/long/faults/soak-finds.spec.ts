// A whole run of `npm run soak` passes. It fails if a script of the library keeps the server busy.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startOwnRedis } from '../../support/redis/own-redis.js';

const fileOf = (name: string) => join(import.meta.dirname, '../../../tools/chaos', name);

/** Runs a small load through four workers, on a server of its own. */
async function soak(env: NodeJS.ProcessEnv = {}) {
  const { url } = await startOwnRedis();
  const args = [
    '--import',
    fileOf('register.mjs'),
    fileOf('main.ts'),
    '--jobs',
    '1000',
    '--seed',
    '5',
    '--redis',
    url,
  ];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env } });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  return { code, output };
}

it('a run without a fault holds', async () => {
  const { code, output } = await soak();
  expect(output).toContain('VERDICT seed 5: held');
  expect(code).toBe(0);
}, 240_000);

it('a run fails whose server is slowed by a script of the library, and names the script', async () => {
  const { code, output } = await soak({ NODE_OPTIONS: `--import=${fileOf('planted-slow-script.mjs')}` });
  expect(output).toMatch(/I4: .* of sweepReclaim took the server \d+ ms/);
  expect(output).toContain('VERDICT seed 5: FAILED (1 violations');
  expect(code).toBe(1);
}, 240_000);
