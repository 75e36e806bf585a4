// Turns lua/**/*.lua into TypeScript modules: src/queue/lua.generated.ts has the texts, digests.generated.ts beside it their digests. Bundles
// cannot read files at run time, and every build and jest share the modules. A process on a server that knows the scripts needs no text.
//
// A line `--@include lib/room/name` is replaced by lua/lib/room/name.lua. A library that defines names comes once in a
// script: another library that includes it later uses its names. One that is only a statement comes as often as it is
// included. A library may include others. No two top-level
// locals of a script have one name. Local functions and constants that a script does not use are dropped. A library is a
// block of its own, outside which only the names are locals that others use. Every name must be defined where it is
// used. The line `-- Needs:` of a library lists the names that it takes from others.
//
// A line `--@cluster lib/room/name` is an include for a Redis Cluster only. A script with such a line has a second text,
// which has further lines and else the same. So one server pays nothing for it.
//
// A script that ends with the line `--@body room/name` has the body of another script, behind the header of that. Only there a line
// `--@limited lib/room/name` is an include. So the other script does not pay for it.
//
// A script's name is its path in camel case: lua/attempt/claim.lua is `attemptClaim`. A line `-- Transition: NAME` in its header is for the audit trail. It names
// how the script changes the status of jobs or deletes them. `-- Transition: none` declares that it does neither. Only
// a script with the flag no-writes may leave the line out. Comments and blank lines are dropped.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dropUnused, keepUsedKeys, resolveNames } from './lua/names.mjs';
import { needsOf, withNeeds } from './lua/needs.mjs';
import { scopeLibraries } from './lua/scopes.mjs';

/** Before and behind each function at the start of a line, before each local there, and around a library's block. */
const PART_BOUNDARY = /(?<=^(?:do|end)\n)|(?=^(?:local |function |do$|end$))/m;

/** Hands out the texts. A text can be replaced by a test that slows a script down. */
const READER = `function member(textOf: () => string, onReplaced: () => void): PropertyDescriptor {
  let text: string | undefined;
  return {
    enumerable: true,
    get: () => (text ??= textOf()),
    set: (other: string) => {
      text = other;
      onReplaced();
    },
  };
}

function texts(textOf: (recipe: readonly number[]) => string, digests: Partial<Record<LuaScriptName, string>>) {
  return Object.defineProperties(
    {},
    Object.fromEntries(Object.entries(recipes).map(([name, recipe]) => [
        name,
        member(
          () => textOf(recipe),
          () => delete digests[name as LuaScriptName],
        ),
      ])),
  ) as Readonly<Record<LuaScriptName, string>>;
}

export const luaScripts = texts((recipe) => recipe.map((part) => parts[part] ?? '').join(''), scriptDigests);

/** The texts for a Redis Cluster. A part with a number below zero is only in these. */
export const clusterScripts = texts((recipe) => recipe.map((part) => parts[part < 0 ? ~part : part]).join(''), clusterDigests);
`;

const TRANSITION = /^-- Transition: (none|[a-z]+(?:-[a-z]+)*)$/;

/** The names that a line without indentation defines. */
const TOP_LEVEL_LOCALS = /^local (?:function )?(\w+(?:\s*,\s*\w+)*)/gm;

/** The line that stands for the body of another script. */
const BODY = /^--@body ([a-z0-9_/-]+)$/m;

const INCLUDE = /^--@(include|cluster|limited) lib\/([a-z0-9_/-]+)$/;

/**
 * Reads a folder of Lua scripts and returns their texts ready for SCRIPT LOAD, by camel-cased path. Throws an error
 * with the file's name for a library that is missing, included twice or never included. Also for a name that nothing
 * defines where it is used.
 *
 * @param {(file: string, right: string) => void} onStaleNeeds gets each library whose line `-- Needs:` is wrong, and
 *   its right text. Throws an error by default.
 * @param {Map<string, object>} made has the scripts that earlier calls have made, by their texts
 */
export function readLuaScripts(dir, onStaleNeeds = refuseStaleNeeds, made = new Map()) {
  return readLuaTexts(dir, onStaleNeeds, made).scripts;
}

/** Reads the texts of the scripts, and those for a Cluster of the scripts that have another one there. */
export function readLuaTexts(dir, onStaleNeeds = refuseStaleNeeds, made = new Map()) {
  const libs = readLibs(join(dir, 'lib'));
  const included = new Map();
  const [scripts, clusterScripts] = [{}, {}];
  const uses = [];
  for (const { name, file, text, isLimited } of scriptFiles(dir)) {
    if (name in scripts) throw new Error(`${file}: another script is already called ${name}`);
    const plain = embed(file, text, { libs, included, made, isLimited, isCluster: false });
    scripts[name] = plain.script;
    uses.push(...plain.uses);
    if (!plain.hasClusterLines) continue;
    const clustered = embed(file, text, { libs, included, made, isLimited, isCluster: true });
    clusterScripts[name] = clustered.script;
    uses.push(...clustered.uses);
  }
  const needs = needsOf(uses, (file) => included.get(file) ?? new Set());
  for (const [name, text] of libs) {
    const file = `lib/${name}.lua`;
    if (!included.has(file)) throw new Error(`${dir}/${file}: no script includes it; delete it or include it`);
    const right = withNeeds(text, needs.get(file) ?? []);
    if (right !== text) onStaleNeeds(`${dir}/${file}`, right);
  }
  return { scripts, clusterScripts };
}

