// Adds to a list of `@Module({ … })`. By the text, so that the package needs no compiler.

/** The key of a property, in quotes, or in quotes and brackets. */
const QUOTED_KEY = /(?<key>\[\s*(['"`])\w+\2\s*\](?=\s*:)|(['"])\w+\3(?=\s*:))/;
/** A literal in which brackets do not count. */
const LITERAL = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/;
const COMMENT = /\/\/[^\n]*|\/\*[^]*?\*\//;
const NO_CODE = new RegExp([COMMENT, QUOTED_KEY, LITERAL].map(({ source }) => source).join('|'), 'g');

/** Returns the source with blanks in place of comments, literals, and the quotes of keys. */
export function codeOf(source: string): string {
  return source.replace(NO_CODE, (text, key: string | undefined) =>
    text.replace(key === undefined ? /[^\n]/g : /[^\w\n]/g, ' '),
  );
}

/** Returns how lines of the source end. */
export function lineEndOf(source: string): string {
  return source.includes('\r\n') ? '\r\n' : '\n';
}

/** Returns the module with an entry in one of its lists. Returns undefined if the text has no list to add to. */
export function withEntry(source: string, list: 'imports' | 'providers', entry: string): string | undefined {
  const code = codeOf(source);
  const decorator = /@Module\(\s*\{/.exec(code);
  if (!decorator) return undefined;
  const open = decorator.index + decorator[0].length - 1;
  const close = endOf(code, open);
  const property = placeIn(code, String.raw`${list}\s*(?::\s*|(?=,|$))`, open, close);
  if (property === undefined) {
    // A spread object may have a list of its own, which would replace this one.
    if (placeIn(code, String.raw`\.\.\.`, open, close) !== undefined) return undefined;
    return inserted(source, open + 1, `${lineEndOf(source)}  ${list}: [${entry}],`);
  }
  // The list of a shorthand, such as `{ providers }`, is elsewhere, like that of `providers: PROVIDERS`.
  if (code[property] !== '[') return undefined;
  return withElement(source, code.slice(property + 1, endOf(code, property)), property + 1, entry);
}

/** Returns the source with one more element at the end of a list, whose inside begins at `start`. */
function withElement(source: string, inside: string, start: number, entry: string): string {
  const last = start + inside.trimEnd().length;
  const isEmpty = inside.trim() === '';
  const comma = isEmpty || inside.trimEnd().endsWith(',') ? '' : ',';
  if (isEmpty) return inserted(source, start, entry);
  const line = /\n([ \t]*)[^\n]*$/.exec(source.slice(0, last));
  const isLong = inside.includes('\n');
  const own = `${lineEndOf(source)}${line?.[1] ?? ''}${entry},`;
  return inserted(source, last, isLong ? `${comma}${own}` : `${comma} ${entry}`);
}

/** Returns the place behind the first property right inside of braces that begins as the pattern says. */
function placeIn(code: string, pattern: string, open: number, close: number): number | undefined {
  const inside = code.slice(open + 1, close);
  for (const match of inside.matchAll(new RegExp(`(?<=^\\s*|,\\s*)${pattern}`, 'g'))) {
    if (depthAt(inside.slice(0, match.index)) === 0) return open + 1 + match.index + match[0].length;
  }
  return undefined;
}

function depthAt(code: string): number {
  const brackets = code.match(/[[\](){}]/g) ?? [];
  return brackets.reduce((depth, bracket) => depth + ('[({'.includes(bracket) ? 1 : -1), 0);
}

/** Returns where the bracket at a place is closed. */
export function endOf(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if ('[({'.includes(code[at]!)) depth++;
    else if ('])}'.includes(code[at]!) && --depth === 0) return at;
  }
  return code.length;
}

export function inserted(text: string, at: number, more: string): string {
  return text.slice(0, at) + more + text.slice(at);
}

/** An import, with the semicolon at its end if it has one. */
const IMPORT = /^import (?:[^]*?from\s*)?['"][^'"]+['"](;?)[ \t\r]*\n/gm;

/** Returns the source with an import behind its last one, and a semicolon if that has one. */
export function withImport(source: string, name: string, from: string): string {
  if (new RegExp(`import\\s*\\{[^}]*\\b${name}\\b[^}]*\\}\\s*from`).test(source)) return source;
  const last = [...source.matchAll(IMPORT)].at(-1);
  const line = `import { ${name} } from '${from}'${last?.[1] ?? ';'}${lineEndOf(source)}`;
  return last ? inserted(source, last.index + last[0].length, line) : line + source;
}

// What the command line of Nest hands to a schematic, as far as it is used. So the package needs no devkit.

/** The files of the project. Nothing is written before the schematic has ended. */
export interface Tree {
  read(path: string): { toString(): string } | null;
  create(path: string, content: string): void;
  overwrite(path: string, content: string): void;
  getDir(path: string): { readonly subfiles: readonly string[] };
}

/** The run of a schematic. */
export interface Context {
  readonly logger: { info(text: string): void; warn(text: string): void };
}

/** Changes the files of a project. */
export type Schematic = (tree: Tree, context: Context) => void;

/** The mark with which some editors begin a file. */
const MARK = '\uFEFF';

/** Returns the text of a file without its byte order mark; undefined for none. */
function textOf(tree: Tree, path: string): string | undefined {
  const text = tree.read(path)?.toString();
  return text?.startsWith(MARK) ? text.slice(MARK.length) : text;
}

/** Changes a text file, and keeps its byte order mark. Returns false without the file, or if the change returns undefined. */
export function changeText(tree: Tree, path: string, change: (text: string) => string | undefined): boolean {
  const text = textOf(tree, path);
  const changed = text === undefined ? undefined : change(text);
  if (changed !== undefined && changed !== text) {
    const isMarked = tree.read(path)!.toString().startsWith(MARK);
    tree.overwrite(path, isMarked ? MARK + changed : changed);
  }
  return changed !== undefined;
}

/** Returns true if the project has ES modules, whose imports name the file with its ending. */
export function hasEsModules(tree: Tree): boolean {
  const manifest = textOf(tree, '/package.json');
  return manifest !== undefined && (JSON.parse(manifest) as { type?: string }).type === 'module';
}
