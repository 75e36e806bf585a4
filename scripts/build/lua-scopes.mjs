// Puts each library of a Lua script into a block of its own. Only the names that others use are locals outside it. A
// script may have no more than 200 locals. Each variable that a function binds also costs a search among all that are
// bound and still in scope.
import { parse } from 'luaparse';
import { resolveNames } from './lua-names.mjs';

/** A block costs two lines, so it must hide at least as many names. */
const FEWEST_HIDDEN = 2;

/**
 * @param {string} text Lua 5.1
 * @param {Span[]} libraries each included text, an outer one before those that it includes
 * @returns {string} the text with a block around each library that has names of its own
 * @typedef {{ from: number, to: number }} Span
 */
export function scopeLibraries(text, libraries) {
  const blocks = blocksOf(parse(text, { luaVersion: '5.1', ranges: true }));
  const uses = usesByDefinition(text);
  const scopes = libraries.map((span) => ({ span, locals: localsIn(span, blocks), isBlock: false, exported: [] }));
  const hidden = new Set();
  for (const scope of scopes.toReversed()) {
    const own = scope.locals.filter((local) => !hidden.has(local.from) && !isUsedOutside(local, scope.span, uses));
    scope.isBlock = own.flatMap(({ names }) => names).length >= FEWEST_HIDDEN;
    if (scope.isBlock) for (const { from } of own) hidden.add(from);
  }
  const exported = new Map();
  for (const scope of scopes.filter(({ isBlock }) => isBlock)) {
    for (const local of scope.locals) {
      if (exported.has(local.from) || !isUsedOutside(local, scope.span, uses)) continue;
      exported.set(local.from, local);
      scope.exported.push(...local.names.map(({ name }) => name));
    }
  }
  return edit(text, [...exported.values()], scopes);
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
    return names.length === 0 ? [] : [{ from: range[0], to: range[1], names, isBare: init?.length === 0 }];
  });
}

function isUsedOutside({ names }, { from, to }, uses) {
  return names.some(({ at }) => (uses.get(at) ?? []).some((use) => use < from || use >= to));
}

const insert = (at, by) => ({ from: at, to: at, by });

/** Assigns exported names where they were defined, and defines them before their block. */
function edit(text, exported, scopes) {
  const blocks = scopes.filter(({ isBlock }) => isBlock);
  // At one place, inner blocks end first, then outer ones start first.
  const edits = [
    ...blocks.toReversed().map(({ span }) => insert(span.to, 'end\n')),
    ...blocks.map(({ span, exported: names }) =>
      insert(span.from, names.length > 0 ? `local ${names.join(', ')} do\n` : 'do\n'),
    ),
    ...exported.map(({ from, to, isBare }) => ({ from, to: isBare ? to : from + 'local '.length, by: '' })),
  ];
  let at = 0;
  let edited = '';
  for (const { from, to, by } of edits.toSorted((a, b) => a.from - b.from)) {
    edited += text.slice(at, from) + by;
    at = to;
  }
  return edited + text.slice(at);
}
