// Builds the library's ES format and an example on it if a source is newer than the build.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lock = join(root, '.cache/build.lock');

const COMMON = ['tsconfig.json', 'package.json'];

/** Exits with 1 if the compiler fails, which prints the reason. */
export async function buildExample(name, main) {
  const example = `examples/${name}`;
  const parts = [
    {
      what: 'the library',
      sources: ['src', 'lua', ...COMMON],
      built: 'dist/esm/index.js',
      build: () => ['embed', 'build:esm'].forEach((script) => run('npm', ['run', '--silent', script])),
    },
    {
      what: example,
      sources: ['dist/esm/index.js', `${example}/src`, `${example}/tsconfig.json`, ...COMMON],
      built: `${example}/dist/${main}`,
      build: () => run('npx', ['--no-install', 'tsc', '-p', `${example}/tsconfig.json`]),
    },
  ];
  if (parts.every(isBuilt)) return;
  await lockBuild();
  try {
    for (const part of parts) {
      // Another process may have built it before this one got the lock.
      if (isBuilt(part)) continue;
      console.log(`Building ${part.what} …`);
      part.build();
    }
  } catch {
    process.exitCode = 1;
  } finally {
    rmSync(lock, { force: true });
  }
  if (process.exitCode === 1) process.exit();
}

function isBuilt({ sources, built }) {
  return changedAt(join(root, built)) >= Math.max(...sources.map((path) => newestIn(join(root, path))));
}

/**
 * Waits for other builds to end. A build deletes the previous one, so two builds at once, as tests start them,
 * would break each other.
 */
async function lockBuild() {
  mkdirSync(join(root, '.cache'), { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    // A build takes seconds, so an older lock was left behind.
    if (changedAt(lock) < Date.now() - 120_000) rmSync(lock, { force: true });
    await sleep(100);
  }
}

function run(command, args) {
  execFileSync(command, args, { cwd: root, stdio: 'inherit' });
}

function newestIn(path) {
  if (!existsSync(path) || !statSync(path).isDirectory()) return changedAt(path);
  const inside = readdirSync(path, { recursive: true, encoding: 'utf8' })
    // Written by the build itself.
    .filter((name) => !name.endsWith('lua.generated.ts'))
    .map((name) => changedAt(join(path, name)));
  return Math.max(...inside);
}

function changedAt(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}
