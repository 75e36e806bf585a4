// Texts and objects behind expressions, also of other files.
import { Node, type Expression, type ObjectLiteralExpression } from 'ts-morph';

/** Returns the text that an expression is. It is a literal, a constant, or a member of an enum or a constant object. */
export function textOf(node: Node | undefined): string | undefined {
  const value = node && unwrapped(node);
  if (value === undefined) return undefined;
  if (Node.isStringLiteral(value) || Node.isNoSubstitutionTemplateLiteral(value)) return value.getLiteralText();
  for (const declaration of declarationsOf(value)) {
    const initializer =
      Node.isVariableDeclaration(declaration) ||
      Node.isEnumMember(declaration) ||
      Node.isPropertyAssignment(declaration) ||
      Node.isPropertyDeclaration(declaration)
        ? declaration.getInitializer()
        : undefined;
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
  const hasValue = Node.isVariableDeclaration(declaration) || Node.isPropertyDeclaration(declaration);
  return hasValue ? objectOf(declaration.getInitializer()) : undefined;
}

/** Returns the declarations of a name, those behind an import included. */
export function declarationsOf(node: Node): Node[] {
  const name = Node.isPropertyAccessExpression(node) ? node.getNameNode() : node;
  if (!Node.isIdentifier(name)) return [];
  const symbol = name.getSymbol();
  return (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? [];
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
