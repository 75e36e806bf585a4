// Parses the subset of Lua 5.1 that the scripts use into a tree. Each name is resolved to the local that it means.
import { LuaSubsetError } from './values.js';

/** A local variable. It is the same object wherever its name is. */
export class Local {
  /** How often something assigns to it after its declaration. */
  assignments = 0;
  /** How often its value is read. */
  reads = 0;
  /** True if it was declared without a value. */
  isEmpty = false;
  /** The function that a declaration gave it last. */
  fn: FunctionNode | undefined;
  /** The place of that declaration. */
  definedAt: Place | undefined;
  /** The last place where it is called. */
  calledAt: Place | undefined;

  constructor(
    readonly name: string,
    readonly place: Place,
  ) {}
}

/** Where code is: in which function, whether in a loop there, and in which branch of an `if`. */
export interface Place {
  readonly fn: FunctionNode;
  readonly isInLoop: boolean;
  readonly branch: object;
}

export interface FunctionNode {
  readonly line: number;
  parameters: Local[];
  isVararg: boolean;
  body: Statement[];
  /** The local that a `local function` or `function` declares. */
  name?: Local;
}

export type Expression =
  | { type: 'nil' | 'varargs'; line: number }
  | { type: 'boolean'; value: boolean; line: number }
  | { type: 'number'; value: number; line: number }
  | { type: 'string'; value: string; line: number }
  | { type: 'local'; local: Local; line: number }
  | { type: 'global'; name: string; line: number }
  | { type: 'index'; base: Expression; key: Expression; line: number }
  | Call
  | { type: 'function'; fn: FunctionNode; place: Place; line: number }
  | Table
  | { type: 'unary'; operator: string; operand: Expression; line: number }
  | { type: 'binary' | 'logical'; operator: string; left: Expression; right: Expression; line: number }
  | { type: 'parens'; inner: Expression; line: number };

export interface Call {
  type: 'call';
  callee: Expression;
  args: Expression[];
  line: number;
}

export interface Table {
  type: 'table';
  items: Expression[];
  fields: (readonly [key: Expression, value: Expression])[];
  line: number;
}

export type Target = Extract<Expression, { type: 'local' | 'index' | 'global' }>;

export type Statement =
  | { type: 'local'; locals: Local[]; values: Expression[]; line: number }
  | { type: 'assignment'; targets: Target[]; values: Expression[]; line: number }
  | { type: 'call'; call: Call; line: number }
  | { type: 'localFunction'; local: Local; fn: FunctionNode; line: number }
  | { type: 'function'; target: Target; fn: FunctionNode; place: Place; line: number }
  | { type: 'if'; clauses: { condition?: Expression; body: Statement[] }[]; line: number }
  | { type: 'while'; condition: Expression; body: Statement[]; line: number }
  | { type: 'do'; body: Statement[]; line: number }
  | {
      type: 'for';
      variable: Local;
      from: Expression;
      to: Expression;
      step: Expression | undefined;
      body: Statement[];
      line: number;
    }
  | { type: 'forIn'; variables: Local[]; iterator: Expression; body: Statement[]; line: number }
  | { type: 'return'; values: Expression[]; line: number }
  | { type: 'break'; line: number };

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);

/** The left and the right priority of binary operators. */
const PRIORITY: Readonly<Record<string, readonly [left: number, right: number]>> = {
  or: [1, 1],
  and: [2, 2],
  '<': [3, 3],
  '>': [3, 3],
  '<=': [3, 3],
  '>=': [3, 3],
  '~=': [3, 3],
  '==': [3, 3],
  '..': [5, 4],
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
  '^': [10, 9],
};
const UNARY_PRIORITY = 8;

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
};

const NUMERAL = /0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y;
const CODE = /\d{1,3}/y;
const OPERATORS = new Set('... .. == ~= <= >= - + * / % ^ # < > = ( ) { } [ ] ; , .'.split(' '));
const BLOCK_ENDS = new Set(['end of file', 'end', 'else', 'elseif', 'until']);

/** Returns the tree of a text of bytes. @throws LuaSubsetError with the line of what it does not know */
export function parseLua(source: string): FunctionNode {
  return new Parser(source).chunk();
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || isDigit(code);
}

class Parser {
  /** Where the next token begins. */
  private at = 0;
  private line = 1;
  /** The token: a keyword, an operator, 'name', 'number', 'string' or 'end of file'. */
  private kind = '';
  private value: string | number = '';
  /** The locals in sight, the innermost last, and those of each name. */
  private readonly scope: Local[] = [];
  private readonly byName = new Map<string, Local[]>();
  private place: Place = {
    fn: { line: 1, parameters: [], isVararg: false, body: [] },
    isInLoop: false,
    branch: {},
  };

