// The changes of the Lua scripts and of their libraries. They are the faults that such scripts have. A write or a wake is
// missing, or a clock is forgotten. A condition is negated, or its branch is never taken. A bound is off by one. Two keys are
// exchanged. A loop stops at its first element.
import { parse, type Node } from 'luaparse';
import type { Edit } from './mutant.js';

/** Commands that write, as far as the scripts use them as statements. Another call is dropped as a call. */
const WRITES =
  /^(H?SET|HDEL|HINCRBY|INCR|[LRZS]?(ADD|REM|PUSH|POP)|DEL|UNLINK|P?EXPIRE|PERSIST|X|[LZ]TRIM|COPY|RENAME)/;

const OTHER_COMPARISON: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const OPPOSITE: Readonly<Record<string, string>> = {
  '==': '~=',
  '~=': '==',
  '+': '-',
  '-': '+',
  and: 'or',
  or: 'and',
};

/** The names of instants: of now, and of what the scripts compute from it. */
const INSTANT = /^(now|\w+_at|due|expiry|until)$/;

/** A wake is a statement of its own library. */
const WAKE = /^[ \t]*--@include lib\/core\/wake$/gm;

type Operator = (node: Node, text: string) => (Omit<Edit, 'operator'> | undefined)[];

const OPERATORS: Readonly<Record<string, Operator>> = {
  'drop write': (node, text) => (isWrite(node, text) ? [replaced(node, 'do end')] : []),
  'drop call': (node, text) => (isCall(node) && !isWrite(node, text) ? [replaced(node, 'do end')] : []),
  negate: (node, text) =>
    conditionsOf(node).map((condition) => replaced(condition, `not (${textOf(condition, text)})`)),
  'skip branch': (node) => conditionsOf(node).map((condition) => replaced(condition, 'false')),
  'other operator': (node, text) => [changedOperator(node, text, OPPOSITE)],
  'off by one': (node, text) => [changedOperator(node, text, OTHER_COMPARISON), largerNumber(node)],
  'swap arguments': (node, text) => swappedArguments(node, text),
  'first element only': (node, text) => [firstOnly(node, text)],
  'forget clock': (node) => forgottenClocks(node),
};

/** Returns all small changes of a script or a library. */
export function luaEdits(text: string): Edit[] {
  // The parser knows no first line with flags; a comment of the same length keeps the places.
  const chunk = parse(text.replace(/^#!/, '--'), { luaVersion: '5.1', ranges: true });
  const edits: Edit[] = [...text.matchAll(WAKE)].map(({ index, 0: line }) => ({
    operator: 'drop wake',
    from: index,
    to: index + line.length,
    after: '',
  }));
  visit(chunk, (node) => {
    for (const [operator, mutate] of Object.entries(OPERATORS)) {
      for (const edit of mutate(node, text)) if (edit) edits.push({ operator, ...edit });
    }
  });
  return edits;
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof (child as Node | undefined)?.type === 'string') visit(child as Node, look);
    }
  }
}

function replaced({ range: [from, to] }: Node, after: string) {
  return { from, to, after };
}

function textOf({ range: [from, to] }: Node, text: string): string {
  return text.slice(from, to);
}

function isCall({ type }: Node): boolean {
  return type === 'CallStatement';
}

function isWrite(node: Node, text: string): boolean {
  const command = /^redis\.p?call\(\s*'(\w+)'/.exec(isCall(node) ? textOf(node, text) : '')?.[1];
  return command !== undefined && WRITES.test(command);
}

/** Returns the conditions of an `if` with its `elseif`. */
function conditionsOf({ type, condition }: Node): Node[] {
  return type === 'IfClause' || type === 'ElseifClause' ? [condition as Node] : [];
}

/** Replaces an operator between two operands. */
function changedOperator(node: Node, text: string, others: Readonly<Record<string, string>>) {
  const { type, operator, left, right } = node;
  if (type !== 'BinaryExpression' && type !== 'LogicalExpression') return undefined;
  const other = others[operator as string];
  if (other === undefined) return undefined;
  const from = (left as Node).range[1];
  const between = text.slice(from, (right as Node).range[0]);
  const at = from + between.indexOf(operator as string);
  return { from: at, to: at + (operator as string).length, after: other };
}

function largerNumber(node: Node) {
  return node.type === 'NumericLiteral' ? replaced(node, String((node.value as number) + 1)) : undefined;
}

/** Exchanges each two neighbours among the arguments of a call that are names. */
function swappedArguments(node: Node, text: string) {
  if (node.type !== 'CallExpression') return [];
  const all = node.arguments as Node[];
  return all.slice(1).map((second, i) => {
    const first = all[i]!;
    if (first.type !== 'Identifier' || second.type !== 'Identifier' || first.name === second.name) return undefined;
    const between = text.slice(first.range[1], second.range[0]);
    const after = `${textOf(second, text)}${between}${textOf(first, text)}`;
    return { from: first.range[0], to: second.range[1], after };
  });
}

/** Ends a loop after its first turn. */
function firstOnly({ type, body, range: [, end] }: Node, text: string) {
  const statements = body as Node[] | undefined;
  if (!/^(For|While)/.test(type) || !statements?.length) return undefined;
  const last = statements.at(-1)!;
  if (/^(Return|Break)/.test(last.type)) return undefined;
  const from = end - 'end'.length;
  return { from, to: end, after: `${text[from - 1] === '\n' ? '' : ' '}break end` };
}

/** Takes 0 for an instant in a comparison or a sum. */
function forgottenClocks({ type, left, right }: Node) {
  if (type !== 'BinaryExpression') return [];
  return [left as Node, right as Node]
    .filter((side) => side.type === 'Identifier' && INSTANT.test(side.name as string))
    .map((side) => replaced(side, '0'));
}
