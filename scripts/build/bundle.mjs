// Bundles dist for publishing, after `npm run build:esm`: one file for each entry point and format. Code that entry
// points share has its own files. Importing a dozen files is much faster than importing hundreds. zod is bundled,
// because the library uses a tenth of it. Generated files (the Lua scripts, the dashboard's page) are included once, in
// dist/cjs. The types stay one file for each source.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { pruneTypes } from './prune-types.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const esm = join(root, 'dist/esm');
const cjs = join(root, 'dist/cjs');
const GENERATED = /(\w+\.generated)\.js$/;
const THREAD_ENTRY = 'thread-entry.cjs';
const ZOD = 'zod.js';

const { exports, bin, dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const entries = Object.values(exports)
  .filter((target) => typeof target === 'object')
  .map((target) => basename(target.import.default, '.js'));
const programs = Object.values(bin).map((file) => basename(file, '.js'));

const generated = filesOf(esm).filter((file) => GENERATED.test(file));
if (generated.length === 0)
  throw new Error('bundle: dist/esm has no compiled sources; run `npm run build:esm` first');
const types = pruneTypes(entries.map((entry) => join(esm, `${entry}.d.ts`)));
checkPackages(types);
const [forImport, forRequire, carried] = [await bundle('es'), await bundle('cjs'), await bundleGenerated()];
const threadEntry = readFileSync(join(root, 'src/worker/threads', THREAD_ENTRY));

for (const folder of [esm, cjs]) {
  rmSync(folder, { recursive: true, force: true });
  for (const [file, text] of types) write(join(folder, relative(esm, file)), text);
}
for (const [folder, files] of [
  [esm, forImport],
  [cjs, forRequire],
  [cjs, carried],
]) {
  for (const { fileName, code } of files) writeFileSync(join(folder, fileName), code);
  writeFileSync(join(folder, THREAD_ENTRY), threadEntry);
}
// The package itself says "type": "module", which would make Node read these as ES modules.
writeFileSync(join(cjs, 'package.json'), '{ "type": "commonjs" }\n');

async function bundle(format) {
  // A program runs as an ES module.
  const names = format === 'es' ? [...entries, ...programs] : entries;
  const input = Object.fromEntries(names.map((name) => [name, join(esm, `${name}.js`)]));
  const built = await rolldown({
    input,
    platform: 'node',
    plugins: [keepApart(format)],
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !isZod(id),
    onwarn: (warning) => {
      throw new Error(`bundle: ${warning.message}`);
    },
  });
  const { output } = await built.generate({
    format,
    keepNames: true,
    comments: false,
    // Jest without ES modules can require a package, but not import it.
    dynamicImportInCjs: false,
    chunkFileNames: '[name].js',
    codeSplitting: { groups: [{ name: 'zod', test: /node_modules[\\/]zod/ }] },
  });
  await built.close();
  return output.map(({ fileName, code }) =>
    fileName === ZOD
      ? {
          fileName,
          code: `/*! zod, MIT License, Copyright (c) 2025 Colin McDonnell */\n${minifySync(fileName, code, { module: format === 'es' }).code}`,
        }
      : { fileName, code },
  );
}

/** The generated files as CommonJS, which both formats read. */
async function bundleGenerated() {
  const built = await rolldown({ input: generated });
  const { output } = await built.generate({ format: 'cjs', comments: false, entryFileNames: '[name].js' });
  await built.close();
  return output;
}

/** Leaves the generated files and the thread's entry out of the bundles, which find them by name. */
function keepApart(format) {
  const VIRTUAL = '\0generated:';
  return {
    name: 'keep-apart',
    resolveId(id) {
      if (basename(id) === THREAD_ENTRY) return { id: `./${THREAD_ENTRY}`, external: true };
      const [, name] = GENERATED.exec(id) ?? [];
      if (name === undefined) return null;
      if (format === 'cjs') return { id: `./${name}.js`, external: true };
      return id.startsWith('../cjs/') ? { id, external: true } : `${VIRTUAL}${name}`;
    },
    load(id) {
      if (!id.startsWith(VIRTUAL)) return null;
      const name = id.slice(VIRTUAL.length);
      const code = readFileSync(
        generated.find((file) => basename(file) === `${name}.js`),
        'utf8',
      );
      const names = [...code.matchAll(/^export const (\w+)/gm)].map(([, each]) => each);
      return `import generated from '../cjs/${name}.js';\nexport const { ${names.join(', ')} } = generated;\n`;
    },
  };
}

/** Types may name only packages that their users have. */
function checkPackages(files) {
  const known = Object.keys({
    ...dependencies,
    ...peerDependencies,
    '@jest/expect': '',
    '@vitest/expect': '',
    vitest: '',
  });
  for (const [file, text] of files) {
    for (const [, name] of text
      .replace(/\/\*[^]*?\*\//g, '')
      .matchAll(/(?:from|import|import\()\s*'((?:@[^/']+\/)?[^./'][^/']*)/g)) {
      if (!known.includes(name) && !name.startsWith('node:')) {
        throw new Error(
          `bundle: the types of ${relative(esm, file)} name ${name}, which users of the package need not have`,
        );
      }
    }
  }
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function isZod(id) {
  return id === 'zod' || id.startsWith('zod/');
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
