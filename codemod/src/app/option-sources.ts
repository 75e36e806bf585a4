// Where the options of a job come from: an object in the call, a constant, or a spread of either.
import { Node, type CallExpression, type ObjectLiteralExpression } from 'ts-morph';
import { isFromBull } from './bull-imports.js';
import { declarationsOf, objectOf, propertyValue, unwrapped } from './values.js';

/** Returns the names behind the options of a call that adds jobs. */
export function namedOptions(call: CallExpression, method: string): ObjectLiteralExpression[] {
  const list = call.getArguments();
  if (method === 'add') return list.length > 1 ? objectsOf(list.at(-1)) : [];
  const literals = list.flatMap((each) => [each, ...each.getDescendants()]).filter(Node.isObjectLiteralExpression);
  return literals.flatMap((each) => objectsOf(propertyValue(each, 'opts')));
}

/** Returns the objects that constants name in an expression of options. */
function objectsOf(node: Node | undefined): ObjectLiteralExpression[] {
  return sourcesOf(node).flatMap((source) => {
    const object = Node.isObjectLiteralExpression(source) ? undefined : objectOf(source);
    return object ? [object, ...spreadsIn(object).flatMap(objectsOf)] : [];
  });
}

function sourcesOf(node: Node | undefined): Node[] {
  const value = node && unwrapped(node);
  if (value === undefined) return [];
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

/** Returns true for a name whose type says that it has options of a job. */
export function hasOptionsType(node: Node): boolean {
  return declarationsOf(node).some((declaration) => {
    const isTyped =
      Node.isParameterDeclaration(declaration) ||
      Node.isVariableDeclaration(declaration) ||
      Node.isPropertyDeclaration(declaration);
    const type = isTyped ? declaration.getTypeNode() : undefined;
    return (
      Node.isTypeReference(type) && isFromBull(type.getTypeName(), 'JobsOptions', 'JobOptions', 'BulkJobOptions')
    );
  });
}
