// Checks the sizes of the sources. A file of src has one subject, and at most 700 lines. Right in src are the barrels of
// the entry points alone. A corridor is a short file with one importer, which is in its folder: it belongs into that one.
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join, posix, sep } from 'node:path';

/** The most lines of a file in src. */
export const MOST_LINES = 700;

/** Returns a line for each file of `src` under `root` that is too long. */
export function checkSizes(root) {
  return sourcesOf(root)
    .map((file) => ({ file, lines: linesOf(join(root, 'src', file)) }))
    .filter(({ lines }) => lines > MOST_LINES)
    .map(
      ({ file, lines }) => `src/${file}: ${lines} lines, expected at most ${MOST_LINES}; part it by its subjects`,
    );
}

/** The lines from which a file with one importer is a subject of its own. */
const SHORT_LINES = 60;

/** The corridors that may stay, each with its reason. A new one is merged into its importer. */
const CORRIDORS = {
  'queue/verbs/alert.ts': 'each room of verbs has its rows in a file of its name',
  'queue/verbs/limits.ts': 'each room of verbs has its rows in a file of its name',
};

/** Returns a line for each corridor of `src` under `root` without a reason, and for each reason without a corridor. */
export function checkCorridors(root, allowed = CORRIDORS) {
  const corridors = corridorsOf(root);
  const merged = Object.keys(allowed).filter((file) => !corridors.has(file));
  return [
    ...[...corridors]
      .filter(([file]) => !Object.hasOwn(allowed, file))
      .map(
        ([file, importer]) =>
          `src/${file}: under ${SHORT_LINES} lines, and only src/${importer} imports it; merge it into that file`,
      ),
    ...merged.map((file) => `src/${file}: no corridor any more; remove it from CORRIDORS`),
  ];
}

/** Returns the short files with one importer in their own folder, and that importer. */
function corridorsOf(root) {
  const files = sourcesOf(root);
  const importers = new Map(files.map((file) => [file, new Set()]));
  for (const file of files) {
    for (const [, name] of textOf(root, file).matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g)) {
      const target = posix.join(posix.dirname(file), name);
      for (const path of [`${target}.ts`, `${target}.tsx`]) importers.get(path)?.add(file);
    }
  }
  const single = [...importers].flatMap(([file, [first, ...others]]) =>
    first !== undefined && others.length === 0 ? [[file, first]] : [],
  );
  return new Map(
    single.filter(
      ([file, importer]) =>
        file.includes('/') &&
        posix.dirname(file) === posix.dirname(importer) &&
        linesOf(join(root, 'src', file)) < SHORT_LINES,
    ),
  );
}

const textOf = (root, file) => readFileSync(join(root, 'src', file), 'utf8');

/** Returns the sources under `src`, and none that were made. */
function sourcesOf(root) {
  return readdirSync(join(root, 'src'), { recursive: true })
    .map((file) => String(file).split(sep).join('/'))
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('.generated.'))
    .toSorted();
}

const linesOf = (path) => readFileSync(path, 'utf8').split('\n').length - 1;

/** Returns a line for each file right in `src` that is no entry point and no program of the package. */
export function checkEntries(root) {
  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const targets = [...Object.values(exports).map((target) => target.import?.default), ...Object.values(bin)];
  const entries = new Set(targets.flatMap((target) => (target ? basename(target, '.js') : [])));
  return readdirSync(join(root, 'src'))
    .filter((file) => file.endsWith('.ts') && !entries.has(basename(file, '.ts')))
    .map((file) => `src/${file}: no entry point of package.json; put it into the folder that it belongs to`);
}
