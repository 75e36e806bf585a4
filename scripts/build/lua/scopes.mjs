// Puts each library of a Lua script into a block of its own. Only the names that others use are locals outside it. If
// several functions are among them, they are fields of one table. A script may have no more than 200 locals. Each
// variable that a function binds also costs a search among all that are bound and still in scope.
import { parse } from 'luaparse';
import { resolveNames } from './names.mjs';

/** A block costs two lines, so it must hide more names than that. */
const FEWEST_HIDDEN = 3;

/** A table costs a search at each use, so it must replace several names. */
const FEWEST_FIELDS = 3;

/**
 * @param {string} text Lua 5.1
 * @param {Span[]} libraries each included text, an outer one before those that it includes
 * @returns {string} the text with a block around each library that has names of its own
 * @typedef {{ name: string, from: number, to: number }} Span
 */
export function scopeLibraries(text, libraries) {
  const blocks = blocksOf(parse(text, { luaVersion: '5.1', ranges: true }));
  const uses = usesByDefinition(text);
  const scopes = libraries.map((span) => ({ span, locals: localsIn(span, blocks), isBlock: false, exported: [] }));
  const exports = exportsOf(text, scopes, uses);
  const here = (scope) => [...new Set(scope.locals.map(({ from }) => exports.get(from)))];
  const hidden = new Set();
  for (const scope of scopes.toReversed()) {
    const own = here(scope).filter((each) => !hidden.has(each) && !isUsedOutside(each.usedAt, scope.span));
    scope.isBlock = own.flatMap(({ names }) => names).length >= FEWEST_HIDDEN;
    if (scope.isBlock) for (const each of own) hidden.add(each);
  }
  const exported = new Set();
  for (const scope of scopes.filter(({ isBlock }) => isBlock)) {
    scope.exported = here(scope).filter((each) => !exported.has(each) && isUsedOutside(each.usedAt, scope.span));
    for (const each of scope.exported) exported.add(each);
  }
  const tables = [...new Set(exports.values())].filter(({ isTable }) => isTable);
  const bare = tables.filter((table) => !exported.has(table));
  return edit(text, { scopes, tables, locals: [...exported].filter(({ isTable }) => !isTable), bare, uses });
}

/**
 * Returns what each local is to the rest of the script, by its place. It is a local as before, or a field of a table. A
 * library has a table if others use several of its functions.
 */
function exportsOf(text, scopes, uses) {
  const innermost = new Map(scopes.flatMap((scope) => scope.locals.map(({ from }) => [from, scope])));
  const usesOf = ({ names }) => names.flatMap(({ at }) => uses.get(at) ?? []);
  return new Map(
    scopes.flatMap((scope) => {
      const { span, locals } = scope;
      const own = locals.filter(({ from }) => innermost.get(from) === scope);
      const shared = own.filter((local) => isUsedOutside(usesOf(local), span));
      const isTable = shared.filter(({ isFunction }) => isFunction).length >= FEWEST_FIELDS;
      const table = isTable && {
        isTable,
        names: [tableName(span, text)],
        locals: shared,
        usedAt: shared.flatMap(usesOf),
        at: span.from,
      };
      const alone = (local) => ({
        isTable: false,
        names: local.names.map(({ name }) => name),
        locals: [local],
        usedAt: usesOf(local),
      });
      return own.map((local) => [local.from, table && shared.includes(local) ? table : alone(local)]);
    }),
  );
}

function isUsedOutside(usedAt, { from, to }) {
  return usedAt.some((use) => use < from || use >= to);
}

function tableName({ name }, text) {
  const table = `lib_${name.replaceAll(/[/-]/g, '_')}`;
  if (new RegExp(`\\b${table}\\b`).test(text))
    throw new Error(`lib/${name}.lua: the local "${table}" has the name of the library's table; rename it`);
  return table;
}

/** Returns the lists of statements of a script, an outer one before those inside it. */
function blocksOf(node) {
  const own = node.type !== 'TableConstructorExpression' && Array.isArray(node.body) ? [node.body] : [];
  const parts = Object.entries(node).flatMap(([key, value]) => (key === 'range' ? [] : value));
  return [...own, ...parts.filter((part) => part && typeof part === 'object').flatMap(blocksOf)];
}

function usesByDefinition(text) {
  const uses = new Map();
  for (const { at, definedAt } of resolveNames(text).uses)
    uses.set(definedAt, [...(uses.get(definedAt) ?? []), at]);
  return uses;
}

/** Returns the locals that the statements of a library define, but for those inside its functions and blocks. */
function localsIn({ from, to }, blocks) {
  const isInside = ({ range }) => from <= range[0] && range[1] <= to;
  const block = blocks.find((statements) => statements.some(isInside)) ?? [];
  return block.filter(isInside).flatMap(({ type, isLocal, variables, identifier, init, range }) => {
    const named = type === 'LocalStatement' ? variables : isLocal ? [identifier] : [];
    const names = named.map(({ name, range: [at] }) => ({ name, at }));
    return names.length === 0
      ? []
      : [{ from: range[0], to: range[1], names, isBare: init?.length === 0, isFunction: isLocal === true }];
  });
}

const insert = (at, by) => ({ from: at, to: at, by });

/** Assigns exported names where they were defined, and defines them before their block. */
function edit(text, { scopes, tables, locals, bare, uses }) {
  const blocks = scopes.filter(({ isBlock }) => isBlock);
  const assigned = [...locals, ...tables].flatMap((each) => each.locals);
  // At one place, inner blocks end first, then outer ones start first.
  const edits = [
    ...blocks.toReversed().map(({ span }) => insert(span.to, 'end\n')),
    ...blocks.map(({ span, exported }) =>
      insert(span.from, exported.length > 0 ? `${defining(exported)} do\n` : 'do\n'),
    ),
    ...bare.map((table) => insert(table.at, `${defining([table])}\n`)),
    ...assigned.map(({ from, to, isBare }) => ({ from, to: isBare ? to : from + 'local '.length, by: '' })),
    ...tables.flatMap(({ names: [table], locals: fields }) =>
      fields.flatMap(({ names, isBare }) =>
        names.flatMap(({ at }) =>
          [...(isBare ? [] : [at]), ...(uses.get(at) ?? [])].map((use) => insert(use, `${table}.`)),
        ),
      ),
    ),
  ];
  let at = 0;
  let edited = '';
  for (const { from, to, by } of edits.toSorted((a, b) => a.from - b.from)) {
    edited += text.slice(at, from) + by;
    at = to;
  }
  return edited + text.slice(at);
}

/** Returns the definition of what a block exports. The nils reserve room, because a growing table costs as much again. */
function defining(exported) {
  const tables = exported.filter(({ isTable }) => isTable);
  const names = [...tables, ...exported.filter(({ isTable }) => !isTable)].flatMap((each) => each.names);
  const fields = tables.map(({ locals }) =>
    locals.flatMap((local) => local.names.map(({ name }) => `${name} = nil`)).join(', '),
  );
  return `local ${names.join(', ')}${fields.length > 0 ? ` = ${fields.map((each) => `{ ${each} }`).join(', ')}` : ''}`;
}
