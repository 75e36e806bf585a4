// Where the options of jobs stand: in the calls of queues and of the module.
import { Node, type CallExpression, type ObjectLiteralExpression } from 'ts-morph';
import { kindOf } from './kinds.js';
import { assignmentsTo, returnsOf } from './origins.js';
import { moduleMethod, optionsOf, settingIn } from './queues.js';
import { declarationsOf, objectOf, propertyValue, unwrapped } from './values.js';

/** Returns the expressions of options of jobs in a call. */
export function optionExpressions(call: CallExpression): Node[] {
  const method = moduleMethod(call);
  if (method !== undefined) return valuesOf(call, 'defaultJobOptions');
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called) || kindOf(called.getExpression()) !== 'queue') return [];
  const name = called.getName();
  const list = call.getArguments();
  const given =
    name === 'add'
      ? [optionsOf(call)]
      : name === 'addBulk'
        ? itemsOf(list[0])?.map((each) => propertyValue(each, 'opts'))
        : name === 'upsertJobScheduler'
          ? [propertyValue(objectOf(list[2]), 'opts')]
          : [];
  return (given ?? []).filter((each) => each !== undefined);
}

function valuesOf(call: CallExpression, name: string): Node[] {
  const objects = call.getArguments().flatMap((each) => [each, ...each.getDescendants()]);
  return objects.filter(Node.isObjectLiteralExpression).flatMap((each) => propertyValue(each, name) ?? []);
}

/** Returns the objects that constants name in the options of a call. */
export function namedOptions(call: CallExpression): ObjectLiteralExpression[] {
  return optionExpressions(call).flatMap(objectsOf);
}

/**
 * Returns the objects of the jobs of a list, or of the function that makes each of them. Undefined
 * if they are not all known.
 */
export function itemsOf(node: Node | undefined): ObjectLiteralExpression[] | undefined {
  const list = node && unwrapped(node);
  if (Node.isArrayLiteralExpression(list)) {
    const items = list
      .getElements()
      .map((each) => (Node.isSpreadElement(each) ? itemsOf(each.getExpression()) : literal(each)));
    return items.every((each) => each !== undefined) ? items.flat() : undefined;
  }
  if (!Node.isCallExpression(list)) return undefined;
  const called = list.getExpression();
  const made = list.getArguments()[0];
  const isMap = Node.isPropertyAccessExpression(called) && called.getName() === 'map';
  if (!isMap || (!Node.isArrowFunction(made) && !Node.isFunctionExpression(made))) return undefined;
  const body = made.getBody();
  const results = Node.isBlock(body) ? returnsOf(made).map(literal) : [literal(body)];
  return results.length > 0 && results.every((each) => each !== undefined) ? results.flat() : undefined;
}

function literal(node: Node): ObjectLiteralExpression[] | undefined {
  const value = unwrapped(node);
  return Node.isObjectLiteralExpression(value) ? [value] : undefined;
}

/** Returns the objects that constants name in an expression of options. */
function objectsOf(node: Node): ObjectLiteralExpression[] {
  return sourcesOf(node).flatMap((source) => {
    const object = Node.isObjectLiteralExpression(source) ? undefined : objectOf(source);
    return object ? [object, ...spreadsIn(object).flatMap(objectsOf)] : [];
  });
}

function sourcesOf(node: Node): Node[] {
  const value = unwrapped(node);
  if (Node.isConditionalExpression(value)) return [value.getWhenTrue(), value.getWhenFalse()].flatMap(sourcesOf);
  if (Node.isBinaryExpression(value)) return [value.getLeft(), value.getRight()].flatMap(sourcesOf);
  return Node.isObjectLiteralExpression(value) ? [value, ...spreadsIn(value).flatMap(sourcesOf)] : [value];
}

function spreadsIn(object: ObjectLiteralExpression): Node[] {
  return object
    .getProperties()
    .filter(Node.isSpreadAssignment)
    .map((each) => each.getExpression());
}

/**
 * Returns the jobs that a call of `addBulk` adds. They are made in the call, or in a variable that serves for it alone. Undefined if
 * one of them is unknown, or cannot be converted.
 */
export function bulkItems(
  call: CallExpression,
  usesOf: (node: Node, name: string) => Node[],
): ObjectLiteralExpression[] | undefined {
  const [given] = call.getArguments();
  const items = itemsOf(given) ?? (given && itemsInVariable(given, usesOf));
  return items?.every(isConvertible) ? items : undefined;
}

function isConvertible(item: ObjectLiteralExpression): boolean {
  const opts = item.getProperty('opts');
  if (item.getProperties().some((each) => Node.isSpreadAssignment(each))) return false;
  if (opts && !Node.isPropertyAssignment(opts) && !Node.isShorthandPropertyAssignment(opts)) return false;
  return settingIn('repeat', propertyValue(item, 'opts')) === 'absent';
}

/** Returns the jobs of a list that a variable names. */
function itemsInVariable(
  given: Node,
  usesOf: (node: Node, name: string) => Node[],
): ObjectLiteralExpression[] | undefined {
  const value = unwrapped(given);
  const [declaration] = Node.isIdentifier(value) ? declarationsOf(value) : [];
  const isOwn = Node.isVariableDeclaration(declaration) && declaration.getTypeNode() === undefined;
  if (!isOwn || assignmentsTo(declaration).length > 0) return undefined;
  const items = itemsOf(declaration.getInitializer());
  if (items === undefined) return undefined;
  for (const use of usesOf(declaration, declaration.getName())) {
    const parent = use.getParent();
    const call = parent?.getParent();
    if (use === value || (Node.isPropertyAccessExpression(parent) && parent.getName() === 'length')) continue;
    const isPush =
      Node.isPropertyAccessExpression(parent) && parent.getName() === 'push' && Node.isCallExpression(call);
    const pushed = isPush ? call.getArguments().map((each) => unwrapped(each)) : [];
    if (!isPush || !pushed.every(Node.isObjectLiteralExpression)) return undefined;
    items.push(...pushed);
  }
  return items;
}
