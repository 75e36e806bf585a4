// Runs commands for a script that cleans up afterwards. A signal to the script goes to its commands, and no other one
// starts. So Ctrl-C leaves neither processes nor temporary folders.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const running = new Set();
let interrupted;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    interrupted = signal;
    for (const child of running) child.kill(signal);
  });
}

/**
 * Runs a command to its end. Throws if it fails; with `stdio: 'pipe'` the error has what the command wrote.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
export async function runChild(command, args, options) {
  if (interrupted) throw new Error(`ended by ${interrupted}`);
  const child = spawn(command, args, options);
  running.add(child);
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(signal ?? code));
  }).finally(() => running.delete(child));
  const output = [child.stdout, child.stderr].map((each) => each && text(each));
  const [end, ...said] = await Promise.all([ended, ...output]);
  if (interrupted) throw new Error(`ended by ${interrupted}`);
  if (end !== 0) throw new Error(`${said.join('')}${command} ${args.join(' ')}: ended with ${end}`);
}
