// Each option that a call takes may be undefined, so that an app with exactOptionalPropertyTypes can pass a variable on.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import ts from 'typescript';

/** Types whose values the library makes, or that belong to another library. */
const NO_OPTIONS =
  /^(Resolved|ClaimedJobOptions$|ScheduledJobOptions$|InstrumentOptions$|EnqueueError$|PrismaInstance$)/;
const OPTIONS = /(Options|Filter|Limits|Rules|Settings|Choice|Extras|Changes|Mount|Source)$/;

function takesUndefined(type: ts.TypeNode | undefined): boolean {
  return /\b(undefined|unknown|any)\b/.test(type?.getText() ?? 'any');
}

/** Returns the options of a report that may be absent, but not undefined. */
function strictOptions(code: string): string[] {
  const found: string[] = [];
  const note = (node: ts.Node, owner: string): void => {
    if (ts.isFunctionTypeNode(node)) return;
    if (ts.isPropertySignature(node) && node.questionToken && !takesUndefined(node.type)) {
      found.push(`${owner}: ${node.getText()}`);
    }
    // The type of an optional method never has undefined.
    if (ts.isMethodSignature(node) && node.questionToken) {
      found.push(`${owner}: ${node.getText()}`);
    }
    ts.forEachChild(node, (child) => note(child, owner));
  };
  const visit = (node: ts.Node, owner: string): void => {
    if (NO_OPTIONS.test((node as Partial<ts.NamedDeclaration>).name?.getText() ?? '')) return;
    if (ts.isParameter(node) || (ts.isInterfaceDeclaration(node) && OPTIONS.test(node.name.text))) {
      note(node, owner || (node.name as ts.Identifier).text);
      return;
    }
    const name = (node as Partial<ts.NamedDeclaration>).name?.getText();
    ts.forEachChild(node, (child) => visit(child, name ?? owner));
  };
  visit(ts.createSourceFile('report.ts', code, ts.ScriptTarget.ES2022, true), '');
  return found;
}

it.each(readdirSync('api'))('%s', (report) => {
  const [, code] = /```ts\n([^]*?)```/.exec(readFileSync(`api/${report}`, 'utf8'))!;
  expect(strictOptions(code!)).toEqual([]);
});

it('finds an option that must not be undefined', () => {
  const code =
    'export interface ListOptions { limit?: number; label?(): string; } class A { list(options?: { offset?: number }): void; }';
  expect(strictOptions(code)).toEqual([
    'ListOptions: limit?: number;',
    'ListOptions: label?(): string;',
    'list: offset?: number',
  ]);
});
