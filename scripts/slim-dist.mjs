// Makes the package small, once both builds are in dist. The emitted code loses its comments, which the types keep for editors. What is
// generated (the Lua scripts, the dashboard's page) is carried once: the ES build takes it from the CommonJS build.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const dist = fileURLToPath(new URL('../dist', import.meta.url));
const compilerOptions = { removeComments: true, target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext };

const files = readdirSync(dist, { recursive: true })
  .map(String)
  .filter((file) => file.endsWith('.js'));
for (const file of files) {
  const path = join(dist, file);
  const code = readFileSync(path, 'utf8');
  const slim =
    isOfEs(file) && file.endsWith('.generated.js')
      ? reExport(file, code)
      : ts.transpileModule(code, { compilerOptions }).outputText;
  if (slim !== code) writeFileSync(path, slim);
}

function isOfEs(file) {
  return file.startsWith(`esm${sep}`);
}

/** The text of an ES module that hands on what the CommonJS build of the same file exports. */
function reExport(file, code) {
  const names = [...code.matchAll(/^export const (\w+)/gm)].map(([, name]) => name);
  if (names.length === 0) return code; // it was made so before
  const other = join('cjs', relative('esm', file));
  const path = posix.normalize(relative(dirname(file), other).split(sep).join('/'));
  return `import generated from '${path}';\nexport const { ${names.join(', ')} } = generated;\n`;
}
