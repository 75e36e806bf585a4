// The mutants of a TypeScript source, by the mutators of StrykerJS and by our own kinds of fault. Of StrykerJS only the instrumenter is
// used: mutants of both languages run in the same way.
import ts from 'typescript';

/** Of these a test need not know: texts of logs and errors, and conditions that only pick one of them. */
const EXCLUDED = ['StringLiteral', 'Regex'];

const silent = () => undefined;
const logger = new Proxy({}, { get: () => silent });

/** Returns the changes of a source: our own, and those of StrykerJS. Those are left out if `kinds` are our own alone. */
export async function typescriptEdits(file, text, kinds = []) {
  const own = kindsOf(text);
  if (kinds.length > 0 && kinds.every((kind) => OWN.includes(kind))) return own;
  const isOwn = (edit) =>
    own.some(({ from, to, after }) => from === edit.from && to === edit.to && after === edit.after);
  return [...(await strykerEdits(file, text)).filter((edit) => !isOwn(edit)), ...own];
}

async function strykerEdits(file, text) {
  // Loaded only here: Lua and our own changes need none of it.
  const [{ createInstrumenter }, { createInjector }] = await Promise.all([
    import('@stryker-mutator/instrumenter'),
    import('typed-inject'),
  ]);
  const injector = createInjector()
    .provideValue('logger', logger)
    .provideValue('getLogger', () => logger);
  const options = { plugins: [], excludedMutations: EXCLUDED, ignorers: [] };
  const { mutants } = await injector
    .injectFunction(createInstrumenter)
    .instrument([{ name: file, content: text, mutate: true }], options);
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offsetOf = ({ line, column }) => starts[line] + column;
  const kept = mutants.filter(({ status }) => status !== 'Ignored');
  return kept.map(({ mutatorName, replacement, location }) => ({
    operator: mutatorName,
    from: offsetOf(location.start),
    to: offsetOf(location.end),
    after: replacement,
  }));
}

/** The operators of our own. */
const OWN = ['equality at a bound', 'sort key', 'cursor anew', 'drop outcome', 'keep fence', 'part for whole'];

const CURSOR = /^(cursor|offset|from|after|next|nextCursor|position)$/;
const FENCE = /^(fence|sequence|epoch|generation|turn)$/i;

/** Returns the changes of the kinds of fault that these mutators do not have. They are those of lua-edits. */
function kindsOf(text) {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const edits = [];
  const add = (operator, node, after) => edits.push({ operator, from: node.getStart(), to: node.getEnd(), after });
  const visit = (node) => {
    otherBounds(node, add);
    otherOrders(node, add);
    newCursors(node, add);
    withoutOutcomes(node, add);
    keptFences(node, add);
    partsForWhole(node, add);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edits;
}

const OTHER_BOUND = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

/** Counts a bound in or out. */
function otherBounds(node, add) {
  if (!ts.isBinaryExpression(node)) return;
  const other = OTHER_BOUND[node.operatorToken.getText()];
  if (other) add('equality at a bound', node, `${node.left.getText()} ${other} ${node.right.getText()}`);
}

/** Keeps the order in which the elements came. */
function otherOrders(node, add) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
  const [compare] = node.arguments;
  if (compare && /^(sort|toSorted)$/.test(node.expression.name.text)) add('sort key', compare, '() => 0');
}

/** Begins anew where a call continues at a cursor. */
function newCursors(node, add) {
  if (ts.isCallExpression(node)) {
    for (const each of node.arguments)
      if (ts.isIdentifier(each) && CURSOR.test(each.text)) add('cursor anew', each, 'undefined');
  }
  if (
    ts.isShorthandPropertyAssignment(node) &&
    CURSOR.test(node.name.text) &&
    ts.isCallExpression(node.parent.parent)
  ) {
    add('cursor anew', node, `${node.name.text}: undefined`);
  }
}

const isText = (node) => ts.isStringLiteral(node);

/** Leaves one of several outcomes out of a rule. */
function withoutOutcomes(node, add) {
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 1 && node.elements.every(isText)) {
    for (const each of node.elements) {
      const others = node.elements.filter((other) => other !== each).map((other) => other.getText());
      add('drop outcome', node, `[${others.join(', ')}]`);
    }
  }
  if (ts.isCaseClause(node) && isText(node.expression)) add('drop outcome', node.expression, "'none of these'");
}

/** Leaves a fence as it is. */
function keptFences(node, add) {
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    if (node.operator === ts.SyntaxKind.PlusPlusToken && FENCE.test(node.operand.getText().split('.').at(-1))) {
      add('keep fence', node, node.operand.getText());
    }
  } else if (
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.PlusToken &&
    node.right.getText() === '1'
  ) {
    if (FENCE.test(node.left.getText().split('.').at(-1))) add('keep fence', node, node.left.getText());
  }
}

const isName = (side) => (ts.isIdentifier(side) ? side.text !== 'undefined' : ts.isPropertyAccessExpression(side));

/** Takes texts for equal of which one begins or ends with the other. */
function partsForWhole(node, add) {
  if (!ts.isBinaryExpression(node)) return;
  const isEqual = node.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken;
  if (!isEqual && node.operatorToken.kind !== ts.SyntaxKind.ExclamationEqualsEqualsToken) return;
  if (!isName(node.left) || !isName(node.right)) return;
  if (/\b(length|size|kind|undefined)$/.test(`${node.left.getText()} ${node.right.getText()}`)) return;
  const [left, right] = [`String(${node.left.getText()})`, `String(${node.right.getText()})`];
  for (const verb of ['startsWith', 'endsWith']) {
    add('part for whole', node, `${isEqual ? '' : '!'}${left}.${verb}(${right})`);
  }
}
