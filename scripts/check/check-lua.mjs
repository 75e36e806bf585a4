// Compiles all texts of the scripts for the server in memory: plain, of a Cluster and inside the audit frame. A construct outside of the subset of Lua that it knows fails here, with its file and line.
//
//   node --import ./tools/chaos/register.mjs scripts/check/check-lua.mjs
import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns a line for each construct that the compiler refuses. Files come from `lua`, whose lines the texts have without
 * comments.
 *
 * @param {Iterable<[name: string, text: string]>} texts
 * @param {(text: string) => unknown} compile throws an error with a `line` of the text, and with `what` is wrong there
 * @param {string} lua the folder of the sources
 */
export function checkLua(texts, compile, lua) {
  const problems = new Set();
  for (const [name, text] of texts) {
    try {
      compile(text);
    } catch (error) {
      if (error.line === undefined) throw error;
      const line = text.split('\n')[error.line - 1];
      problems.add(`${placesOf(lua, line).join(' or ') || `line ${error.line} of ${name}`}: ${error.what}`);
    }
  }
  return [...problems].map((problem) => `${problem} is not in the subset of Lua that the server in memory runs`);
}

/** Returns the places of a line of a text in the sources. */
function placesOf(lua, line) {
  return sourcesOf(lua).flatMap(({ file, lines }) =>
    lines.flatMap((each, i) => (bare(each) === bare(line) ? [`${file}:${i + 1}`] : [])),
  );
}

/** Returns a line without comments, without `local` before a function, and without the table of a library. */
function bare(line) {
  return line
    .replace(/\s--\s.*$/, '')
    .replace(/\blib_\w+\./g, '')
    .trim()
    .replace(/^local function /, 'function ');
}

function sourcesOf(lua) {
  return readdirSync(lua, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .map((file) => ({ file: join(lua, file), lines: readFileSync(join(lua, file), 'utf8').split('\n') }));
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { luaScripts, clusterScripts, transitions } = await import('../../src/queue/lua.generated.ts');
  const { framed } = await import('../../src/queue/transport/audited-script.ts');
  const { compileLua } = await import('../../src/memory/lua/compile.ts');
  const { checkCommand } = await import('../../src/memory/server/commands.ts');
  const names = Object.keys(luaScripts).filter((name) => name !== 'auditFrame');
  const texts = names.flatMap((name) => [
    [name, luaScripts[name]],
    [`${name} of a Cluster`, clusterScripts[name]],
    ...(transitions[name] ? [[`${name} in the audit frame`, framed(name, luaScripts)]] : []),
    ...(transitions[name] ? [[`${name} of a Cluster in the audit frame`, framed(name, clusterScripts)]] : []),
  ]);
  const problems = checkLua(texts, (text) => compileLua(text, checkCommand), 'lua');
  problems.forEach((problem) => console.error(problem));
  if (problems.length > 0) process.exitCode = 1;
}