/**
 * Returns the transitions that the headers of the scripts declare, by camel-cased path. A script that changes no job
 * has none. Throws an error with the file's name if a writing script declares nothing, or a read-only script declares a
 * transition.
 */
export function readTransitions(dir) {
  const transitions = {};
  for (const { name, file, text } of scriptFiles(dir)) {
    const transition = transitionIn(file, text);
    if (transition !== 'none') transitions[name] = transition;
  }
  return transitions;
}

/**
 * Returns the TypeScript module that carries the scripts. A function or a local that several scripts include is stored once. A
 * text is assembled when it is first read, because most processes need few.
 */
export function renderModule(scripts, transitions, clusterScripts = {}) {
  const parts = new Map();
  const partOf = (text) => parts.get(text) ?? parts.set(text, parts.size).get(text);
  const recipeOf = ({ text, isCluster }) => (isCluster ? [~partOf(text)] : text.split(PART_BOUNDARY).map(partOf));
  const recipes = Object.entries(scripts).map(
    ([name, text]) =>
      `  ${name}: [${sectionsOf(name, text, clusterScripts[name] ?? text)
        .flatMap(recipeOf)
        .join(', ')}],\n`,
  );
  const declared = Object.entries(transitions).map(([name, transition]) => `  ${name}: '${transition}',\n`);
  const texts = [...parts.keys()].map((text) => `  ${JSON.stringify(text)},\n`);
  return (
    '// Made from lua/**/*.lua by scripts/build/embed-lua.mjs. Do not edit.\n' +
    "import { clusterDigests, scriptDigests, type LuaScriptName } from './digests.generated.js';\n\n" +
    'export type { LuaScriptName };\n\n' +
    '/** Of each script that changes the status of jobs, or deletes some: what the audit trail calls that. */\n' +
    `export const transitions: Readonly<Partial<Record<LuaScriptName, string>>> = {\n${declared.join('')}};\n\n` +
    `const parts: readonly string[] = [\n${texts.join('')}];\n\n` +
    `const recipes: Readonly<Record<LuaScriptName, readonly number[]>> = {\n${recipes.join('')}};\n\n` +
    READER
  );
}

/** Returns such a module without digests. Then each text gets its digest at its first use. */
export function withoutDigests(module) {
  return module.replace(/^ {2}\w+: '[0-9a-f]{40}',\n/gm, '');
}

/** Returns the TypeScript module with the digests of the scripts, and with the commands that they call. */
export function renderDigests(scripts, clusterScripts = {}) {
  const ofWorkers = Object.entries(scripts).flatMap(([name, text]) => (name.startsWith('migrate') ? [] : [text]));
  const names = Object.keys(scripts).map((name) => `'${name}'`);
  return (
    '// Made from lua/**/*.lua by scripts/build/embed-lua.mjs. Do not edit.\n' +
    `export type LuaScriptName = ${names.join(' | ')};\n\n` +
    '/** The commands of Redis that the scripts of workers call, but for those in the texts for a Cluster alone. */\n' +
    `export const scriptCommands: readonly string[] = ${JSON.stringify(commandsOf(ofWorkers))};\n\n` +
    '/** The digest of each script. One whose text was replaced has none. */\n' +
    `export const scriptDigests: Partial<Record<LuaScriptName, string>> = {\n${digestLines(scripts).join('')}};\n\n` +
    '/** The same of the texts for a Redis Cluster. */\n' +
    `export const clusterDigests: Partial<Record<LuaScriptName, string>> = {\n  ...scriptDigests,\n${digestLines(clusterScripts).join('')}};\n`
  );
}

function digestLines(texts) {
  return Object.entries(texts).map(
    ([name, text]) => `  ${name}: '${createHash('sha1').update(text).digest('hex')}',\n`,
  );
}

