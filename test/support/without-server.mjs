// Finds specs by what they import. A spec that needs no Redis imports no file that knows a server, at any depth.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** Files that only a test with a server imports. */
const SERVER = /^(test\/support|scripts)\/redis\//;
const IMPORT = /^(?:import|export)\s(?!type\s)[^'";]*'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/**
 * Returns the paths of specs in `folders`, relative to `root`.
 *
 * @param {string} root
 * @param {string[]} folders
 */
export function specsWithoutServer(root, folders) {
  const imports = new Map();
  return specsIn(root, folders).filter((spec) => !needsServer(spec, new Set()));

  function needsServer(file, seen) {
    if (SERVER.test(file)) return true;
    if (seen.has(file)) return false;
    seen.add(file);
    if (!imports.has(file)) imports.set(file, importsOf(root, file));
    return imports.get(file).some((each) => needsServer(each, seen));
  }
}

/**
 * Returns the paths of specs in `folders` that import a file, relative to `root`.
 *
 * @param {string} root
 * @param {string[]} folders
 * @param {string} imported
 */
export function specsThatImport(root, folders, imported) {
  return specsIn(root, folders).filter((spec) => importsOf(root, spec).includes(imported));
}

/**
 * Returns the paths of all specs in `folders`, relative to `root`.
 *
 * @param {string} root
 * @param {string[]} folders
 */
export function specsIn(root, folders) {
  return folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)))
    .map((file) => file.split(sep).join('/'))
    .filter((file) => file.endsWith('.spec.ts'))
    .toSorted();
}

/** Returns the relative imports of a file that exist, without type imports. */
function importsOf(root, file) {
  return [...readFileSync(join(root, file), 'utf8').matchAll(IMPORT)]
    .map(([, name, lazyName]) => join(dirname(file), name ?? lazyName))
    .flatMap((path) => [path.replace(/\.js$/, '.ts'), path].find((each) => existsSync(join(root, each))) ?? [])
    .map((path) => relative(root, join(root, path)).split(sep).join('/'));
}
