// Resolves the names of a Lua script: where each name is defined and used, and which definitions nothing uses.
import { parse } from 'luaparse';

/** The names that Redis gives to every script. SCRIPT is the place of the script in the frame of the audit trail. */
const GIVEN = new Set(
  (
    'ARGV KEYS SCRIPT assert bit cjson cmsgpack error ipairs math next pairs pcall redis select setmetatable string ' +
    'struct table tonumber tostring type unpack xpcall'
  ).split(' '),
);

/** Expressions without an effect. A table is one if all in it are, and so is a key. */
const PURE = new Set(['NumericLiteral', 'StringLiteral', 'BooleanLiteral', 'NilLiteral', 'FunctionDeclaration']);

/**
 * Returns the text without the local functions and constants that nothing outside themselves uses.
 *
 * @param {string} text
 * @returns {string} each line with the number it had
 * @typedef {{ from: number, to: number }} Span
 */
export function dropUnused(text) {
  const { uses, removable } = resolveNames(text);
  const usesOf = byDefinition(uses);
  const dropped = [];
  const isDropped = (offset) => dropped.some(({ from, to }) => from <= offset && offset < to);
  const isUsed = ({ from, to, defines }) =>
    defines.some((name) => (usesOf.get(name) ?? []).some(({ at }) => (at < from || at >= to) && !isDropped(at)));
  for (let before = -1; before < dropped.length;) {
    before = dropped.length;
    for (const statement of removable) {
      if (!isDropped(statement.from) && !isUsed(statement)) dropped.push(statement);
    }
  }
  return blank(text, dropped);
}

/**
 * Returns the text with a local for each used key only. A script may have no more than 200 locals. So
 * `local a, b, c = unpack(KEYS)` becomes `local a, c = KEYS[1], KEYS[3]`.
 *
 * @param {string} text
 */
export function keepUsedKeys(text) {
  const { uses, keyLists } = resolveNames(text);
  const used = new Set(uses.map(({ definedAt }) => definedAt));
  let kept = text;
  for (const { from, to, variables } of keyLists.toReversed()) {
    const keys = variables.map(({ name, range }, i) => ({ name, at: range[0], key: `KEYS[${i + 1}]` }));
    const some = keys.filter(({ at }) => used.has(at));
    if (some.length === 0 || some.length === keys.length) continue;
    const names = some.map(({ name }) => name).join(', ');
    kept = `${kept.slice(0, from)}local ${names} = ${some.map(({ key }) => key).join(', ')}${kept.slice(to)}`;
  }
  return kept;
}

/**
 * Returns each use of a name, but for the names that Redis gives, and the statements that only define.
 *
 * @param {string} text Lua 5.1
 * @returns {{ uses: Use[], removable: (Span & { defines: number[] })[], keyLists: (Span & { variables: object[] })[] }}
 * @typedef {{ name: string, at: number, definedAt: number | undefined, hides: boolean }} Use as offsets; undefined for
 *   a name without a definition. hides: its definition hides another one
 */
export function resolveNames(text) {
  const found = { uses: [], removable: [], keyLists: [] };
  walkAll(parse(text, { luaVersion: '5.1', ranges: true }).body, new Scope(), found);
  return found;
}

class Scope {
  #definitions = new Map();
  #outer;

  constructor(outer) {
    this.#outer = outer;
  }

  define({ name, range }) {
    this.#definitions.set(name, { at: range[0], hides: this.find(name) !== undefined });
  }

  find(name) {
    return this.#definitions.get(name) ?? this.#outer?.find(name);
  }
}

function byDefinition(uses) {
  const usesOf = new Map();
  for (const use of uses) usesOf.set(use.definedAt, [...(usesOf.get(use.definedAt) ?? []), use]);
  return usesOf;
}

/** Replaces spans by blanks, so that each line keeps its number. */
function blank(text, spans) {
  let blanked = text;
  for (const { from, to } of spans)
    blanked = blanked.slice(0, from) + blanked.slice(from, to).replace(/[^\n]/g, ' ') + blanked.slice(to);
  return blanked;
}

function walkAll(nodes, scope, found) {
  for (const node of nodes) walk(node, scope, found);
}

/** Visits a node. A field's name, as in `a.b` and `{ b = 1 }`, is no use of a name. */
function walk(node, scope, found) {
  switch (node.type) {
    case 'Identifier':
      return noteUse(node, scope, found);
    case 'MemberExpression':
      return walk(node.base, scope, found);
    case 'TableKeyString':
      return walk(node.value, scope, found);
    case 'LocalStatement':
      return walkLocal(node, scope, found);
    case 'FunctionDeclaration':
      return walkFunction(node, scope, found);
    case 'ForNumericStatement':
      walkAll([node.start, node.end, ...(node.step ? [node.step] : [])], scope, found);
      return walkInner([node.variable], node.body, scope, found);
    case 'ForGenericStatement':
      walkAll(node.iterators, scope, found);
      return walkInner(node.variables, node.body, scope, found);
    case 'RepeatStatement':
      return walkInner([], [...node.body, node.condition], scope, found);
    default:
      return walkChildren(node, scope, found);
  }
}

function walkLocal({ variables, init, range }, scope, found) {
  walkAll(init, scope, found);
  for (const variable of variables) scope.define(variable);
  if (init.every(isPure)) noteRemovable(variables, range, found);
  if (init.length === 1 && isUnpackedKeys(init[0]))
    found.keyLists.push({ from: range[0], to: range[1], variables });
}

function walkFunction({ identifier, isLocal, parameters, body, range }, scope, found) {
  if (isLocal) {
    scope.define(identifier);
    noteRemovable([identifier], range, found);
  } else if (identifier) {
    walk(identifier, scope, found);
  }
  const named = parameters.filter(({ type }) => type === 'Identifier');
  walkInner(named, body, scope, found);
}

function walkInner(defined, statements, scope, found) {
  const inner = new Scope(scope);
  for (const variable of defined) inner.define(variable);
  walkAll(statements, inner, found);
}

/** Visits the parts of a node in their order. A body has a scope of its own. */
function walkChildren(node, scope, found) {
  for (const [key, value] of Object.entries(node)) {
    if (key === 'range') continue;
    const inner = key === 'body' ? new Scope(scope) : scope;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child && typeof child === 'object' && 'type' in child) walk(child, inner, found);
    }
  }
}

function noteUse({ name, range }, scope, found) {
  const definition = scope.find(name);
  if (definition === undefined && GIVEN.has(name)) return;
  found.uses.push({ name, at: range[0], definedAt: definition?.at, hides: definition?.hides ?? false });
}

function noteRemovable(variables, [from, to], found) {
  found.removable.push({ from, to, defines: variables.map(({ range }) => range[0]) });
}

function isUnpackedKeys({ type, base, arguments: given }) {
  return type === 'CallExpression' && base.name === 'unpack' && given.length === 1 && given[0].name === 'KEYS';
}

function isPure(expression) {
  if (expression.type === 'TableConstructorExpression')
    return expression.fields.every(({ key, value }) => isPure(value) && (key === undefined || isConstantKey(key)));
  if (expression.type === 'IndexExpression') return expression.base.name === 'KEYS' && isPure(expression.index);
  return PURE.has(expression.type);
}

function isConstantKey(key) {
  return key.type === 'Identifier' || PURE.has(key.type);
}
