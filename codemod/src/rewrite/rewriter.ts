// Prints a file anew. A rule may give a node another text; all other text stays as it is, with comments and spaces.
import {
  Node,
  Scope,
  SyntaxKind,
  type ParameterDeclaration,
  type SourceFile,
  type VariableDeclaration,
} from 'ts-morph';
import type { App } from '../app/app.js';
import { originOf } from '../app/bull-imports.js';
import { PAGE, type Findings, type Section } from './findings.js';
import { ImportNeeds, withoutTodos } from './imports.js';

/** Returns the new text of a node, or undefined if the rule is not about it. */
export type Rule = (node: Node, r: Rewriter) => string | undefined;

/** The text of a node that goes, with the comma behind it. */
export const REMOVED = '\u0000removed\u0000';

const MARK = 'TODO(nest-job-queue)';

export class Rewriter {
  imports: ImportNeeds;
  private todos = new Map<Node, Set<string>>();
  private given = new Map<Node, string>();
  private before = new Map<Node, string>();
  private known = new Map<Node, string | undefined>();
  /** The nodes whose text is part of the new file. */
  private printed = new Set<Node>();
  private readonly unused = new Set<NamedNode>();
  /** Where a TODO stands whose own place is gone. */
  private readonly moved = new Map<Node, Node>();
  /** What is being left: its parts say nothing more. */
  private readonly leaving: Node[] = [];

  constructor(
    readonly file: SourceFile,
    readonly app: App,
    private readonly rules: readonly Rule[],
    private readonly findings: Findings,
  ) {
    this.imports = new ImportNeeds(file);
  }

  /** Returns the new text of the whole file. A TODO whose place is gone moves to what is around it. */
  print(): string {
    for (;;) {
      this.imports = new ImportNeeds(this.file);
      this.todos = new Map();
      this.given = new Map();
      this.before = new Map();
      this.known = new Map();
      this.printed = new Set();
      for (const node of this.unused) {
        if (this.isOfOptions(node))
          this.give(node.getFirstAncestorByKindOrThrow(SyntaxKind.VariableStatement), REMOVED);
        else this.todo(node, 'nothing uses this any more, but for what a TODO names', 'the-codemod');
      }
      const text = this.copy(this.file);
      const isNew = this.noteUnused(withoutTodos(text));
      const lost = [...this.todos.keys()].filter((host) => !this.printed.has(host));
      for (const host of lost) this.moved.set(host, hostOf(host.getParentOrThrow()));
      if (lost.length === 0 && !isNew)
        return whole(
          this.imports.placeInto(this.file.getFullText().slice(0, this.file.getStart()) + text),
          this.file,
        );
    }
  }

  /** Returns true for a constant whose options have gone to where they belong. */
  private isOfOptions(node: NamedNode): boolean {
    const object = Node.isVariableDeclaration(node) ? node.getInitializer() : undefined;
    const isAlone = Node.isVariableDeclaration(node) && node.getVariableStatement()?.getDeclarations().length === 1;
    return isAlone && Node.isObjectLiteralExpression(object) && this.app.optionObjects.has(object);
  }

  /** Notes each constant and each member that only the old code used. Returns true if there is a new one. */
  private noteUnused(text: string): boolean {
    const before = this.file.getFullText();
    const size = this.unused.size;
    for (const node of ownedNames(this.file)) {
      const name = node.getName();
      if (countOf(name, text) === 1 && countOf(name, before) > 1) this.unused.add(node);
    }
    return this.unused.size > size;
  }

  /** Returns the new text of a node. */
  text(node: Node): string {
    const text = this.plain(node);
    if (text === REMOVED) return text;
    this.printed.add(node);
    const indent = indentOf(node);
    const todos = [...(this.todos.get(node) ?? [])].map((todo) => `// ${todo}\n${indent}`);
    return (this.before.get(node) ?? '') + todos.join('') + text;
  }

  /** Returns the new text of a node, without what stands before it. */
  plain(node: Node): string {
    return this.given.get(node) ?? this.ruled(node) ?? this.copy(node);
  }

  /** Returns the text of a node with the new texts of its parts. */
  copy(node: Node): string {
    const source = node.getSourceFile().getFullText();
    const children = node.forEachChildAsArray().filter((child) => child.getEnd() > child.getStart());
    let [text, at] = ['', node.getStart()];
    for (const [i, child] of children.entries()) {
      const gap = source.slice(at, child.getStart());
      at = child.getEnd();
      const part = this.text(child);
      if (part !== REMOVED) {
        text += gap + part;
        continue;
      }
      const comma = /^\s*,/.exec(source.slice(at))?.[0] ?? '';
      const isLast = i === children.length - 1;
      at += comma.length;
      at += /^[ \t]*\/\/[^\n]*/.exec(source.slice(at))?.[0].length ?? 0;
      text += withoutComment(gap);
      if (comma && !isLast) at += /^\s*/.exec(source.slice(at))![0].length;
      else text = text.replace(comma ? /\s+$/ : /,?\s*$/, '');
    }
    return text + source.slice(at, node.getEnd());
  }

  /** Returns the text of a node in which other nodes have the given texts. */
  replacing(node: Node, texts: ReadonlyMap<Node, string>): string {
    for (const [part, text] of texts) this.give(part, text);
    return this.text(node);
  }