/** A call of one command, or of one of two by a condition. */
const COMMAND = /redis\.p?call\(\s*(?:[\w.]+ and '(\w+)' or )?'(\w+)'/g;

/** Returns the commands that scripts call, in lower case. */
export function commandsOf(texts) {
  const found = texts.flatMap((text) => [...text.matchAll(COMMAND)].flatMap(([, ...names]) => names));
  const called = found.filter((name) => name !== undefined).map((name) => name.toLowerCase());
  return [...new Set(called)].toSorted((a, b) => (a < b ? -1 : 1));
}

/** Returns the text for a Cluster in sections: those of both texts, and those that are only in it. */
function sectionsOf(name, plain, clustered) {
  const rest = plain.split(/(?<=\n)/);
  const sections = [];
  for (const line of clustered.split(/(?<=\n)/)) {
    const isCluster = line !== rest[0];
    if (!isCluster) rest.shift();
    if (sections.at(-1)?.isCluster !== isCluster) sections.push({ text: '', isCluster });
    sections.at(-1).text += line;
  }
  if (rest.length > 0) throw new Error(`${name}: the text for a Cluster lacks the line ${rest[0]}`);
  return sections;
}

/** Drops comments and blank lines. Quoted strings are kept as they are. */
export function stripComments(file, text) {
  // Matches strings first, because "--" inside a string is no comment.
  const token = /"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|--\[(=*)\[[\s\S]*?\]\1\]|--[^\n]*|\[=*\[/g;
  const stripped = text.replace(token, (match) => {
    if (match.startsWith('--')) return ' ';
    if (match.startsWith('['))
      throw new Error(`${file}: long bracket strings (${match}) are not supported; use quotes`);
    return match;
  });
  const lines = stripped.split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => line !== '').join('\n') + '\n';
}

function scriptFiles(dir) {
  const files = luaFiles(dir).filter((file) => !file.startsWith('lib/'));
  if (files.length === 0) throw new Error(`${dir}: expected at least one .lua script, found none`);
  return files.map((file) => {
    const own = readFileSync(join(dir, file), 'utf8');
    const [, other] = BODY.exec(own) ?? [];
    const text = other === undefined ? own : own.replace(BODY, () => bodyOf(join(dir, `${other}.lua`)));
    return {
      name: camelCase(file.slice(0, -'.lua'.length)),
      file: `${dir}/${file}`,
      text,
      isLimited: text !== own,
    };
  });
}

