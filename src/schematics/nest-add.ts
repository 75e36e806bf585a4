// `nest add nest-job-queue`.
import { posix } from 'node:path';
import {
  codeOf,
  endOf,
  inserted,
  lineEndOf,
  withEntry,
  withImport,
  changeText,
  type Context,
  type Schematic,
  type Tree,
} from './edit-module.js';

const MODULE = 'JobQueueModule';
const HOOKS = 'app.enableShutdownHooks();';

/** Adds the module to the root module, and shutdown hooks to the start of the app. Does nothing the second time. */
export function nestAdd(options: { sourceRoot?: string | undefined }): Schematic {
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
    if (!changeText(tree, path, changed)) context.logger.warn(`Could not change ${path}: add ${what} by hand`);
  };
}

function withModule(source: string): string | undefined {
  if (source.includes(MODULE)) return source;
  const entered = withEntry(source, 'imports', `${MODULE}.forRoot()`);
  return entered && withImport(entered, MODULE, 'nest-job-queue');
}

/** The beginning of the statement that makes the app, up to the bracket of its call. */
const CREATION = /^([ \t]*)const (\w+)(?:\s*:[^=\n]+)? = await NestFactory\.create[^(;]*\(/m;

/** Returns the start of the app with shutdown hooks right behind its creation. */
function withHooks(source: string): string | undefined {
  if (source.includes('enableShutdownHooks')) return source;
  const code = codeOf(source);
  const created = CREATION.exec(code);
  if (!created) return undefined;
  const end = endOfStatement(code, created.index + created[0].length - 1);
  if (end === undefined) return undefined;
  const semicolon = code.slice(0, end).trimEnd().endsWith(';') ? ';' : '';
  const hooks = `${created[1]}${created[2]}.enableShutdownHooks()${semicolon}${lineEndOf(source)}`;
  return inserted(source, end, hooks);
}

/** A further call behind the bracket of one, up to its own bracket. */
const CHAINED = /\)\s*\.\s*\w+\(/y;
/** The rest of a statement, and of its last line, behind its last bracket. */
const REST = /\)[ \t]*(?:as [\w<>.]+)?[ \t]*;?[ \t\r]*\n/y;

/** Returns where the line behind a statement begins; undefined if its end is not clear. @param open the bracket of its call */
function endOfStatement(code: string, open: number): number | undefined {
  CHAINED.lastIndex = REST.lastIndex = endOf(code, open);
  if (CHAINED.test(code)) return endOfStatement(code, CHAINED.lastIndex - 1);
  return REST.test(code) ? REST.lastIndex : undefined;
}
