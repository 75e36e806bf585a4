// Packages that are too large, or too slow to build, for this project's own list. They are fetched once into .cache.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL('../../../.cache', import.meta.url));

export interface Fetched {
  folder: string;
  require: NodeJS.Require;
}

/** Fetches packages, each as `name@version`. @param builds true if their install scripts must run */
export async function fetchPackages(
  name: string,
  packages: readonly string[],
  { builds = false }: { builds?: boolean } = {},
): Promise<Fetched> {
  const folder = join(CACHE, name);
  const isDone = join(folder, 'fetched');
  if (!existsSync(isDone)) {
    mkdirSync(folder, { recursive: true });
    const names = packages.map((each) => each.slice(0, each.lastIndexOf('@')));
    const allowScripts = Object.fromEntries(names.map((each) => [each, true]));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, allowScripts }));
    const scripts = builds ? [] : ['--ignore-scripts'];
    await run('npm', ['install', '--no-audit', '--no-fund', ...scripts, ...packages], { cwd: folder });
    writeFileSync(isDone, '');
  }
  return { folder, require: createRequire(join(folder, 'package.json')) };
}
