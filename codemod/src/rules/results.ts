// What becomes of the value that a call returns.
import { Node, type CallExpression } from 'ts-morph';
import { declarationsOf } from '../app/values.js';
import type { Rewriter } from '../rewrite/rewriter.js';

/** Returns the whole expression of a call: with its `await`, and with what follows on its promise. */
export function wholeOf(call: Node): Node {
  let value = call;
  for (let parent = value.getParent(); parent; parent = value.getParent()) {
    const isChain = Node.isPropertyAccessExpression(parent) && /^(then|catch|finally)$/.test(parent.getName());
    const isCalled = Node.isCallExpression(parent) && parent.getExpression() === value;
    const isWrapped =
      Node.isAwaitExpression(parent) || Node.isParenthesizedExpression(parent) || Node.isNonNullExpression(parent);
    if (!isChain && !isCalled && !isWrapped) break;
    value = parent;
  }
  return value;
}

/** Returns true if nothing takes the value of a call. */
export function isIgnored(call: Node): boolean {
  const whole = wholeOf(call);
  const parent = whole.getParent();
  if (Node.isExpressionStatement(parent) || Node.isVoidExpression(parent)) return true;
  // `await Promise.all(list.map((each) => call))`, and `list.forEach((each) => call)`.
  if (Node.isArrowFunction(parent) && parent.getBody() === whole) {
    const outer = parent.getParent();
    const called = Node.isCallExpression(outer) ? outer.getExpression() : undefined;
    const name = Node.isPropertyAccessExpression(called) ? called.getName() : '';
    if (name === 'forEach') return true;
    return name === 'map' && isInAll(outer) && isIgnored(outer.getParent()!);
  }
  return Node.isArrayLiteralExpression(parent) && isInAll(parent) && isIgnored(parent.getParent());
}

function isInAll(node: Node): boolean {
  const parent = node.getParent();
  return Node.isCallExpression(parent) && /^Promise\.all(Settled)?$/.test(parent.getExpression().getText());
}

/** Returns a call whose promise has no value, where code takes the value. */
export function withoutValue(call: CallExpression, text: string): string {
  return isIgnored(call) ? text : `${text}.then(() => undefined)`;
}

/** Returns true if code may read one of these members of what a call returns. */
export function reads(call: CallExpression, members: RegExp, r: Rewriter): boolean {
  const whole = wholeOf(call);
  if (isIgnored(call)) return false;
  const parent = whole.getParent();
  if (Node.isPropertyAccessExpression(parent)) return members.test(parent.getName());
  const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  if (!Node.isIdentifier(name)) return true;
  return r.app.usesOf(parent!, name.getText()).some((use) => {
    const user = use.getParent();
    if (Node.isPropertyAccessExpression(user)) return members.test(user.getName());
    const isTest =
      Node.isPrefixUnaryExpression(user) ||
      Node.isIfStatement(user) ||
      (Node.isBinaryExpression(user) && user.getRight() === use && declarationsOf(user.getLeft()).length === 0);
    return !isTest;
  });
}
