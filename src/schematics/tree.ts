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
