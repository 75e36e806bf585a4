// Makes dist what is published, after `npm run build:esm` has compiled it. Each entry point has one file. The code that
// they share is in other files. Importing a dozen files is much faster than importing hundreds. dist/esm and dist/cjs
// have the code that needs NestJS. dist/shared has the rest once, as CommonJS. That is all other code, the types, and
// the generated files (the Lua scripts, the dashboard's page). dist/schematics has the schematics. zod is bundled, because the library uses a tenth of it.
// compact.mjs removes the blanks of all bundles.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';
import { facadeName, keepApart, partsOf, readShared } from './bundle-parts.mjs';
import { compact } from './compact.mjs';
import { LATE_FILES, lateFileOf, lateName, withLateLoads } from './late-modules.mjs';
import { pruneTypes } from './prune-types.mjs';
import { PEERS, SharedModules } from './shared-modules.mjs';
import { typesOfBoth } from './types-of-both.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'dist');
const esm = join(dist, 'esm');
const THREAD_ENTRY = 'thread-entry.cjs';
const THREAD_FILES = [THREAD_ENTRY, 'thread-values.generated.cjs'];
const ZOD = 'zod.js';
/** The folder of the shared code, seen from that of a format. */
const SHARED = { cjs: '../shared/', es: '../shared/import/' };

