// The changes of the Lua scripts and of their libraries. They are the faults that such scripts have. A write or a wake is
// missing, or a clock is forgotten. A condition is negated, or its branch is never taken. A bound is off by one. Two keys are
// exchanged. A loop stops at its first element. An order goes by another key, and a cursor begins anew. An outcome is left out of a rule. A
// fence is not raised. Texts are equal if one begins or ends with the other.
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

/** The literals that are no instants. */
const OTHER_KIND = /^(String|Nil)Literal$/;

type Operator = (node: Node, text: string) => (Omit<Edit, 'operator'> | undefined)[];

const OPERATORS: Readonly<Record<string, Operator>> = {
  'drop write': (node, text) => (isWrite(node, text) ? [replaced(node, 'do end')] : []),
  'drop call': (node, text) => (isCall(node) && !isWrite(node, text) ? [replaced(node, 'do end')] : []),
  negate: (node, text) =>
    conditionsOf(node).map((condition) => replaced(condition, `not (${textOf(condition, text)})`)),
  'skip branch': (node) => conditionsOf(node).map((condition) => replaced(condition, 'false')),
  'other operator': (node, text) => [changedOperator(node, text, OPPOSITE)],
  'off by one': (node) => [largerNumber(node)],
  'equality at a bound': (node, text) => [changedOperator(node, text, OTHER_COMPARISON)],
  'sort key': (node) => otherOrders(node),
  'cursor anew': (node) => newCursors(node),
  'drop outcome': (node, text) => withoutOutcomes(node, text),
  'keep fence': (node, text) => keptFences(node, text),
  'part for whole': (node, text) => partsForWhole(node, text),
  'swap arguments': (node, text) => swappedArguments(node, text),
  'first element only': (node, text) => [firstOnly(node, text)],
  'forget clock': (node) => forgottenClocks(node),
};

/** Returns all small changes of a script or a library. */
export function luaEdits(text: string): Edit[] {
  const edits: Edit[] = [...text.matchAll(WAKE)].map(({ index, 0: line }) => ({
    operator: 'drop wake',
    from: index,
    to: index + line.length,
    after: '',
  }));
  visitLua(text, (node) => {
    for (const [operator, mutate] of Object.entries(OPERATORS)) {
      for (const edit of mutate(node, text)) if (edit) edits.push({ operator, ...edit });
    }
  });
  return edits;
}

