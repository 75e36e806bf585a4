// Runs every check that needs no server, after `npm run embed`. The build comes first, then what reads it beside the
// others. Most use one core. A step of a lane starts after the one before it has passed. The output of a step comes in one piece.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const LANES = [
  ['lint:code'],
  ['types', 'types:ui', 'check:lua'],
  ['check:imports', 'check:changelog', 'format:check', 'build:codemod', 'check:api'],
];

/** Runs a script of package.json. Returns false if it fails. */
async function run(script) {
  const started = performance.now();
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0));
  });
  const [passed, ...said] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  const seconds = Math.round((performance.now() - started) / 1_000);
  process.stdout.write(`${said.join('')}--- ${script}: ${passed ? 'ok' : 'FAILED'} (${seconds} s)\n`);
  return passed;
}

async function runLane(scripts) {
  for (const script of scripts) {
    if (!(await run(script))) return false;
  }
  return true;
}

const passed = (await run('build:esm')) ? await Promise.all(LANES.map(runLane)) : [false];
if (passed.includes(false)) process.exitCode = 1;