  constructor(private readonly source: string) {
    this.next();
  }

  chunk(): FunctionNode {
    const { fn } = this.place;
    fn.body = this.block();
    if (this.kind !== 'end of file') this.refuse('the end of the text');
    return fn;
  }

  private fail(what: string): never {
    throw new LuaSubsetError(what, this.line);
  }

  private refuse(expected: string): never {
    throw new LuaSubsetError(`"${this.kind}" in place of ${expected}`, this.line);
  }

  /** Reads a token by character codes. A regular expression is interpreted at first, and would take most of the time. */
  private next(): void {
    const { source } = this;
    for (;;) {
      const from = this.at;
      const code = source.charCodeAt(from);
      if (code === 10) this.line++;
      if (code === 32 || (code >= 9 && code <= 13)) {
        this.at++;
        continue;
      }
      const follows = source.charCodeAt(from + 1);
      if (code === 45 && follows === 45) {
        if (source.startsWith('[[', from + 2)) this.fail('a long comment');
        const end = source.indexOf('\n', from);
        this.at = end < 0 ? source.length : end;
        continue;
      }
      if (from >= source.length) this.kind = 'end of file';
      else if (isDigit(code) || (code === 46 && isDigit(follows))) this.number();
      else if (isWord(code)) this.word();
      else if (code === 34 || code === 39) this.string(code);
      else this.operator(code, follows);
      return;
    }
  }

  private word(): void {
    const from = this.at;
    while (isWord(this.source.charCodeAt(this.at))) this.at++;
    const word = this.source.slice(from, this.at);
    this.value = word;
    this.kind = KEYWORDS.has(word) ? word : 'name';
  }

  private number(): void {
    NUMERAL.lastIndex = this.at;
    const digits = NUMERAL.exec(this.source)![0];
    this.at += digits.length;
    this.kind = 'number';
    this.value = Number(digits);
  }

  private operator(code: number, follows: number): void {
    let length = 1;
    if (code === 46 && follows === 46) length = this.source.charCodeAt(this.at + 2) === 46 ? 3 : 2;
    else if (follows === 61 && (code === 61 || code === 126 || code === 60 || code === 62)) length = 2;
    this.kind = this.source.slice(this.at, this.at + length);
    if (!OPERATORS.has(this.kind)) this.fail(`the character ${this.kind}`);
    this.at += length;
  }

  private string(quote: number): void {
    const { source } = this;
    let text = '';
    let from = this.at + 1;
    for (let i = from; ; i++) {
      const code = source.charCodeAt(i);
      if (i >= source.length || code === 10) this.fail('a text without its end');
      if (code === quote) {
        this.value = text + source.slice(from, i);
        this.kind = 'string';
        this.at = i + 1;
        return;
      }
      if (code !== 92) continue;
      text += source.slice(from, i);
      CODE.lastIndex = i + 1;
      const digits = CODE.exec(source)?.[0];
      const escaped = source[i + 1] ?? '';
      if (escaped === '\n') this.fail('a line break in a text');
      text += digits === undefined ? (ESCAPES[escaped] ?? escaped) : String.fromCharCode(Number(digits));
      i += digits?.length ?? 1;
      from = i + 1;
    }
  }

  private take(kind: string): boolean {
    if (this.kind !== kind) return false;
    this.next();
    return true;
  }

  private want(kind: string): void {
    if (!this.take(kind)) this.refuse(`"${kind}"`);
  }

  private name(): string {
    if (this.kind !== 'name') this.refuse('a name');
    const name = String(this.value);
    this.next();
    return name;
  }

  private declare(name: string): Local {
    const local = new Local(name, this.place);
    this.scope.push(local);
    const named = this.byName.get(name);
    if (named) named.push(local);
    else this.byName.set(name, [local]);
    return local;
  }

  /** Reads something whose locals nobody sees behind it. */
  private within<Result>(read: () => Result, place: Place = this.place): Result {
    const { scope, place: outer } = this;
    const count = scope.length;
    this.place = place;
    const result = read();
    this.place = outer;
    while (scope.length > count) this.byName.get(scope.pop()!.name)!.pop();
    return result;
  }

  private block(): Statement[] {
    const body: Statement[] = [];
    while (!BLOCK_ENDS.has(this.kind)) {
      const statement = this.statement();
      body.push(statement);
      this.take(';');
      if (statement.type === 'return') break;
    }
    return body;
  }

  private loop(): Place {
    return { fn: this.place.fn, isInLoop: true, branch: {} };
  }

  private branch(): Statement[] {
    const { fn, isInLoop } = this.place;
    return this.within(() => this.block(), { fn, isInLoop, branch: {} });
  }

