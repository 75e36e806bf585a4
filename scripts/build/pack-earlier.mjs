// node scripts/build/pack-earlier.mjs COMMIT: packs the library of an earlier commit, for tests that run two versions
// at once. The package has only the ES modules, without types and source maps. Its package.json names the commit as
// `gitHead`. See tools/chaos/fixtures.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PARTS = [
  'package.json',
  'package-lock.json',
  'LICENSE',
  'tsconfig.json',
  'tsconfig.build.json',
  'src',
  'lua',
  'scripts',
];
const LEAN = ['--declaration', 'false', '--sourceMap', 'false', '--inlineSources', 'false', '--removeComments'];

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = join(root, 'tools/chaos/fixtures');
const cache = join(root, '.cache');

try {
  const [asked] = process.argv.slice(2);
  if (asked === undefined)
    throw new Error('expected a commit, found none: node scripts/build/pack-earlier.mjs COMMIT');
  const commit = git('rev-parse', '--verify', `${asked}^{commit}`).toString().trim();
  mkdirSync(cache, { recursive: true });
  // Inside the tree, so that the compiler finds the project's packages.
  const copy = mkdtempSync(join(cache, 'pack-earlier-'));
  try {
    console.log(pack(commit, copy));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
} catch (error) {
  console.error(`pack-earlier: ${error.message}`);
  process.exitCode = 1;
}

/** Returns the path of the tarball. */
function pack(commit, copy) {
  const run = (file, ...args) => execFileSync(process.execPath, [file, ...args], { cwd: copy, stdio: 'inherit' });
  execFileSync('tar', ['-x'], { cwd: copy, input: git('archive', commit, ...PARTS) });
  // By name: where its files are depends on the commit.
  execFileSync('npm', ['run', '--silent', 'embed'], { cwd: copy, stdio: 'inherit' });
  run(join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', ...LEAN);
  const [sources, built] = ['src', 'dist/esm'].map((folder) => join(copy, folder, 'worker/threads'));
  const threadFiles = readdirSync(sources).filter((file) => file.endsWith('.cjs'));
  threadFiles.forEach((file) => cpSync(join(sources, file), join(built, file)));
  const { name, version, license } = JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8'));
  const manifest = { name, version, license, type: 'module', exports: './dist/esm/index.js', files: ['dist/esm'] };
  writeFileSync(join(copy, 'package.json'), JSON.stringify({ ...manifest, gitHead: commit }, null, 2));
  const target = join(fixtures, `${name}-${commit.slice(0, 7)}.tgz`);
  mkdirSync(fixtures, { recursive: true });
  execFileSync('npm', ['pack', '--ignore-scripts', '--loglevel=error'], { cwd: copy });
  cpSync(join(copy, `${name}-${version}.tgz`), target);
  return target;
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, maxBuffer: 1e8 });
}
