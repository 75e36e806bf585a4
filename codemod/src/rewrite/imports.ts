// The imports of a file: what it still needs of BullMQ, and what it needs of this library.
import { Node, type ImportDeclaration, type ImportSpecifier, type SourceFile } from 'ts-morph';
import { isBullImport } from '../app/bull-imports.js';

const LIBRARY = 'nest-job-queue';
/** Surrounds what is not known yet. */
const MARK = '\u0000';
const KEPT = new RegExp(`${MARK}kept ([\\w$]+)${MARK}`, 'g');
const placeholder = (index: number) => `${MARK}import ${index}${MARK}`;

/** Returns the text of a file behind its imports. */
function withoutImports(file: SourceFile): string {
  return file.getFullText().slice(file.getImportDeclarations().at(-1)?.getEnd() ?? 0);
}

/** Returns a text without the TODOs of a run: what they name is not used. */
export function withoutTodos(text: string): string {
  return text.replace(/^.*\/\/ TODO\(nest-job-queue\).*$/gm, '');
}

export class ImportNeeds {
  private readonly kept = new Set<string>();
  private readonly needed = new Map<string, string>();
  private readonly declarations: ImportDeclaration[];

  constructor(file: SourceFile) {
    this.declarations = file.getImportDeclarations();
  }

  /** Keeps a name of BullMQ imported. Returns what stands for it until all needs are known. */
  keep(name: string): string {
    this.kept.add(name);
    return `${MARK}kept ${name}${MARK}`;
  }

  /** Returns the local name of a kept import. It is another one if the library has this name too. */
  private localOf(name: string): string {
    return this.needed.has(name) ? `Bull${name}` : name;
  }

  /** Imports a name of the library. Returns it. */
  value(name: string): string {
    this.needed.set(name, name);
    return name;
  }

  /** Imports a type of the library, unless the value is imported. Returns its name. */
  type(name: string): string {
    if (!this.needed.has(name)) this.needed.set(name, `type ${name}`);
    return name;
  }

  /** Returns what stands for an import until all needs are known. */
  placeholderOf(node: Node): string | undefined {
    const index = Node.isImportDeclaration(node) ? this.declarations.indexOf(node) : -1;
    return index >= 0 ? placeholder(index) : undefined;
  }

  /** Returns the text with the imports in place of what stood for them. */
  placeInto(text: string): string {
    const quote = this.declarations[0]?.getModuleSpecifier().getText()[0] ?? "'";
    const first = this.declarations.findIndex(isBullImport);
    const added = this.added(quote);
    let placed = text;
    for (const [index, declaration] of this.declarations.entries()) {
      const old = isBullImport(declaration) ? this.remaining(declaration, quote) : this.used(declaration, text);
      const lines = [old, index === first ? added : ''].filter((line) => line !== '').join('\n');
      const mark = placeholder(index);
      placed =
        lines === '' ? placed.replace(new RegExp(`${mark}[^\\S\\n]*\\n?`), '') : placed.replace(mark, () => lines);
    }
    const whole = first >= 0 || added === '' ? placed : `${added}\n${placed}`;
    return whole.replace(KEPT, (_, name: string) => this.localOf(name));
  }

  /** Returns the import of what is needed and not imported yet. */
  private added(quote: string): string {
    const present = this.declarations
      .filter((each) => each.getModuleSpecifierValue() === LIBRARY)
      .flatMap((each) => each.getNamedImports().map((named) => named.getName()));
    const names = [...this.needed]
      .filter(([name]) => name !== 'Injectable' && !present.includes(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, spelled]) => spelled);
    const lines = names.length > 0 ? [`import { ${names.join(', ')} } from ${quote}${LIBRARY}${quote};`] : [];
    const hasCommon = this.declarations.some((each) => each.getModuleSpecifierValue() === '@nestjs/common');
    if (this.needed.has('Injectable') && !hasCommon) {
      lines.unshift(`import { Injectable } from ${quote}@nestjs/common${quote};`);
    }
    return lines.join('\n');
  }

  /** Returns what stays of an import of BullMQ; an empty text if nothing does. */
  private remaining(declaration: ImportDeclaration, quote: string): string {
    const wholes = [declaration.getDefaultImport(), declaration.getNamespaceImport()];
    const [whole] = wholes.filter((each) => each !== undefined && this.kept.has(each.getText()));
    const named = declaration
      .getNamedImports()
      .filter((each) => this.kept.has(each.getAliasNode()?.getText() ?? each.getName()))
      .map((each) => this.keptText(each));
    const list = named.length > 0 ? [`{ ${named.join(', ')} }`] : [];
    const first = whole ? [whole === wholes[1] ? `* as ${whole.getText()}` : whole.getText()] : [];
    if (first.length + list.length === 0) return '';
    const kind = declaration.isTypeOnly() ? 'import type' : 'import';
    return `${kind} ${[...first, ...list].join(', ')} from ${quote}${declaration.getModuleSpecifierValue()}${quote};`;
  }

  private keptText(named: ImportSpecifier): string {
    const local = named.getAliasNode()?.getText() ?? named.getName();
    const other = this.localOf(local);
    if (other === local) return named.getText();
    return `${named.isTypeOnly() ? 'type ' : ''}${named.getName()} as ${other}`;
  }

  /** Returns another import without the names that only the replaced code used. */
  private used(declaration: ImportDeclaration, text: string): string {
    const before = withoutImports(declaration.getSourceFile());
    const all = declaration.getNamedImports();
    const kept = all.filter((each) => {
      const word = new RegExp(`\\b${each.getAliasNode()?.getText() ?? each.getName()}\\b`);
      return word.test(withoutTodos(text)) || !word.test(before) || this.needed.has(each.getName());
    });
    if (kept.length === all.length) return this.common(declaration);
    const isAll = kept.length === 0 && declaration.getDefaultImport() === undefined;
    if (isAll) return '';
    const names = kept.map((each) => each.getText());
    const isOpen = /\{\s*\n/.test(declaration.getText());
    const list = isOpen ? `{\n${names.map((each) => `  ${each},\n`).join('')}}` : `{ ${names.join(', ')} }`;
    return this.common(declaration, declaration.getText().replace(/\{[^}]*\}/, names.length === 0 ? '{}' : list));
  }

  /** Returns another import; that of NestJS with what is needed of it. */
  private common(declaration: ImportDeclaration, text = declaration.getText()): string {
    const lacks =
      declaration.getModuleSpecifierValue() === '@nestjs/common' &&
      this.needed.has('Injectable') &&
      declaration.getNamedImports().every((each) => each.getName() !== 'Injectable');
    return lacks ? text.replace(/\{\s*/, (open) => `${open}Injectable, `) : text;
  }
}
