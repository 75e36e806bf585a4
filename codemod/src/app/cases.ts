// A method whose whole body is a switch by the job's name. Each case can become a method of its own.
import { Node, type MethodDeclaration, type Statement, type SwitchStatement } from 'ts-morph';
import { kindOf } from './kinds.js';
import { textOf } from './values.js';

/** A case: the names that run it, and what it does. */
export interface Case {
  names: Node[];
  /** The name of its method. */
  method: string;
  statements: Statement[];
}

/** Returns the cases of a method, or undefined if they cannot be taken apart. */
export function casesOf(method: MethodDeclaration): Case[] | undefined {
  const [only, ...more] = method.getStatements();
  if (!Node.isSwitchStatement(only) || more.length > 0 || !isByName(only)) return undefined;
  const cases: Case[] = [];
  const owner = method.getParent();
  const members = Node.isClassDeclaration(owner) ? owner.getMembers() : [];
  const taken = new Set(members.flatMap((each) => (Node.hasName(each) ? each.getName() : [])));
  let names: Node[] = [];
  for (const clause of only.getCaseBlock().getClauses()) {
    if (Node.isDefaultClause(clause)) {
      if (!isRefusal(clause.getStatements()) || names.length > 0) return undefined;
      continue;
    }
    names.push(clause.getExpression());
    if (clause.getStatements().length === 0) continue;
    const statements = ownStatements(clause.getStatements(), only);
    const name = methodName(names[0]!, taken);
    if (statements === undefined || name === undefined) return undefined;
    taken.add(name);
    cases.push({ names, method: name, statements });
    names = [];
  }
  return names.length > 0 || cases.length === 0 ? undefined : cases;
}

function isByName(statement: SwitchStatement): boolean {
  const value = statement.getExpression();
  return (
    Node.isPropertyAccessExpression(value) && value.getName() === 'name' && kindOf(value.getExpression()) === 'job'
  );
}

/** Returns true for a default that does nothing, or only refuses the job. */
function isRefusal(statements: readonly Statement[]): boolean {
  return statements.every((each) => Node.isThrowStatement(each) || Node.isBreakStatement(each));
}

/** Returns what a case does without its last break, or undefined if it can fall through or break elsewhere. */
function ownStatements(statements: readonly Statement[], of: SwitchStatement): Statement[] | undefined {
  const [only] = statements;
  const list = statements.length === 1 && Node.isBlock(only) ? only.getStatements() : [...statements];
  const last = list.at(-1);
  const own = Node.isBreakStatement(last) ? list.slice(0, -1) : list;
  const ends = Node.isBreakStatement(last) || Node.isReturnStatement(last) || Node.isThrowStatement(last);
  const isOneLine = own.every((each) => !/`[^`]*\n/.test(each.getText()));
  const isMixed = own.some((each) => Node.isBlock(each));
  if (!ends || !isOneLine || isMixed || own.some((each) => breaksOut(each, of))) return undefined;
  return own;
}

function breaksOut(statement: Statement, of: SwitchStatement): boolean {
  const breaks = Node.isBreakStatement(statement)
    ? [statement]
    : statement.getDescendants().filter((each) => Node.isBreakStatement(each));
  return breaks.some((each) => {
    const target = each.getAncestors().find((a) => Node.isSwitchStatement(a) || Node.isIterationStatement(a));
    return target === of;
  });
}

const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);

/** Returns a free name for the method of a case, from the job's name. */
function methodName(name: Node, taken: ReadonlySet<string>): string | undefined {
  const words = textOf(name)?.match(/[A-Za-z0-9]+/g) ?? [];
  const [first, ...more] = words;
  if (first === undefined || !/^[A-Za-z]/.test(first)) return undefined;
  const base = first[0]!.toLowerCase() + first.slice(1) + more.map(capital).join('');
  const wished = /^[A-Z0-9_]+$/.test(textOf(name)!) ? base.toLowerCase() : base;
  return [wished, `handle${capital(wished)}`].find((each) => !taken.has(each));
}
