// Puts several mutants into a source at once, each behind a switch. So one process serves them all. It
// loads the library once, and notes which mutants each spec reaches.
import ts from 'typescript';
import type { Mutant } from './mutant.js';

/** A mutant with its place in the draw. */
export type Numbered = readonly [index: number, mutant: Mutant];

/** Returns a source in which mutants are behind switches, and their numbers. A mutant outside of functions has none. */
export function switchedSource(text: string, mutants: readonly Numbered[]): { text: string; numbers: number[] } {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const numbers: number[] = [];
  let switched = text;
  let end = text.length;
  for (const [index, mutant] of mutants.toSorted(([, one], [, other]) => other.from - one.from)) {
    const { from, before, after } = mutant;
    const node = nodeAt(source, from, from + before.length);
    if (node === undefined || from + before.length > end || !isInFunction(node)) continue;
    const isShorthand = ts.isShorthandPropertyAssignment(node);
    const value = isShorthand ? after.slice(`${before}:`.length).trim() : after;
    const choice = `(${conditionOf(index)} ? (${value}) : (${before}))`;
    switched = `${switched.slice(0, from)}${isShorthand ? `${before}: ` : ''}${choice}${switched.slice(from + before.length)}`;
    numbers.push(index);
    end = from;
  }
  return { text: switched, numbers };
}

/** Returns the condition of a switch. Another realm or process has the number in its environment. */
function conditionOf(index: number): string {
  return `(globalThis.mutantOfRun?.(${index}) ?? process.env.MUTANT === '${index}')`;
}

/** Returns the expression, or the property, at exactly this place. */
function nodeAt(node: ts.Node, from: number, to: number): ts.Node | undefined {
  if (
    node.getStart() === from &&
    node.getEnd() === to &&
    (ts.isExpression(node) || ts.isShorthandPropertyAssignment(node))
  )
    return node;
  return ts.forEachChild(node, (child) =>
    child.getStart() <= from && child.getEnd() >= to ? nodeAt(child, from, to) : undefined,
  );
}

/** Returns whether an expression runs in a call or for an object, and not while its file is loaded. */
function isInFunction(node: ts.Node): boolean {
  if (ts.isDecorator(node) || ts.isSourceFile(node)) return false;
  const isOfObject =
    ts.isPropertyDeclaration(node) && !node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword);
  return ts.isFunctionLike(node) || isOfObject || isInFunction(node.parent);
}
