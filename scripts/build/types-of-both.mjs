// The types of both formats. One set of files, in dist/shared, describes both; the types of an entry point in dist/esm and dist/cjs name these.
import { relative } from 'node:path';

/** Packages that are ES modules only in some supported versions. CommonJS types may name them only so. */
const ES_MODULES = /^@nestjs\/|^vitest$|^@vitest\//;
const AS_ES_MODULE = "with { 'resolution-mode': 'import' }";

/**
 * Returns the text of each file of types, by its path in dist.
 *
 * @param types the text of each file, by its path in a folder of compiled sources
 */
export function* typesOfBoth(types, entries, folder) {
  for (const [file, text] of types) {
    const path = relative(folder, file);
    if (!entries.includes(path.replace('.d.ts', ''))) {
      yield [`shared/${path}`, ofCommonJs(text)];
      continue;
    }
    const moved = text.replace(/(from |import |import\()'\.\/([^']+)\.js'/g, (whole, before, name) =>
      entries.includes(name) ? whole : `${before}'../shared/${name}.js'`,
    );
    yield [`esm/${path}`, moved];
    yield [`cjs/${path}`, ofCommonJs(moved)];
  }
}

/** Types for TypeScript before 5.8, which lets CommonJS name an ES module only by its mode. */
function ofCommonJs(text) {
  return text
    .replace(/^import (?:type )?(.+ from '([^']+)');$/gm, (whole, rest, name) =>
      ES_MODULES.test(name) ? `import type ${rest.replace(/\btype /g, '')} ${AS_ES_MODULE};` : whole,
    )
    .replace(/import\('([^']+)'\)/g, (whole, name) =>
      ES_MODULES.test(name) ? `import('${name}', { ${AS_ES_MODULE.replace('with', 'with:')} })` : whole,
    );
}
