// The hooks of typescript.mjs: resolve a .js name to its .ts file, which is transpiled once and cached.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const kept = new URL('.cache/typescript/', root);
const { compilerOptions } = JSON.parse(readFileSync(new URL('tsconfig.json', root), 'utf8'));

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
  return { format: 'module', shortCircuit: true, source: await transpiled(url) };
}

async function transpiled(url) {
  const source = readFileSync(new URL(url), 'utf8');
  const file = new URL(`${createHash('sha1').update(url).update(source).digest('hex')}.js`, kept);
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const { default: ts } = await import('typescript');
  const { outputText } = ts.transpileModule(source, {
    fileName: fileURLToPath(url),
    compilerOptions: {
      ...compilerOptions,
      target: 'es2022',
      module: 'esnext',
      moduleResolution: 'bundler',
      lib: undefined,
      noEmit: false,
      inlineSourceMap: true,
    },
  });
  mkdirSync(kept, { recursive: true });
  // Several processes may write it at once; each puts a whole file in place.
  const own = new URL(`${file.href}.${process.pid}`);
  writeFileSync(own, outputText);
  renameSync(own, file);
  return outputText;
}
