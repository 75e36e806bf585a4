// Runs a mover in a process of its own.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { MoverSettings } from './mover-process.js';

const ROOT = join(import.meta.dirname, '../../..');

/** Runs a mover to its end. Returns the step after which it died; undefined if the old queue was quiet. */
export function runMover(settings: MoverSettings): Promise<string | undefined> {
  const child = spawn(
    process.execPath,
    ['--import', './tools/chaos/register.mjs', join(ROOT, 'test/support/bullmq/mover-process.ts')],
    {
      cwd: ROOT,
      env: { ...process.env, MOVER_SETTINGS: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  return new Promise((resolve) => {
    child.once('close', () => resolve(said.includes('quiet') ? undefined : said.trim() || 'unknown'));
  });
}
