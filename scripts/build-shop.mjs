// Builds the library's ES format and the example on it, where a source is newer than what was built.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCES = ['src', 'lua', 'examples/shop/src', 'examples/shop/tsconfig.json', 'tsconfig.json', 'package.json'];
const BUILT = ['dist/esm/index.js', 'examples/shop/dist/main.js'];

const root = fileURLToPath(new URL('..', import.meta.url));

const newest = Math.max(...SOURCES.map((path) => newestIn(join(root, path))));
const oldest = Math.min(...BUILT.map((path) => changedAt(join(root, path))));
if (oldest < newest) {
  console.log('Building the library and the shop …');
  try {
    for (const script of ['embed', 'build:esm']) run('npm', ['run', '--silent', script]);
    run('npx', ['--no-install', 'tsc', '-p', 'examples/shop/tsconfig.json']);
  } catch {
    // The command has said what is wrong.
    process.exit(1);
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
