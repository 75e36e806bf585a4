// Installs the pinned peers where they are not there yet. They never enter the library's own dependencies.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

/** Returns whether all peers are there, in the versions that are asked for. */
function isInstalled() {
  if (!existsSync(new URL('./node_modules/.package-lock.json', import.meta.url))) return false;
  const { packages } = read('./node_modules/.package-lock.json');
  return Object.entries(read('./package.json').dependencies).every(
    ([name, version]) => packages[`node_modules/${name}`]?.version === version,
  );
}

if (!isInstalled()) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] });
}
