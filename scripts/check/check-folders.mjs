// Counts the files of each folder, because a long list is hard to search. A folder with too many files is divided into
// rooms.
import { existsSync, readdirSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

/** The most files right in a folder. */
export const MOST_FILES = 16;

const TREES = ['src', 'lua', 'test', 'tools', 'scripts', 'bench'];
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
