// `nest g -c nest-job-queue handler email`.
import { posix } from 'node:path';
import { withEntry, withImport, changeText, hasEsModules, type Schematic, type Tree } from './edit-module.js';

/** The options, as the command line of Nest names them. */
export interface HandlerOptions {
  name: string;
  path?: string | undefined;
  sourceRoot?: string | undefined;
  flat?: boolean | undefined;
  spec?: boolean | undefined;
  specFileSuffix?: string | undefined;
  skipImport?: boolean | undefined;
}

/** Makes a handler with its test, and adds it to the providers of the nearest module. */
export function handler(options: HandlerOptions): Schematic {
  const { folder: under, name } = partsOf(options.name);
  if (name === '') throw new Error(`nest-job-queue: expected the name of a job, found "${options.name}"`);
  if (/^\d/.test(name)) {
    throw new Error(`nest-job-queue: expected a name that begins with a letter, found "${options.name}"`);
  }
  const className = `${classNameOf(name)}Handler`;
  return (tree, context) => {
    const folder = posix.join(
      '/',
      options.sourceRoot ?? 'src',
      options.path ?? '',
      under,
      options.flat ? '' : name,
    );
    const file = posix.join(folder, `${name}.handler`);
    const ending = hasEsModules(tree) ? '.js' : '';
    tree.create(`${file}.ts`, handlerText(name, className));
    if (options.spec !== false) {
      tree.create(`${file}.${options.specFileSuffix || 'spec'}.ts`, specText(name, className, ending));
    }
    if (options.skipImport) return;
    const module = nearestModule(tree, folder);
    const add = (text: string) => withProvider(text, className, `${relative(module!, file)}${ending}`);
    if (module === undefined || !changeText(tree, module, add)) {
      context.logger.warn(`Add ${className} to the providers of a module: ${module ?? 'none was found'}`);
    }
  };
}

/** Returns the folder and the last part of a name such as `mails/welcome`. */
function partsOf(name: string): { folder: string; name: string } {
  const parts = name.split('/').map(dashed);
  return { folder: parts.slice(0, -1).join('/'), name: parts.at(-1)! };
}

/** Returns the module in the folder, or in the nearest one above. */
function nearestModule(tree: Tree, folder: string): string | undefined {
  for (let at = folder; ; at = posix.dirname(at)) {
    const [module] = tree
      .getDir(at)
      .subfiles.filter((file) => file.endsWith('.module.ts'))
      .toSorted();
    if (module) return posix.join(at, module);
    if (at === '/') return undefined;
  }
}

function relative(module: string, file: string): string {
  const path = posix.relative(posix.dirname(module), file);
  return path.startsWith('.') ? path : `./${path}`;
}

function withProvider(module: string, className: string, from: string): string | undefined {
  const entered = withEntry(module, 'providers', className);
  return entered && withImport(entered, className, from);
}

function handlerText(name: string, className: string): string {
  return `import { JobHandler, type Job } from 'nest-job-queue';

export interface ${className.replace(/Handler$/, 'Payload')} {
  id: string;
}

@JobHandler('${name}', { maxAttempts: 5, timeoutMs: 30_000 })
export class ${className} {
  // A job may run more than once: make this idempotent, for instance by job.id.
  handle(job: Job<${className.replace(/Handler$/, 'Payload')}>): { done: string } {
    return { done: job.payload.id };
  }
}
`;
}

function specText(name: string, className: string, ending: string): string {
  return `import { runHandler } from 'nest-job-queue/testing';
import { ${className} } from './${name}.handler${ending}';

describe('${className}', () => {
  it('runs a job', async () => {
    // Providers of the handler go into a third argument: { providers: [...] }.
    expect(await runHandler(${className}, { id: '1' })).toEqual({ done: '1' });
  });
});
`;
}

/** Returns the words of a name, as those of `sendEmail`, `send-email` and `send email`. */
function wordsOf(name: string): string[] {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2');
  return (spaced.match(/[A-Za-z0-9]+/g) ?? []).map((word) => word.toLowerCase());
}

/** Returns the name of files, folders and the job: `send-email`. */
function dashed(name: string): string {
  return wordsOf(name).join('-');
}

/** Returns the name of a class: `SendEmail`. */
function classNameOf(name: string): string {
  return wordsOf(name)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');
}