/** Calls a function with each node of a script or a library. */
export function visitLua(text: string, look: (node: Node) => void): void {
  // The parser knows no first line with flags; a comment of the same length keeps the places.
  visit(parse(text.replace(/^#!/, '--'), { luaVersion: '5.1', ranges: true }), look);
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

/** The calls whose arguments may be in any order. */
const COMMUTATIVE = /^(math\.(min|max)\(|redis\.p?call\(\s*'(UNLINK|DEL|EXISTS)')/;

/** Exchanges each two neighbours among the arguments of a call that are names. */
function swappedArguments(node: Node, text: string) {
  if (node.type !== 'CallExpression' || COMMUTATIVE.test(textOf(node, text))) return [];
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

/** Takes 0 for an instant in a comparison or a sum. A comparison with a text or nil asks for the kind of a value. */
function forgottenClocks({ type, left, right }: Node) {
  if (type !== 'BinaryExpression' || [left, right].some((side) => OTHER_KIND.test((side as Node).type))) return [];
  return [left as Node, right as Node]
    .filter((side) => side.type === 'Identifier' && INSTANT.test(side.name as string))
    .map((side) => replaced(side, '0'));
}

/** The commands that add or take at one end, and those at the other. */
const OTHER_END: Readonly<Record<string, string>> = {
  LPUSH: 'RPUSH',
  RPUSH: 'LPUSH',
  LPOP: 'RPOP',
  RPOP: 'LPOP',
  ZPOPMIN: 'ZPOPMAX',
  ZRANGE: 'ZREVRANGE',
  ZREVRANGE: 'ZRANGE',
};

/** Orders by another key: at the other end, by no score, or without the comparison. */
function otherOrders({ type, base, arguments: all }: Node) {
  if (type !== 'CallExpression') return [];
  const [command, , score, member] = all as Node[];
  if ((base as Node).type !== 'MemberExpression' || command === undefined) return [];
  const name = textOfLiteral(command);
  const other = name === undefined ? undefined : OTHER_END[name];
  return [
    other && replaced(command, `'${other}'`),
    name === 'ZADD' && score?.type === 'Identifier' && member && (all as Node[]).length === 4
      ? replaced(score, '0')
      : undefined,
  ].map((edit) => edit || undefined);
}

const CURSOR = /^(cursor|offset|from|start|after|next_\w+|\w+_cursor|position)$/;

/** Begins anew where a call continues at a cursor. */
function newCursors({ type, arguments: all }: Node) {
  if (type !== 'CallExpression') return [];
  const cursors = (all as Node[]).filter((each) => each.type === 'Identifier' && CURSOR.test(each.name as string));
  return cursors.map((cursor) => replaced(cursor, '0'));
}

/** Leaves one of several outcomes out of a rule. That is an operand of an `or` that compares texts, or a field of a set. */
function withoutOutcomes(node: Node, text: string) {
  const { type, operator, left, right, fields } = node;
  if (type === 'LogicalExpression' && operator === 'or' && [left, right].every((side) => isOfText(side as Node))) {
    return [replaced(node, textOf(right as Node, text)), replaced(node, textOf(left as Node, text))];
  }
  if (type !== 'TableConstructorExpression' || (fields as Node[]).length < 2) return [];
  const set = (fields as Node[]).filter(({ value }) => (value as Node | undefined)?.value === true);
  return set.map(({ key, range: [, to] }) => ({ from: to - 'true'.length, to, after: key ? 'nil' : 'false' }));
}

/** Returns whether a condition compares with a text, or several with `or`. */
function isOfText({ type, operator, left, right }: Node): boolean {
  if (type === 'LogicalExpression' && operator === 'or') return isOfText(left as Node) && isOfText(right as Node);
  const sides = [left as Node | undefined, right as Node | undefined];
  return (
    type === 'BinaryExpression' &&
    operator === '==' &&
    sides.some((side) => side && textOfLiteral(side) !== undefined)
  );
}

/** Reads a counter in place of raising it, or stores a fence where nobody looks. */
function keptFences(node: Node, text: string) {
  if (node.type !== 'CallExpression') return [];
  const match = /^redis\.call\(\s*'INCR',\s*(\w+)\s*\)$/.exec(textOf(node, text));
  if (match) return [replaced(node, `tonumber(redis.call('GET', ${match[1]}) or 0)`)];
  const [command, ...all] = node.arguments as Node[];
  const fences =
    command && textOfLiteral(command) === 'HSET'
      ? all.filter((each) => textOfLiteral(each)?.endsWith('fence'))
      : [];
  return fences.map((field) => replaced(field, `'not_${textOfLiteral(field)}'`));
}

/** The types of nodes that may be two texts. */
const NAMED = ['Identifier', 'IndexExpression', 'MemberExpression'];

/** The names of bounds. A number that counts up to one is never above it, so it never begins or ends with it alone. */
const BOUND = /^(limit|most|total)$/;

/** Takes texts for equal of which one begins or ends with the other. */
function partsForWhole(node: Node, text: string) {
  const { type, operator, left, right } = node;
  if (type !== 'BinaryExpression' || (operator !== '==' && operator !== '~=')) return [];
  const [one, other] = [left as Node, right as Node];
  if (!NAMED.includes(one.type) || !NAMED.includes(other.type)) return [];
  if ([one, other].some(({ name }) => BOUND.test(name as string))) return [];
  const [whole, part] = [`tostring(${textOf(one, text)})`, `tostring(${textOf(other, text)})`];
  return [`1, #${part}`, `-#${part}`].map((range) =>
    replaced(node, `(string.sub(${whole}, ${range}) ${operator} ${part})`),
  );
}

/** Returns the text of a literal. The parser has no values of texts, as they may hold any bytes. */
function textOfLiteral({ type, raw }: Node): string | undefined {
  return type === 'StringLiteral' ? (raw as string).slice(1, -1) : undefined;
}