  /** Reads a block between `do` and `end`. */
  private doBlock(): Statement[] {
    this.want('do');
    const body = this.block();
    this.want('end');
    return body;
  }

  private statement(): Statement {
    const { line } = this;
    switch (this.kind) {
      case 'local':
        this.next();
        return this.take('function') ? this.localFunction(line) : this.local(line);
      case 'if':
        return this.ifStatement(line);
      case 'for':
        this.next();
        return this.within(() => this.forStatement(line), this.loop());
      case 'while': {
        this.next();
        return this.within(
          () => ({ type: 'while', condition: this.expression(), body: this.doBlock(), line }) as const,
          this.loop(),
        );
      }
      case 'do':
        return { type: 'do', body: this.within(() => this.doBlock()), line };
      case 'break':
        this.next();
        return { type: 'break', line };
      case 'return': {
        this.next();
        const ending: string = this.kind; // the token behind `return`
        const isBare = BLOCK_ENDS.has(ending) || ending === ';';
        return { type: 'return', values: isBare ? [] : this.list(), line };
      }
      case 'function':
        return this.functionStatement(line);
      case 'repeat':
        return this.fail('"repeat"');
      default:
        return this.assignmentOrCall(line);
    }
  }

  private local(line: number): Statement {
    const names = [this.name()];
    while (this.take(',')) names.push(this.name());
    const values = this.take('=') ? this.list() : [];
    // The values do not see the new names.
    const locals = names.map((name) => this.declare(name));
    if (values.length === 0) locals.forEach((local) => (local.isEmpty = true));
    return { type: 'local', locals, values, line };
  }

  private localFunction(line: number): Statement {
    const local = this.declare(this.name());
    local.definedAt = this.place;
    return { type: 'localFunction', local, fn: (local.fn = this.functionBody(line, local)), line };
  }

  private functionStatement(line: number): Statement {
    const { place } = this;
    this.next();
    let target = this.variable(this.name(), line);
    if (target.type === 'local' && this.kind !== '.') {
      const { local } = target;
      local.assignments++;
      local.definedAt = place;
      return { type: 'function', target, fn: (local.fn = this.functionBody(line, local)), place, line };
    }
    while (this.take('.')) target = { type: 'index', base: target, key: this.nameKey(), line };
    return { type: 'function', target, fn: this.functionBody(line), place, line };
  }

  private ifStatement(line: number): Statement {
    const clauses: { condition?: Expression; body: Statement[] }[] = [];
    do {
      this.next();
      const condition = this.expression();
      this.want('then');
      clauses.push({ condition, body: this.branch() });
    } while (this.kind === 'elseif');
    if (this.take('else')) clauses.push({ body: this.branch() });
    this.want('end');
    return { type: 'if', clauses, line };
  }

  private forStatement(line: number): Statement {
    const names = [this.name()];
    if (this.take('=')) {
      const from = this.expression();
      this.want(',');
      const to = this.expression();
      const step = this.take(',') ? this.expression() : undefined;
      const variable = this.declare(names[0]!);
      return { type: 'for', variable, from, to, step, body: this.doBlock(), line };
    }
    while (this.take(',')) names.push(this.name());
    this.want('in');
    const [iterator, ...others] = this.list();
    if (others.length > 0) this.fail('an iterator of several values');
    const variables = names.map((name) => this.declare(name));
    return { type: 'forIn', variables, iterator: iterator!, body: this.doBlock(), line };
  }

  private assignmentOrCall(line: number): Statement {
    const first = this.suffixed();
    if (this.kind !== '=' && this.kind !== ',') {
      return first.type === 'call' ? { type: 'call', call: first, line } : this.refuse('a statement');
    }
    const targets = [this.target(first)];
    while (this.take(',')) targets.push(this.target(this.suffixed()));
    this.want('=');
    return { type: 'assignment', targets, values: this.list(), line };
  }

  private target(expression: Expression): Target {
    if (expression.type === 'local') {
      expression.local.assignments++;
      expression.local.reads--;
      return expression;
    }
    if (expression.type === 'index' || expression.type === 'global') return expression;
    return this.fail(`an assignment to a ${expression.type}`);
  }

  private functionBody(line: number, name?: Local): FunctionNode {
    const fn: FunctionNode = { line, parameters: [], isVararg: false, body: [], ...(name && { name }) };
    return this.within(
      () => {
        this.want('(');
        while (this.kind !== ')') {
          if (this.take('...')) fn.isVararg = true;
          else fn.parameters.push(this.declare(this.name()));
          if (!this.take(',')) break;
        }
        this.want(')');
        fn.body = this.block();
        this.want('end');
        return fn;
      },
      { fn, isInLoop: false, branch: {} },
    );
  }

