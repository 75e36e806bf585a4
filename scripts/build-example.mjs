// Builds the library's ES format and an example on it, where a source is newer than what was built.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const lock = join(root, '.cache/build.lock');

/** Ends the process with 1 where something cannot be built; the compiler has said what is wrong. */
export async function buildExample(name, main) {
  const example = `examples/${name}`;
  if (isBuilt(example, main)) return;
  await lockBuild();
  try {
    // Whoever had the lock may have built it meanwhile.
    if (!isBuilt(example, main)) build(example);
  } catch {
    process.exitCode = 1;
  } finally {
    rmSync(lock, { force: true });
  }
  if (process.exitCode === 1) process.exit();
}

function isBuilt(example, main) {
  const sources = ['src', 'lua', `${example}/src`, `${example}/tsconfig.json`, 'tsconfig.json', 'package.json'];
  const built = ['dist/esm/index.js', `${example}/dist/${main}`];
  const newest = Math.max(...sources.map((path) => newestIn(join(root, path))));
  const oldest = Math.min(...built.map((path) => changedAt(join(root, path))));
  return oldest >= newest;
}

function build(example) {
  console.log(`Building the library and ${example} …`);
  for (const script of ['embed', 'build:esm']) run('npm', ['run', '--silent', script]);
  run('npx', ['--no-install', 'tsc', '-p', `${example}/tsconfig.json`]);
}

/** A build deletes what was built before: two at once, as tests start them, would take it from each other. */
async function lockBuild() {
  mkdirSync(join(root, '.cache'), { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    // A build takes seconds; what is older was left behind.
    if (changedAt(lock) < Date.now() - 120_000) rmSync(lock, { force: true });
    await sleep(100);
  }
}

function run(command, args) {
  execFileSync(command, args, { cwd: root, stdio: 'inherit' });
}

function newestIn(path) {
  if (!statSync(path).isDirectory()) return changedAt(path);
  const inside = readdirSync(path, { recursive: true, encoding: 'utf8' })
    // Written by the build itself.
    .filter((name) => !name.endsWith('lua.generated.ts'))
    .map((name) => changedAt(join(path, name)));
  return Math.max(...inside);
}

function changedAt(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}
