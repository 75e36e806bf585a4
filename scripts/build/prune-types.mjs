// Reduces compiled types to those that the entry points lead to. Others enlarge the package, and name packages that its
// users lack.
import { dirname } from 'node:path';
import ts from 'typescript';

/**
 * Returns the text of each types file that the entries need, by path, without declarations that nothing public names.
 *
 * @param entries the paths of the entry points' types
 */
export function pruneTypes(entries) {
  const program = ts.createProgram(entries, {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    types: ['node'],
    skipLibCheck: true,
    noEmit: true,
  });
  const folder = dirname(entries[0]);
  const isOurs = (file) => file.fileName.startsWith(`${folder}/`);
  const needed = neededStatements(program, entries, isOurs);
  const pruned = program.getSourceFiles().map((file) => [file.fileName, textOf(file, needed)]);
  return new Map(pruned.filter(([, text]) => text !== undefined));
}

/** Returns the top-level statements that the entries lead to, with the names that they use. */
function neededStatements(program, entries, isOurs) {
  const checker = program.getTypeChecker();
  const needed = new Map();
  const queue = [];
  const need = (statement) => {
    if (needed.has(statement) || ts.isImportDeclaration(statement)) return;
    const names = new Set();
    needed.set(statement, names);
    queue.push([statement, names]);
  };
  const open = (file) => file.statements.filter(isAlwaysNeeded).forEach(need);
  for (const entry of entries) program.getSourceFile(entry).statements.forEach(need);
  const opened = new Set();
  const follow = (symbol) => {
    for (const declaration of symbol?.declarations ?? []) {
      const statement = topStatement(declaration);
      const file = declaration.getSourceFile();
      if (!statement || !isOurs(file)) continue;
      if (!opened.has(file)) open(file);
      opened.add(file);
      need(statement);
    }
  };
  const visit = (names) => (node) => {
    if (ts.isIdentifier(node)) {
      names.add(node.text);
      const symbol = checker.getSymbolAtLocation(node);
      follow(symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
    }
    ts.forEachChild(node, visit(names));
  };
  for (const [statement, names] of queue) {
    if (ts.isExportDeclaration(statement) && !statement.exportClause) openModule(checker, statement, need);
    visit(names)(statement);
  }
  return needed;
}

/** Marks everything of an `export * from` as public. */
function openModule(checker, { moduleSpecifier }, need) {
  const file = checker.getSymbolAtLocation(moduleSpecifier)?.valueDeclaration;
  file?.statements.forEach(need);
}

/** Returns true for a statement with an effect: another export of the module, or additions to another package's types. */
function isAlwaysNeeded(statement) {
  return ts.isExportDeclaration(statement) || ts.isModuleDeclaration(statement);
}

function topStatement(node) {
  let current = node;
  while (current && !ts.isSourceFile(current.parent ?? current)) current = current.parent;
  return current && !ts.isSourceFile(current) ? current : undefined;
}

/** Returns undefined for a file that is not needed. */
function textOf(file, needed) {
  const kept = file.statements.filter((statement) => needed.has(statement));
  if (kept.length === 0) return undefined;
  const used = new Set(kept.flatMap((statement) => [...needed.get(statement)]));
  const imports = file.statements.filter(ts.isImportDeclaration).flatMap((statement) => importOf(statement, used));
  return [...imports, ...kept.map((statement) => statement.getFullText(file).trim()), ''].join('\n');
}

/** Returns the import with only its used names. */
function importOf(statement, used) {
  const { importClause, moduleSpecifier } = statement;
  const from = moduleSpecifier.getText();
  if (!importClause) return [`import ${from};`];
  const parts = [];
  if (importClause.name && used.has(importClause.name.text)) parts.push(importClause.name.text);
  const { namedBindings } = importClause;
  if (namedBindings && ts.isNamespaceImport(namedBindings) && used.has(namedBindings.name.text)) {
    parts.push(namedBindings.getText());
  }
  if (namedBindings && ts.isNamedImports(namedBindings)) {
    const names = namedBindings.elements.filter((element) => used.has(element.name.text));
    if (names.length > 0) parts.push(`{ ${names.map((element) => element.getText()).join(', ')} }`);
  }
  const type = importClause.isTypeOnly ? 'type ' : '';
  return parts.length > 0 ? [`import ${type}${parts.join(', ')} from ${from};`] : [];
}