  private list(): Expression[] {
    const nodes = [this.expression()];
    while (this.take(',')) nodes.push(this.expression());
    return nodes;
  }

  private expression(limit = 0): Expression {
    const { line } = this;
    let left: Expression;
    if (this.kind === 'not' || this.kind === '-' || this.kind === '#') {
      const operator = this.kind;
      this.next();
      left = { type: 'unary', operator, operand: this.expression(UNARY_PRIORITY), line };
    } else {
      left = this.simple();
    }
    for (;;) {
      const operator = this.kind;
      const priority = PRIORITY[operator];
      if (priority === undefined || priority[0] <= limit) return left;
      this.next();
      const right = this.expression(priority[1]);
      const type = operator === 'and' || operator === 'or' ? 'logical' : 'binary';
      left = { type, operator, left, right, line };
    }
  }

  private simple(): Expression {
    const { kind, value, line } = this;
    switch (kind) {
      case 'number':
        this.next();
        return { type: 'number', value: value as number, line };
      case 'string':
        this.next();
        return { type: 'string', value: value as string, line };
      case 'nil':
        this.next();
        return { type: 'nil', line };
      case 'true':
      case 'false':
        this.next();
        return { type: 'boolean', value: kind === 'true', line };
      case '...':
        this.next();
        if (!this.place.fn.isVararg) this.fail('"..." outside of a function with "..."');
        return { type: 'varargs', line };
      case '{':
        return this.table(line);
      case 'function':
        this.next();
        return { type: 'function', fn: this.functionBody(line), place: this.place, line };
      default:
        return this.suffixed();
    }
  }

  private suffixed(): Expression {
    const { line } = this;
    let node: Expression;
    if (this.take('(')) {
      node = { type: 'parens', inner: this.expression(), line };
      this.want(')');
    } else {
      node = this.variable(this.name(), line);
      if (node.type === 'local') node.local.reads++;
    }
    for (;;) {
      if (this.take('.')) node = { type: 'index', base: node, key: this.nameKey(), line };
      else if (this.take('[')) {
        node = { type: 'index', base: node, key: this.expression(), line };
        this.want(']');
      } else if (this.take('(')) {
        if (node.type === 'local') node.local.calledAt = this.place;
        const args = this.kind === ')' ? [] : this.list();
        this.want(')');
        node = { type: 'call', callee: node, args, line };
      } else if (this.kind === 'string' || this.kind === '{') {
        this.fail('a call without parentheses');
      } else return node;
    }
  }

  private variable(name: string, line: number): Target {
    const local = this.byName.get(name)?.at(-1);
    return local ? { type: 'local', local, line } : { type: 'global', name, line };
  }

  private nameKey(): Expression {
    const { line } = this;
    return { type: 'string', value: this.name(), line };
  }

  private table(line: number): Expression {
    const table: Table = { type: 'table', items: [], fields: [], line };
    this.want('{');
    while (this.kind !== '}') {
      this.field(table);
      if (!this.take(',') && !this.take(';')) break;
    }
    this.want('}');
    return table;
  }

  private field(table: Table): void {
    const { line } = this;
    if (this.take('[')) {
      const key = this.expression();
      this.want(']');
      this.want('=');
      table.fields.push([key, this.expression()]);
    } else if (this.kind === 'name' && this.isFollowedByAssignment()) {
      const key: Expression = { type: 'string', value: this.name(), line };
      this.want('=');
      table.fields.push([key, this.expression()]);
    } else {
      table.items.push(this.expression());
    }
  }

  private isFollowedByAssignment(): boolean {
    const { source } = this;
    let { at } = this;
    while (source.charCodeAt(at) <= 32) at++;
    return source.charCodeAt(at) === 61 && source.charCodeAt(at + 1) !== 61;
  }
}

/** Returns the value of a literal number, also of one below zero. */
export function constantOf(node: Expression): number | undefined {
  if (node.type === 'number') return node.value;
  const isNegative = node.type === 'unary' && node.operator === '-' && node.operand.type === 'number';
  return isNegative ? -(node.operand as { value: number }).value : undefined;
}

/** Returns the parts that `..` joins. */
export function partsOf(node: Expression): Expression[] {
  return node.type === 'binary' && node.operator === '..'
    ? [...partsOf(node.left), ...partsOf(node.right)]
    : [node];
}

/** Returns whether an expression makes a table with nothing but `__index`. */
export function isIndexTable(node: Expression | undefined): boolean {
  if (node?.type !== 'table' || node.items.length > 0 || node.fields.length !== 1) return false;
  const [key] = node.fields[0]!;
  return key.type === 'string' && key.value === '__index';
}
