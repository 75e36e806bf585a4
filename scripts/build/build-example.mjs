// Builds the library's ES format and an example on it if a source is newer than the build.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runChild } from '../run-child.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lock = join(root, '.cache/build.lock');

const TSC = 'node_modules/typescript7/bin/tsc';
const COMMON = ['tsconfig.json', 'package.json'];

/** Exits with 1 if the compiler fails, which prints the reason. */
export async function buildExample(name, main) {
  const example = `examples/${name}`;
  const parts = [
    {
      what: 'the library',
      sources: ['src', 'lua', ...COMMON],
      built: 'dist/esm/index.js',
      build: async () => {
        for (const script of ['embed', 'build:esm']) await run('npm', ['run', '--silent', script]);
      },
    },
    {
      what: example,
      sources: ['dist/esm/index.js', `${example}/src`, `${example}/tsconfig.json`, ...COMMON],
      built: `${example}/dist/${main}`,
      // As in compile.mjs: `npm run types` checks the examples.
      build: () => run(process.execPath, [TSC, '-p', `${example}/tsconfig.json`, '--noCheck']),
    },
  ];
  const stale = parts.findIndex((part) => !isBuilt(part));
  if (stale < 0) return;
  await lockBuild();
  try {
    for (const [i, part] of parts.entries()) {
      // Another process may have built it before this one got the lock.
      if (isBuilt(part)) continue;
      await withProgress(`Building ${part.what}, step ${i + 1 - stale} of ${parts.length - stale}`, part.build);
    }
  } catch (error) {
    // The compiler has said more on the terminal.
    console.error(error.message);
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

/** Tells on the terminal how long a step has taken so far; elsewhere it writes one line. */
async function withProgress(what, step) {
  const { stdout } = process;
  if (!stdout.isTTY) {
    console.log(`${what} …`);
    return step();
  }
  const since = Date.now();
  const tell = () => stdout.write(`\r${what} … ${Math.round((Date.now() - since) / 1_000)} s`);
  tell();
  const timer = setInterval(tell, 1_000);
  try {
    await step();
    tell();
  } finally {
    clearInterval(timer);
    stdout.write('\n');
  }
}

function run(command, args) {
  return runChild(command, args, { cwd: root, stdio: 'inherit' });
}

function newestIn(path) {
  if (!existsSync(path) || !statSync(path).isDirectory()) return changedAt(path);
  const inside = readdirSync(path, { recursive: true, encoding: 'utf8' })
    // Written by the build itself.
    .filter((name) => !name.endsWith('.generated.ts'))
    .map((name) => changedAt(join(path, name)));
  return Math.max(...inside);
}

function changedAt(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}
