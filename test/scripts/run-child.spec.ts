// Commands of scripts that clean up afterwards, also where a signal ends them.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';

const module = new URL('../../scripts/run-child.mjs', import.meta.url).href;
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a script that runs a command by Node, and then a second one. Sends SIGTERM once the first one says so. */
async function script(command: string, stdio: string) {
  const source = `
    import { runChild } from ${JSON.stringify(module)};
    const run = (code) => runChild(process.execPath, ['-e', code], { stdio: ${JSON.stringify(stdio)} });
    try {
      await run(${JSON.stringify(command)});
      await run('console.log("second")');
    } catch (error) {
      console.log(error.message.split('\\n')[0]);
    } finally {
      console.log('cleaned up');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { cwd: root });
  child.stdout.on('data', (chunk: Buffer) => String(chunk).includes('waits') && child.kill('SIGTERM'));
  return (await text(child.stdout)).trim().split('\n');
}

it('passes a signal on, starts no other command, and lets the script clean up', async () => {
  const waits =
    "process.on('SIGTERM', () => { console.log('ended'); process.exit(0); }); setInterval(() => {}, 1e3);";
  expect(await script(`${waits} console.log('waits');`, 'inherit')).toEqual([
    'waits',
    'ended',
    'ended by SIGTERM',
    'cleaned up',
  ]);
});

it('throws the output of a failed command', async () => {
  expect(await script("console.error('no such file'); process.exit(3)", 'pipe')).toEqual([
    'no such file',
    'cleaned up',
  ]);
});
