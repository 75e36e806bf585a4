// Counts the files of each folder, because a long list is hard to search. A folder with too many files is divided into
// rooms. Right in src are the barrels of the entry points alone.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join, posix, sep } from 'node:path';

/** The most files right in a folder. */
export const MOST_FILES = 16;

const TREES = ['src', 'lua', 'test', 'tools', 'scripts', 'bench', 'codemod'];
const SOURCE = /\.(ts|tsx|mts|cts|mjs|cjs|lua|sh|css)$/;
const MADE = /(^|\/)(node_modules|dist|results)\/|\.generated\./;

/** Returns a line for each folder under `root` that has too many files. */
export function checkFolders(root) {
  const counts = new Map();
  for (const file of TREES.flatMap((tree) => filesOf(root, tree))) {
    if (!SOURCE.test(file) || MADE.test(file)) continue;
    const folder = posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > MOST_FILES)
    .map(([folder, count]) => `${folder}: ${count} files, expected at most ${MOST_FILES}; make rooms of them`);
}

function filesOf(root, tree) {
  if (!existsSync(join(root, tree))) return [];
  return readdirSync(join(root, tree), { recursive: true }).map(
    (file) => `${tree}/${String(file).split(sep).join('/')}`,
  );
}

/** Returns a line for each file right in `src` that is no entry point and no program of the package. */
export function checkEntries(root) {
  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const targets = [...Object.values(exports).map((target) => target.import?.default), ...Object.values(bin)];
  const entries = new Set(targets.flatMap((target) => (target ? basename(target, '.js') : [])));
  return readdirSync(join(root, 'src'))
    .filter((file) => file.endsWith('.ts') && !entries.has(basename(file, '.ts')))
    .map((file) => `src/${file}: no entry point of package.json; put it into the folder that it belongs to`);
}
