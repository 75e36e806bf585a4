// Texts and objects behind expressions, also of other files.
import {
  Node,
  VariableDeclarationKind,
  type EntityName,
  type Expression,
  type Identifier,
  type ObjectLiteralExpression,
} from 'ts-morph';

/** Returns the text of a literal, a constant, a member of an enum, or several of them. What can change has none. */
export function textOf(node: Node | undefined): string | undefined {
  const value = node && unwrapped(node);
  if (value === undefined) return undefined;
  if (Node.isStringLiteral(value) || Node.isNoSubstitutionTemplateLiteral(value)) return value.getLiteralText();
  if (Node.isTemplateExpression(value)) {
    const spans = value
      .getTemplateSpans()
      .map((span) => [textOf(span.getExpression()), span.getLiteral().getLiteralText()]);
    if (spans.some(([text]) => text === undefined)) return undefined;
    return value.getHead().getLiteralText() + spans.flat().join('');
  }
  for (const declaration of declarationsOf(value)) {
    const initializer = constantOf(declaration);
    const text = initializer && initializer !== value ? textOf(initializer) : undefined;
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns the object literal that an expression is, or that a constant is declared as. */
export function objectOf(node: Node | undefined): ObjectLiteralExpression | undefined {
  const value = node && unwrapped(node);
  if (Node.isObjectLiteralExpression(value)) return value;
  if (value === undefined) return undefined;
  const [declaration] = declarationsOf(value);
  const initializer = declaration && constantOf(declaration);
  return initializer && initializer !== value ? objectOf(initializer) : undefined;
}

/** Returns the value of a declaration that nothing assigns anew. */
function constantOf(node: Node): Expression | undefined {
  if (Node.isEnumMember(node) || Node.isPropertyAssignment(node)) return node.getInitializer();
  if (Node.isShorthandPropertyAssignment(node)) return node.getNameNode();
  if (Node.isPropertyDeclaration(node)) return node.isReadonly() ? node.getInitializer() : undefined;
  const isConstant =
    Node.isVariableDeclaration(node) &&
    node.getVariableStatement()?.getDeclarationKind() === VariableDeclarationKind.Const;
  return isConstant ? node.getInitializer() : undefined;
}

/** Returns the declarations of a name, those behind an import included. */
export function declarationsOf(node: Node): Node[] {
  const name = Node.isPropertyAccessExpression(node) ? node.getNameNode() : node;
  if (!Node.isIdentifier(name)) return [];
  const parent = name.getParent();
  const symbol = Node.isShorthandPropertyAssignment(parent) ? parent.getValueSymbol() : name.getSymbol();
  return (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? [];
}

/** Returns the identifier that has the declarations of a name in a type, such as `this.queue` of `typeof this.queue.add`. */
export function nameOf(name: EntityName): Identifier {
  return Node.isQualifiedName(name) ? name.getRight() : name;
}

/** Returns the value of a property; the name itself where it is short for both. */
export function propertyValue(object: ObjectLiteralExpression | undefined, name: string): Expression | undefined {
  const property = object?.getProperty(name);
  if (Node.isPropertyAssignment(property)) return property.getInitializer();
  return Node.isShorthandPropertyAssignment(property) ? property.getNameNode() : undefined;
}

/** Returns true for a value that means the same in every file. */
export function isPortable(node: Node): boolean {
  if (Node.isObjectLiteralExpression(node)) {
    return node
      .getProperties()
      .every((each) => Node.isPropertyAssignment(each) && isPortable(each.getInitializer()!));
  }
  if (Node.isBinaryExpression(node)) return isPortable(node.getLeft()) && isPortable(node.getRight());
  return (
    Node.isNumericLiteral(node) ||
    Node.isStringLiteral(node) ||
    Node.isTrueLiteral(node) ||
    Node.isFalseLiteral(node)
  );
}

/** Returns the value inside of parentheses, casts and awaits. */
export function unwrapped(node: Node): Node {
  const isWrapped =
    Node.isParenthesizedExpression(node) ||
    Node.isAsExpression(node) ||
    Node.isSatisfiesExpression(node) ||
    Node.isNonNullExpression(node) ||
    Node.isAwaitExpression(node);
  return isWrapped ? unwrapped(node.getExpression()) : node;
}

/** Returns the number that an expression is, also by arithmetic of numbers that are known. */
export function numberOf(node: Node | undefined): number | undefined {
  const value = node && unwrapped(node);
  if (value === undefined) return undefined;
  if (Node.isNumericLiteral(value)) return value.getLiteralValue();
  if (Node.isBinaryExpression(value)) {
    const [left, right] = [numberOf(value.getLeft()), numberOf(value.getRight())];
    const compute = OPERATORS[value.getOperatorToken().getText()];
    return left === undefined || right === undefined ? undefined : compute?.(left, right);
  }
  if (value.getText() === 'Number.MAX_SAFE_INTEGER') return Number.MAX_SAFE_INTEGER;
  for (const declaration of declarationsOf(value)) {
    if (Node.isEnumMember(declaration)) {
      const found = declaration.getValue();
      return typeof found === 'number' ? found : undefined;
    }
    const initializer = constantOf(declaration);
    const number = initializer && initializer !== value ? numberOf(initializer) : undefined;
    if (number !== undefined) return number;
  }
  return undefined;
}

const OPERATORS: Record<string, (left: number, right: number) => number> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
};
