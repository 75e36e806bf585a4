// Prints a file anew. A rule may give a node another text; all other text stays as it is, with comments and spaces.
import { Node, type SourceFile } from 'ts-morph';
import type { App } from '../app/app.js';
import { bullImports } from '../app/bull-imports.js';
import { PAGE, type Findings, type Section } from './findings.js';
import { ImportNeeds } from './imports.js';

/** Returns the new text of a node, or undefined if the rule is not about it. */
export type Rule = (node: Node, r: Rewriter) => string | undefined;

/** The text of a node that goes, with the comma behind it. */
export const REMOVED = '\u0000removed\u0000';

const MARK = 'TODO(nest-job-queue)';

export class Rewriter {
  readonly imports: ImportNeeds;
  private readonly todos = new Map<Node, Set<string>>();
  private readonly given = new Map<Node, string>();
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

  /** Returns the new text of the whole file. */
  print(): string {
    const text = this.copy(this.file);
    return this.imports.placeInto(this.file.getFullText().slice(0, this.file.getStart()) + text);
  }

  /** Returns the new text of a node. */
  text(node: Node): string {
    const text = this.given.get(node) ?? this.ruled(node) ?? this.copy(node);
    const todos = this.todos.get(node);
    if (todos === undefined || text === REMOVED) return text;
    const indent = indentOf(node);
    return [...todos].map((todo) => `// ${todo}\n${indent}`).join('') + text;
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
      text += gap;
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

  /** Notes that something has a new form. */
  converted(node: Node, text: string): void {
    this.findings.add({ outcome: 'converted', ...this.placeOf(node), text });
  }

  /** Notes an option that goes. */
  dropped(node: Node, text: string): void {
    this.findings.add({ outcome: 'dropped', ...this.placeOf(node), text, link: `${PAGE}#options` });
  }

  /** Puts a TODO above the statement or member of a node. */
  todo(node: Node, text: string, section: Section): void {
    const link = `${PAGE}#${section}`;
    const host = hostOf(node);
    if (this.leaving.includes(host)) return;
    this.findings.add({ outcome: 'left', ...this.placeOf(node), text, link });
    const todo = `${MARK}: ${text}. ${link}`;
    if (host.getLeadingCommentRanges().some((range) => range.getText() === `// ${todo}`)) return;
    this.todos.set(host, (this.todos.get(host) ?? new Set()).add(todo));
  }

  /** Leaves a node as it is, with a TODO; its names from BullMQ stay imported. */
  leave(node: Node, text: string, section: Section): string {
    this.todo(node, text, section);
    this.leaving.push(hostOf(node));
    const left = this.copy(node);
    this.leaving.pop();
    return left;
  }

  private ruled(node: Node): string | undefined {
    for (const rule of this.rules) {
      const text = rule(node, this);
      if (text !== undefined) return text;
    }
    if (Node.isIdentifier(node) && bullImports(this.file).has(node.getText())) this.imports.keep(node.getText());
    return undefined;
  }

  private placeOf(node: Node): { file: string; line: number } {
    return { file: this.file.getFilePath(), line: node.getStartLineNumber() };
  }
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
