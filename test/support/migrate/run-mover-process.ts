// Runs the program of a mover in a process of its own.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** Runs a mover to its end. Returns whether it killed itself after the step of its settings; false if nothing was left. */
export function runMoverProcess(program: string, settings: { dies?: { after: string } }): Promise<boolean> {
  const file = join(ROOT, 'test/support', program);
  const child = spawn(process.execPath, ['--import', './tools/chaos/register.mjs', file], {
    cwd: ROOT,
    env: { ...process.env, MOVER_SETTINGS: JSON.stringify(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  return new Promise((resolve, reject) => {
    child.once('close', (code, signal) => {
      const isQuiet = said.includes('quiet');
      if (isQuiet || (signal === 'SIGKILL' && said.trim() === settings.dies?.after)) resolve(!isQuiet);
      else reject(new Error(`The mover ended with ${code ?? signal}, and said: ${said}`));
    });
  });
}
