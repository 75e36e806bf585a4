// `nest add nest-job-queue`.
import { posix } from 'node:path';
import { lineEndOf, withEntry, withImport } from './edit-module.js';
import type { Context, Schematic, Tree } from './tree.js';

const MODULE = 'JobQueueModule';
const HOOKS = 'app.enableShutdownHooks();';

/** Adds the module to the root module, and shutdown hooks to the start of the app. Does nothing the second time. */
export function nestAdd(options: { sourceRoot?: string }): Schematic {
  const root = posix.join('/', options.sourceRoot ?? 'src');
  return (tree, context) => {
    const change = changer(tree, context);
    change(posix.join(root, 'app.module.ts'), `imports: [${MODULE}.forRoot()]`, withModule);
    change(posix.join(root, 'main.ts'), HOOKS, withHooks);
    context.logger.info(
      'A Redis must run on port 6379, or REDIS_URL must name one. Next: nest g -c nest-job-queue handler email',
    );
  };
}

/** Returns a function that changes a file, or says what to write by hand. */
function changer(tree: Tree, context: Context) {
  return (path: string, what: string, changed: (source: string) => string | undefined): void => {
    const source = tree.read(path)?.toString();
    const text = source === undefined ? undefined : changed(source);
    if (text === undefined) context.logger.warn(`Could not change ${path}: add ${what} by hand`);
    else if (text !== source) tree.overwrite(path, text);
  };
}

function withModule(source: string): string | undefined {
  if (source.includes(MODULE)) return source;
  const entered = withEntry(source, 'imports', `${MODULE}.forRoot()`);
  return entered && withImport(entered, MODULE, 'nest-job-queue');
}

/** The statement that makes the app, with the rest of its last line. */
const CREATION =
  /^([ \t]*)const (\w+)(?:\s*:[^=\n]+)? = await NestFactory\.create[^;]*;[ \t]*(?:\/\/[^\n]*)?\r?\n/m;

/** Returns the start of the app with shutdown hooks right behind its creation. */
function withHooks(source: string): string | undefined {
  if (source.includes('enableShutdownHooks')) return source;
  const created = CREATION.exec(source);
  if (!created) return undefined;
  const at = created.index + created[0].length;
  return `${source.slice(0, at)}${created[1]}${HOOKS.replace('app', created[2]!)}${lineEndOf(source)}${source.slice(at)}`;
}