/** Returns a script without its flags and its header. */
function bodyOf(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.slice(lines.findIndex((line) => !/^(#!|--(?!@))/.test(line))).join('\n');
}

function transitionIn(file, text) {
  const declared = text.split(/\r?\n/).flatMap((line) => TRANSITION.exec(line)?.[1] ?? []);
  if (/^#!lua flags=.*\bno-writes\b/.test(text)) {
    if (declared.length > 0) throw new Error(`${file}: a script with the flag no-writes has no transition`);
    return 'none';
  }
  if (declared.length !== 1)
    throw new Error(
      `${file}: expected one line "-- Transition: NAME" or "-- Transition: none", found ${declared.length}`,
    );
  return declared[0];
}

function readLibs(dir) {
  const libs = new Map();
  if (!existsSync(dir)) return libs;
  for (const file of luaFiles(dir)) {
    const text = readFileSync(join(dir, file), 'utf8');
    if (text.startsWith('#!'))
      throw new Error(`${dir}/${file}: a #! line belongs into the script, not into a library`);
    libs.set(file.slice(0, -'.lua'.length), text);
  }
  return libs;
}

function embed(file, text, { libs, included, made, isCluster, isLimited }) {
  const [first = '', ...rest] = text.split(/\r?\n/);
  const flags = first.startsWith('#!') ? `${first.trimEnd()}\n` : '';
  const lines = flags === '' ? [first, ...rest] : rest;
  const skipped = [];
  const place = { libs, included, isCluster, isLimited, skipped, own: new Set(), path: [], within: [] };
  const expanded = expand(file, lines, flags === '' ? 1 : 2, place);
  const whole = expanded.map((line) => line.text).join('\n');
  const key = `${file}\n${flags}${whole}`;
  if (!made.has(key)) made.set(key, scriptOf(file, flags, whole, expanded));
  return { ...made.get(key), hasClusterLines: skipped.length > 0 };
}

function scriptOf(file, flags, whole, expanded) {
  checkLocals(file, stripComments(file, whole));
  const used = dropUnused(whole);
  // Redis reads the flags only from the very first line.
  const scoped = scopeLibraries(used, spansOf(expanded));
  const script = flags + stripComments(file, keepUsedKeys(scoped));
  return { script, uses: locate(file, used, expanded) };
}

/** Returns where the text of each included library is, an outer one before those that it includes. */
function spansOf(expanded) {
  const spans = new Map();
  let at = 0;
  for (const { text, within } of expanded) {
    for (const include of within)
      spans.set(include, { name: include.name, from: spans.get(include)?.from ?? at, to: at + text.length + 1 });
    at += text.length + 1;
  }
  return [...spans.values()];
}

/** Returns each use of a name that another file defines. Throws for a name without a definition, or with two. */
function locate(scriptFile, script, expanded) {
  const lines = expanded.flatMap((line) => Array(line.text.length + 1).fill(line));
  return resolveNames(script).uses.flatMap(({ name, at, definedAt, hides }) => {
    const { file, at: place } = lines[at];
    if (definedAt === undefined)
      throw new Error(`${place}: nothing defines the name "${name}" in ${scriptFile}; include its library before`);
    const definition = lines[definedAt];
    if (definition.file === file) return [];
    if (hides)
      throw new Error(`${place}: "${name}" is the local of ${definition.at}, which hides another one; rename one`);
    return [{ name, file, definedIn: definition.file }];
  });
}

function refuseStaleNeeds(file, right) {
  const needs = /^-- Needs:[^\n]*(?:\n--   [^\n]*)*/m.exec(right)?.[0] ?? 'no line "-- Needs:"';
  throw new Error(`${file}: expected ${needs}\nnode scripts/build/embed-lua.mjs --write-needs writes it`);
}

/** Throws if two locals have one name. Which of them a line reads would depend on the order of the includes. */
function checkLocals(file, script) {
  const defined = new Set();
  for (const [, names] of script.matchAll(TOP_LEVEL_LOCALS)) {
    for (const name of names.split(/\s*,\s*/)) {
      if (defined.has(name))
        throw new Error(`${file}: the local "${name}" is defined twice at the top level of the script; rename one`);
      defined.add(name);
    }
  }
}

/**
 * Returns the lines with their includes in place, each with its file and the includes that it is within. `first` is the
 * number of the first line.
 */
function expand(file, lines, first, place) {
  const { libs, included, isCluster, isLimited, skipped, own, path, within } = place;
  return lines.flatMap((line, index) => {
    const [, kind, name] = INCLUDE.exec(line) ?? [];
    const at = `${file}:${index + first}`;
    if (kind === 'cluster' && !isCluster) {
      skipped.push(at);
      return [];
    }
    if (kind === 'limited' && !isLimited) return [];
    if (name === undefined) {
      if (/@(include|cluster|limited)/.test(line))
        throw new Error(`${at}: expected exactly "--@include lib/name", found "${line}"`);
      return [{ text: line, file, at, within }];
    }
    const lib = libs.get(name);
    if (lib === undefined) throw new Error(`${at}: there is no lib/${name}.lua`);
    const inner = `lib/${name}.lua`;
    const isRepeated = own.has(name) && /^local /m.test(lib);
    if (path.includes(name) || (isRepeated && path.length === 0))
      throw new Error(`${at}: ${inner} is already included`);
    if (isRepeated) return [{ text: '', file: inner, at, within }];
    own.add(name);
    const deeper = { ...place, path: [...path, name], within: [...within, { name }] };
    const expanded = expand(inner, lib.split(/\r?\n/), 1, deeper);
    included.set(inner, new Set([...(included.get(inner) ?? []), ...expanded.map((each) => each.file)]));
    return expanded;
  });
}

function luaFiles(dir) {
  if (!existsSync(dir)) throw new Error(`${dir}: the folder of the Lua scripts does not exist`);
  return readdirSync(dir, { recursive: true })
    .map((file) => String(file).split(sep).join('/'))
    .filter((file) => file.endsWith('.lua'))
    .toSorted();
}

function camelCase(name) {
  return name.replace(/[-_/]+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** Writes a file at once, and only where its content changes: several commands may embed at the same time. */
function writeIfChanged(file, text) {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, file);
}

/** Returns what the module is made from, as a line: the sources, and the code that embeds them. */
function sourceLine() {
  const hash = createHash('sha1');
  for (const dir of ['lua', 'scripts/build']) {
    for (const file of readdirSync(dir, { recursive: true }).map(String).toSorted()) {
      if (/\.(lua|mjs)$/.test(file)) hash.update(file).update(readFileSync(join(dir, file)));
    }
  }
  return `// Sources: ${hash.digest('hex')}\n`;
}

/** Makes the modules, unless they are there and their sources are the same. */
function embedAll(file, digests, writesNeeds) {
  const texts = writesNeeds && readLuaTexts('lua', writeIfChanged);
  const line = sourceLine();
  if ([file, digests].every((each) => existsSync(each) && readFileSync(each, 'utf8').startsWith(line))) return;
  const { scripts, clusterScripts } = texts || readLuaTexts('lua');
  writeIfChanged(file, line + renderModule(scripts, readTransitions('lua'), clusterScripts));
  writeIfChanged(digests, line + renderDigests(scripts, clusterScripts));
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
  try {
    embedAll(
      'src/queue/lua.generated.ts',
      'src/queue/digests.generated.ts',
      process.argv.includes('--write-needs'),
    );
  } catch (error) {
    console.error(`embed-lua: ${error.message}`);
    process.exitCode = 1;
  }
}
