// Runs the same tests on the older supported versions: NestJS 11 and ioredis 5. The project is copied, without its
// node_modules, to a temporary folder outside the tree. Arguments go to jest.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nest11Versions } from './nest11-versions.mjs';
import { findRedisServer } from './redis/redis-server.mjs';
import { runChild } from './run-child.mjs';

const LEFT_OUT = new Set(['node_modules', 'dist', '.git', 'coverage']);

const root = fileURLToPath(new URL('..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'nest11-'));
const run = (command, args) => runChild(command, args, { cwd: copy, stdio: 'inherit' });

try {
  // The copy finds a downloaded Redis in its own .cache, links and all.
  if (!process.env.REDIS_URL) await findRedisServer();
  cpSync(root, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => relative(root, path) === '' || !isLeftOut(path),
  });
  const ownManifest = readFileSync(join(root, 'package.json'), 'utf8');
  const manifest = JSON.parse(ownManifest);
  Object.assign(manifest.devDependencies, nest11Versions);
  writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest, null, 2));
  await run('npm', [
    'install',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--loglevel=error',
  ]);
  for (const [name, version] of Object.entries(nest11Versions)) {
    const installed = JSON.parse(readFileSync(join(copy, 'node_modules', name, 'package.json'), 'utf8')).version;
    if (installed !== version) throw new Error(`${name}: expected ${version}, found ${installed}`);
  }
  // Tests read the project's own manifest, which agrees with its lock file.
  writeFileSync(join(copy, 'package.json'), ownManifest);
  console.log(
    `Testing with ${Object.entries(nest11Versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
  );
  // The option takes all words behind it, so it is the last.
  await run('npm', ['test', '--', ...process.argv.slice(2), '--ignoreProjects=in memory']);
} catch (error) {
  console.error(`test-nest11: ${error.message}`);
  process.exitCode = 1;
} finally {
  if (existsSync(copy)) rmSync(copy, { recursive: true, force: true });
}

function isLeftOut(path) {
  return LEFT_OUT.has(basename(path)) || basename(path).startsWith('redis-download-');
}
