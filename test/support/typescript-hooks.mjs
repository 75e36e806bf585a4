// The hooks of typescript.mjs: resolve a .js name to its .ts file, and transpile it.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transpile } from './transpile-file.mjs';

const root = new URL('../../', import.meta.url);

export async function resolve(name, context, next) {
  const [, entry] = /^nest-job-queue(?:\/(\w+))?$/.exec(name) ?? [name];
  if (name.startsWith('nest-job-queue')) return next(new URL(`src/${entry ?? 'index'}.ts`, root).href, context);
  const path = name.replace(/^#(?=[a-z]+\/)/, new URL('src/', root).href);
  if (/^(\.|file:)/.test(path) && path.endsWith('.js')) {
    const source = new URL(path.replace(/js$/, 'ts'), context.parentURL);
    if (existsSync(source)) return next(source.href, context);
  }
  return next(name, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const path = fileURLToPath(url);
  const { code, map } = transpile(path, readFileSync(path, 'utf8'));
  const comment = Buffer.from(JSON.stringify(map)).toString('base64');
  const source = `${code}\n//# sourceMappingURL=data:application/json;base64,${comment}\n`;
  return { format: 'module', shortCircuit: true, source };
}
