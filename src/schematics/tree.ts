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

/** Returns true if the project has ES modules, whose imports name the file with its ending. */
export function hasEsModules(tree: Tree): boolean {
  const manifest = tree.read('/package.json')?.toString();
  return manifest !== undefined && (JSON.parse(manifest) as { type?: string }).type === 'module';
}