  /** Gives a node the text that it is printed with. */
  give(node: Node, text: string): void {
    this.given.set(node, text);
  }

  /** Puts a text before a node, and before the TODOs of the node. */
  put(text: string, node: Node): void {
    this.before.set(node, text);
  }

  /** Notes that something has a new form. */
  converted(node: Node, text: string): void {
    this.findings.add({ outcome: 'converted', ...this.placeOf(node), text });
  }

  /** Notes something that has a new form, and a difference that is worth a look. */
  noted(node: Node, text: string, section: Section): void {
    this.findings.add({ outcome: 'noted', ...this.placeOf(node), text, link: `${PAGE}#${section}` });
  }

  /** Notes an option that goes. */
  dropped(node: Node, text: string): void {
    this.findings.add({ outcome: 'dropped', ...this.placeOf(node), text, link: `${PAGE}#options` });
  }

  /** Puts a TODO above the statement or member of a node. */
  todo(node: Node, text: string, section: Section): void {
    const link = `${PAGE}#${section}`;
    const host = this.hostOf(node);
    if (this.leaving.includes(host)) return;
    this.findings.add({ outcome: 'left', ...this.placeOf(node), text, link });
    const todo = `${MARK}: ${text}. ${link}`;
    if (host.getLeadingCommentRanges().some((range) => range.getText() === `// ${todo}`)) return;
    this.todos.set(host, (this.todos.get(host) ?? new Set()).add(todo));
  }

  /** Leaves a node as it is, with a TODO; its names from BullMQ stay imported. */
  leave(node: Node, text: string, section: Section): string {
    this.todo(node, text, section);
    this.leaving.push(this.hostOf(node));
    const left = this.copy(node);
    this.leaving.pop();
    return left;
  }

  private hostOf(node: Node): Node {
    let host = hostOf(node);
    for (let next = this.moved.get(host); next; next = this.moved.get(host)) host = next;
    return host;
  }

  /** Returns what the rules make of a node. They look at it once, however often it is printed. */
  private ruled(node: Node): string | undefined {
    if (this.known.has(node)) return this.known.get(node);
    const text = this.firstOf(node);
    this.known.set(node, text);
    return text;
  }

  private firstOf(node: Node): string | undefined {
    for (const rule of this.rules) {
      const text = rule(node, this);
      if (text !== undefined) return text;
    }
    // A name of BullMQ that no rule knows stays.
    const isKept = Node.isIdentifier(node) && originOf(node) !== undefined;
    return isKept ? this.imports.keep(node.getText()) : undefined;
  }

  private placeOf(node: Node): { file: string; line: number } {
    return { file: this.file.getFilePath(), line: node.getStartLineNumber() };
  }
}

/** Returns a text that is whole. @throws an error for one that still has marks of the rewriting */
function whole(text: string, file: SourceFile): string {
  const at = text.indexOf('\u0000');
  if (at < 0) return text;
  const lines = text.slice(0, at).split('\n').length;
  throw new Error(
    `Could not convert ${file.getFilePath()}: a part is missing in line ${lines}. Please report this`,
  );
}

/** Returns how often a text has a name. */
function countOf(name: string, text: string): number {
  return text.split(new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`)).length - 1;
}

type NamedNode = VariableDeclaration | ParameterDeclaration;

/** Returns what only its own file can use: constants that are not exported, and private members of constructors. */
function ownedNames(file: SourceFile): NamedNode[] {
  const constants = file
    .getVariableDeclarations()
    .filter((each) => !each.isExported() && Node.isIdentifier(each.getNameNode()));
  const members = file
    .getClasses()
    .flatMap((each) => each.getConstructors().flatMap((made) => made.getParameters()));
  return [...constants, ...members.filter((each) => each.getScope() === Scope.Private)];
}

/** Returns the text between two nodes without the comment of the second one. */
function withoutComment(gap: string): string {
  const lines = gap.split('\n');
  const indent = lines.length > 1 ? lines.pop()! : undefined;
  if (indent === undefined) return gap;
  while (lines.length > 1 && /^\s*(\/\/|\/?\*)/.test(lines.at(-1)!)) lines.pop();
  return [...lines, indent].join('\n');
}

/** Returns the nearest statement, member or element that a comment may stand above. */
function hostOf(node: Node): Node {
  const source = node.getSourceFile().getFullText();
  for (let host: Node | undefined = node; host; host = host.getParent()) {
    const parent = host.getParent();
    const isMember = Node.isClassDeclaration(parent) && !Node.isDecorator(host);
    const isElement = Node.isArrayLiteralExpression(parent) || Node.isPropertyAssignment(host) || isMember;
    const isStatement = Node.isStatement(host) && !Node.isBlock(host);
    if (!isElement && !isStatement) continue;
    const start = source.lastIndexOf('\n', host.getStart() - 1) + 1;
    if (source.slice(start, host.getStart()).trim() === '') return host;
  }
  return node.getSourceFile().getStatements()[0] ?? node;
}

/** Returns the spaces before the line of a node. */
export function indentOf(node: Node): string {
  const source = node.getSourceFile().getFullText();
  const start = source.lastIndexOf('\n', node.getStart() - 1) + 1;
  return /^[ \t]*/.exec(source.slice(start))![0];
}
