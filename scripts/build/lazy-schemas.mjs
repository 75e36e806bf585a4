// Lets a bundle make its schemas at their first use. An app needs a third of the 600, and no import has to make the others.
import { parseAst } from 'rolldown/parseAst';

const FUNCTION = /Function|^MethodDefinition$/;

/**
 * Returns the code of a bundle that makes its schemas at their first use. Each constant that zod makes becomes a function, and each
 * use of it a call. So does a constant that is made of such a one. A constant whose name is also that of a local stays as it is.
 */
export function withLazySchemas(code) {
  const [zod] = /(?<=^const )\w+(?= = require\("\.\/zod\.js"\);$)/m.exec(code) ?? [];
  if (!zod) return code;
  const tree = parseAst(code, { sourceType: 'script' });
  const { uses, declared } = namesIn(tree);
  const constants = tree.body.map(constantOf).filter((each) => each && declared.get(each.name) === 1);
  const lazy = lazyOf(constants, uses, zod);
  const edits = [...lazy].flatMap(([name, { statement, init }]) => [
    {
      start: statement.start,
      end: init.start,
      text: `let ${name}_made;\nfunction ${name}() {\n\treturn ${name}_made ??= `,
    },
    { start: init.end, end: statement.end, text: ';\n}' },
  ]);
  return edited(code, [...edits, ...uses.filter(({ name }) => lazy.has(name)).map(editOf)]);
}

/** Returns the constant that a statement declares. */
function constantOf({ type, kind, declarations, ...statement }) {
  if (type !== 'VariableDeclaration' || kind !== 'const' || declarations.length > 1) return undefined;
  const [{ id, init }] = declarations;
  return id.type === 'Identifier' ? { name: id.name, init, statement } : undefined;
}

/** Returns the constants to make late, by name. Each is made of zod or of one before it. A function that it holds makes what it uses. */
function lazyOf(constants, uses, zod) {
  const atOnce = uses.filter(({ isAtOnce }) => isAtOnce);
  const lazy = new Map();
  for (const constant of constants) {
    const { start, end } = constant.init;
    const isMadeOf = (use) => use.start >= start && use.end <= end && (use.name === zod || lazy.has(use.name));
    if (atOnce.some(isMadeOf)) lazy.set(constant.name, constant);
  }
  return lazy;
}

/** Returns where names are used, and how often each is declared. */
function namesIn(tree) {
  const uses = [];
  const declared = new Map();
  const declare = (pattern) => {
    if (pattern?.type === 'Identifier') declared.set(pattern.name, (declared.get(pattern.name) ?? 0) + 1);
    else
      for (const child of childrenOf(pattern))
        declare(child.type === 'Property' ? child.value : (child.left ?? child.argument ?? child));
  };
  const visit = (node, parent, isAtOnce) => {
    if (node.type === 'VariableDeclarator' || /^(Function|Class)/.test(node.type)) declare(node.id);
    if (node.type === 'CatchClause') declare(node.param);
    node.params?.forEach(declare);
    if (node.type === 'Identifier' && !isKey(node, parent)) {
      uses.push({ name: node.name, start: node.start, end: node.end, parent, isAtOnce });
    }
    const isInside = isAtOnce && !FUNCTION.test(node.type);
    for (const child of childrenOf(node)) visit(child, node, isInside);
  };
  visit(tree, undefined, true);
  return { uses, declared };
}

/** Yields the nodes below a node. A shorthand of an object is one node. */
function* childrenOf(node) {
  for (const [name, value] of Object.entries(node ?? {})) {
    if (name === 'key' && node.shorthand) continue;
    for (const child of Array.isArray(value) ? value : [value]) if (typeof child?.type === 'string') yield child;
  }
}

/** Returns whether an identifier is no use of a name: the name of a member, or what a constant declares. */
function isKey(node, parent) {
  if (parent.type === 'VariableDeclarator') return parent.id === node;
  return !parent.computed && (parent.property === node || (parent.key === node && !parent.shorthand));
}

/** Returns the edit that makes a call of a use. */
function editOf({ name, start, end, parent }) {
  if (parent.type === 'NewExpression' && parent.callee.start === start) {
    throw new Error(`bundle: ${name} cannot be made late, because it is a class`);
  }
  if (parent.type === 'Property' && parent.shorthand) return { start, end, text: `${name}: ${name}()` };
  const { left } = parent;
  if (left?.object?.name === 'exports' && parent.right.start === start) {
    const text = `Object.defineProperty(exports, "${left.property.name}", { enumerable: true, get: ${name} })`;
    return { start: parent.start, end: parent.end, text };
  }
  return { start, end, text: `${name}()` };
}

function edited(code, edits) {
  let text = '';
  let from = 0;
  for (const { start, end, text: piece } of edits.toSorted((a, b) => a.start - b.start)) {
    text += code.slice(from, start) + piece;
    from = end;
  }
  return text + code.slice(from);
}
