// Which names of a file come from BullMQ or Bull.
import { Node, type Identifier, type ImportDeclaration, type SourceFile } from 'ts-morph';

const PACKAGES = ['@nestjs/bullmq', '@nestjs/bull', 'bullmq', 'bull'];

/** A name that a file imports, as its package calls it; `*` is the package itself. */
export interface Origin {
  package: string;
  name: string;
}

const known = new WeakMap<SourceFile, Map<string, Origin>>();

export function isBullImport(declaration: ImportDeclaration): boolean {
  return PACKAGES.includes(declaration.getModuleSpecifierValue());
}

/** Returns the names that a file imports from BullMQ or Bull, by what they are called there. */
export function bullImports(file: SourceFile): Map<string, Origin> {
  const found = known.get(file) ?? readImports(file);
  known.set(file, found);
  return found;
}

function readImports(file: SourceFile): Map<string, Origin> {
  const found = new Map<string, Origin>();
  for (const declaration of file.getImportDeclarations().filter(isBullImport)) {
    const from = declaration.getModuleSpecifierValue();
    for (const named of declaration.getNamedImports()) {
      found.set(named.getAliasNode()?.getText() ?? named.getName(), { package: from, name: named.getName() });
    }
    const whole = declaration.getDefaultImport() ?? declaration.getNamespaceImport();
    if (whole) found.set(whole.getText(), { package: from, name: '*' });
  }
  return found;
}

/** Returns where a name comes from: an identifier, or a member of the whole package such as `Bull.Job`. */
export function originOf(node: Node | undefined): Origin | undefined {
  if (node === undefined) return undefined;
  const imports = bullImports(node.getSourceFile());
  if (Node.isIdentifier(node)) return isReference(node) ? imports.get(node.getText()) : undefined;
  const [left, right] = Node.isQualifiedName(node)
    ? [node.getLeft(), node.getRight()]
    : Node.isPropertyAccessExpression(node)
      ? [node.getExpression(), node.getNameNode()]
      : [];
  const whole = left && imports.get(left.getText());
  return whole?.name === '*' ? { package: whole.package, name: right!.getText() } : undefined;
}

export function isFromBull(node: Node | undefined, ...names: string[]): boolean {
  const origin = originOf(node);
  return origin !== undefined && names.includes(origin.name);
}

/** Returns false for a name that is that of a member or of a property. */
function isReference(node: Identifier): boolean {
  const parent = node.getParent();
  if (Node.isPropertyAccessExpression(parent) || Node.isPropertyAssignment(parent)) {
    return parent.getNameNode() !== node;
  }
  if (Node.isQualifiedName(parent)) return parent.getLeft() === node;
  return !(
    Node.isMethodDeclaration(parent) ||
    Node.isPropertyDeclaration(parent) ||
    Node.isPropertySignature(parent) ||
    Node.isEnumMember(parent) ||
    Node.isImportSpecifier(parent)
  );
}