const { version, exports, bin, dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const entries = Object.values(exports)
  .filter((target) => typeof target === 'object')
  .map((target) => basename(target.import.default, '.js'));
const programs = Object.values(bin).map((file) => basename(file, '.js'));

const generated = filesOf(esm).filter((file) => file.endsWith('.generated.js'));
if (generated.length === 0)
  throw new Error('bundle: dist/esm has no compiled sources; run `npm run build:esm` first');
const shared = new SharedModules(esm);
const types = pruneTypes(entries.map((entry) => join(esm, `${entry}.d.ts`)));
checkPackages(types);
checkFiles(types);
const sharedEntries = entries.filter((entry) => shared.isShared(join(esm, `${entry}.js`)));
const bundles = {
  shared: [...(await bundleShared()), ...(await bundleGenerated()), ...THREAD_FILES.map(threadFile)],
  esm: [...(await bundle('es')), ...sharedEntries.map(reexportOf)],
  cjs: [...(await bundle('cjs')), ...sharedEntries.map(requireOf)],
  schematics: await bundleSchematics(),
};

rmSync(esm, { recursive: true, force: true });
for (const [folder, list] of Object.entries(bundles)) {
  rmSync(join(dist, folder), { recursive: true, force: true });
  for (const { fileName, code } of list) write(join(dist, folder, publishedName(fileName)), code);
  // The package itself says "type": "module", which would make Node read these as ES modules.
  if (folder !== 'esm') write(join(dist, folder, 'package.json'), '{ "type": "commonjs" }\n');
}
for (const file of ['collection.json', 'handler.schema.json']) {
  copyFileSync(join(root, 'src/schematics', file), join(dist, 'schematics', file));
}
for (const [file, text] of typesOfBoth(types, entries, esm)) write(join(dist, file), text);
checkLate();

/**
 * Bundles the modules that need nothing of NestJS, as CommonJS. They are entry points, and modules that the others
 * import.
 */
async function bundleShared() {
  const parts = partsOf(shared);
  const input = Object.fromEntries([
    ...sharedEntries.map((entry) => [entry, join(esm, `${entry}.js`)]),
    ...parts.map(({ name, id }) => [name, id]),
  ]);
  const ofCore = shared.reachedFrom(join(esm, 'core.js'));
  const nameOf = (id) => lateFileOf(esm, id) ?? (ofCore.has(id) ? 'shared-core' : null);
  const plugins = [keepApart(THREAD_ENTRY), readShared(parts)];
  const files = await generate('cjs', input, plugins, [{ name: nameOf, debugName: 'core' }], false);
  return [...files, ...Object.keys(input).map(importedFile)];
}

/** Bundles the modules that need NestJS, in one of the formats. */
function bundle(format) {
  // A program runs as an ES module.
  const names = format === 'es' ? [...entries, ...programs] : entries;
  const own = names.filter((name) => !sharedEntries.includes(name));
  const input = Object.fromEntries(own.map((name) => [name, join(esm, `${name}.js`)]));
  const parts = partsOf(shared);
  const groups = [{ name: (id) => facadeName(id, parts, shared), debugName: 'facades' }];
  return generate(format, input, [readShared(parts, shared, SHARED[format])], groups);
}

async function generate(format, input, plugins, groups, includeDependenciesRecursively = true) {
  const bundler = await rolldown({
    input,
    platform: 'node',
    preserveEntrySignatures: includeDependenciesRecursively ? undefined : 'allow-extension',
    plugins,
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('\0') && !isZod(id),
    onwarn: (warning) => {
      throw new Error(`bundle: ${warning.message}`);
    },
  });
  const { output } = await bundler.generate({
    format,
    keepNames: true,
    comments: false,
    esModule: false,
    // Jest without ES modules can require a package, but not import it.
    dynamicImportInCjs: false,
    chunkFileNames: '[name].js',
    codeSplitting: {
      includeDependenciesRecursively,
      groups: [{ name: 'zod', test: /node_modules[\\/]zod/ }, ...groups],
    },
  });
  await bundler.close();
  return output.map(({ fileName, code }) => ({
    fileName,
    code:
      fileName === ZOD
        ? minified(fileName, code)
        : compact(fileName, withPeerErrors(withLateLoads(code, version)), format === 'es'),
  }));
}

/** Lets a missing peer say what to install. A bundler of the app still finds the package. */
function withPeerErrors(code) {
  return Object.entries(PEERS).reduce((text, [name, entry]) => {
    const hint = `${entry} needs the package ${name}. Run: npm install ${name}`;
    const required = `require("${name}")`;
    return text.includes(required)
      ? `${text.replace(required, `requirePeer(() => ${required}, ${JSON.stringify(hint)})`)}\n${requirePeer.toString()}\n`
      : text;
  }, code);
}

/**
 * Becomes part of the bundle. Only the use of a missing package throws. Node 20 would end the process where a CommonJS
 * module throws below an imported ES module.
 */
function requirePeer(load, hint) {
  try {
    return load();
  } catch (cause) {
    if (cause.code !== 'MODULE_NOT_FOUND') throw cause;
    const use = () => {
      throw new Error(hint, { cause });
    };
    return new Proxy({}, { get: use });
  }
}

function minified(fileName, code) {
  const { code: short } = minifySync(fileName, code, { module: false });
  return `/*! zod, MIT License, Copyright (c) 2025 Colin McDonnell */\n${short}`;
}

/**
 * Returns the file of a shared entry point or part that ES modules import. Node searches such a file for its exports, and follows
 * `module.exports = require(…)`. The search through the shared code would take ten milliseconds.
 */
function importedFile(name) {
  const code = `const shared = require("../${name}.js");\nmodule.exports = shared;\n`;
  return { fileName: `import/${name}.js`, code };
}

/** Returns the ES module of a shared entry point: it imports that of dist/shared. */
function reexportOf(entry) {
  const names = shared.exportsOf(join(esm, `${entry}.js`));
  return {
    fileName: `${entry}.js`,
    code: `import shared from '${SHARED.es}${entry}.js';\nexport const {\n\t${names.join(',\n\t')}\n} = shared;\n`,
  };
}

/** Returns the CommonJS module of a shared entry point. */
function requireOf(entry) {
  return { fileName: `${entry}.js`, code: `module.exports = require('${SHARED.cjs}${entry}.js');\n` };
}

/** Returns a file that each thread loads. */
function threadFile(fileName) {
  return { fileName, code: readFileSync(join(root, 'src/worker/threads', fileName)) };
}

/** Bundles the schematics, which the command line of Nest loads as CommonJS. */
async function bundleSchematics() {
  const bundler = await rolldown({
    input: ['handler', 'nest-add'].map((name) => join(esm, 'schematics', `${name}.js`)),
    platform: 'node',
  });
  const { output } = await bundler.generate({ format: 'cjs', comments: false, chunkFileNames: '[name].js' });
  await bundler.close();
  return output.map(({ fileName, code }) => ({ fileName, code }));
}

/** Bundles the generated files. */
async function bundleGenerated() {
  const bundler = await rolldown({ input: generated });
  const { output } = await bundler.generate({ format: 'cjs', comments: false, entryFileNames: '[name].js' });
  await bundler.close();
  return output;
}

function publishedName(fileName) {
  const late = LATE_FILES.find((name) => fileName === `${name}.js`);
  return late ? lateName(late, version) : fileName;
}

/** Refuses a late file that is loaded where the library is imported. */
function checkLate() {
  const codes = Object.values(bundles).flatMap((list) => list.map(({ code }) => String(code)));
  const early = LATE_FILES.find((name) => codes.some((code) => code.includes(`/${name}.js")`)));
  if (early) throw new Error(`bundle: a file names ${early}.js without the version; see late-modules.mjs`);
  if (!codes.some((code) => code.includes(`LATE_FILES = [() => require(`) || code.includes('LATE_FILES=[()')))
    throw new Error('bundle: no file loads all late files; see src/queue/transport/late-files.ts');
  const require = createRequire(import.meta.url);
  require(join(dist, 'cjs', 'index.js'));
  const loaded = LATE_FILES.filter((name) => require.cache[join(dist, 'shared', lateName(name, version))]);
  if (loaded.length > 0)
    throw new Error(`bundle: importing the library loads ${loaded.join(', ')}; see late-modules.mjs`);
}

/** Types may name only packages that their users have. Who uses the matchers has Jest's or Vitest's types. */
function checkPackages(files) {
  const known = Object.keys({
    ...dependencies,
    ...peerDependencies,
    '@jest/expect': '',
    '@vitest/expect': '',
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

/** Types may name only files that are kept. One that only re-exports is not kept: import from where the type is declared. */
function checkFiles(files) {
  for (const [file, text] of files) {
    for (const [, name] of text.matchAll(/^(?:import|export) [^;]*from '(\.[^']+)\.js';$/gm)) {
      if (!files.has(join(dirname(file), `${name}.d.ts`))) {
        throw new Error(
          `bundle: the types of ${relative(esm, file)} name ${name}.js, which declares nothing public; name the file that does`,
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
