// Compiles a script to JavaScript. It knows exactly the subset of Lua 5.1 that the scripts use, and throws for everything
// else. So a script that it cannot run fails the build and not a job.
//
// A script becomes a function that a server calls once. It makes the functions of the script, and returns the one that runs
// it. A script runs once at a time, and code outside of loops and functions at most once in a run. So the locals of that
// code live beside the functions, which need not be made again for each run.
//
// A function that always returns one value returns it plainly. One that may return several, or none, returns an array.
import {
  constantOf,
  isIndexTable,
  partsOf,
  parseLua,
  type Call,
  type Expression,
  type FunctionNode,
  type Local,
  type Place,
} from './parse.js';
import type { Statement, Table, Target } from './parse.js';
import { precise, numberText } from './numbers.js';
import { matchesOf, patternOf } from './patterns.js';
import { LIBRARY, partsOfFormat, type CheckCommand, type CommandTable, type Runtime } from './runtime.js';
import { LuaSubsetError, toBytes, type LuaTable, type Returned } from './values.js';

/** What is known of the value of an expression. */
type Kind = 'number' | 'text' | 'boolean' | 'table' | 'nil' | 'any';

/** What a function returns: nothing, one value, or perhaps several. */
type Returns = 'none' | 'single' | 'several';

export type RunScript = (KEYS: LuaTable, ARGV: LuaTable) => Returned;

/** Makes the functions of a script for a server. */
export type ScriptFactory = (runtime: Runtime, commands: CommandTable) => RunScript;

/** The globals that are values. */
const GLOBALS: Readonly<Record<string, string>> = { KEYS: 'KEYS', ARGV: 'ARGV', redis: 'R.redis' };

const ITERATORS = new Set(['pairs', 'ipairs', 'string.gmatch']);

const TEXT_FUNCTIONS = new Set(
  'string.sub string.format string.rep string.lower string.upper table.concat cjson.encode tostring type redis.sha1hex'.split(
    ' ',
  ),
);

/**
 * Returns a script as the source of a {@link ScriptFactory}.
 *
 * @param isStrict whether it also checks literals of patterns and formats, which a run refuses only when it comes there
 * @throws LuaSubsetError with the line of the text
 */
export function compileLua(text: string, checkCommand: CheckCommand, isStrict = true): string {
  const source = toBytes(text.replace(/^#![^\n]*/, ''));
  return `(R,C)=>{${new Compiler(checkCommand, isStrict).script(parseLua(source))}}`;
}

/** The state of the function that is being written. */
interface Frame {
  readonly fn: FunctionNode;
  readonly returns: Returns;
  /** The number of variables for values in between. */
  temps: number;
}

class Compiler {
  private frame!: Frame;
  /** The functions and the variables beside them. */
  private readonly shared: string[] = [];
  private readonly sharedLocals: string[] = [];
  private readonly names = new Map<Local, string>();
  private readonly counts = new Map<string, number>();
  private readonly returnsOf = new Map<FunctionNode, Returns>();
  private readonly walking = new Set<FunctionNode>();
  private readonly oneRun = new Map<FunctionNode, boolean>();
  private readonly commands = new Set<string>();
  private readonly used = new Map<string, string>();
  private ids = 0;

  constructor(
    private readonly checkCommand: CheckCommand,
    private readonly isStrict: boolean,
  ) {}

  script(chunk: FunctionNode): string {
    this.oneRun.set(chunk, true);
    this.frame = { fn: chunk, returns: 'several', temps: 0 };
    const body = this.block(chunk.body);
    const run = `return(keys,argv)=>{KEYS=keys;ARGV=argv;${this.temps()}${body}return R.NONE};`;
    const uses = [...this.used].map(([js, name]) => `${js}=R[${JSON.stringify(name)}]`);
    const commands = [...this.commands].map((name) => `${name}=C.${name}`);
    return [
      `const ${['Table=R.Table', ...uses, ...commands].join(',')};`,
      `let KEYS,ARGV${this.sharedLocals.map((name) => `,${name}`).join('')};`,
      ...this.shared,
      run,
    ].join('\n');
  }

  private fail(node: { line: number }, what: string): never {
    throw new LuaSubsetError(what, node.line);
  }

  /** Returns the name of an operator or a function of the library in the code. */
  private use(name: string): string {
    const js = name.replace('.', '_');
    this.used.set(js, name);
    return js;
  }

  private temps(): string {
    const { temps } = this.frame;
    return temps === 0 ? '' : `let ${Array.from({ length: temps }, (_, i) => `t${i}`).join(',')};`;
  }

  private temp(): string {
    return `t${this.frame.temps++}`;
  }

  /** Returns whether code at a place runs at most once in a run of the script. */
  private runsOnce({ fn, isInLoop }: Place): boolean {
    return !isInLoop && this.isCalledOnce(fn);
  }

  /** Returns whether a function has one call, whose place runs once, and no values of its own. */
  private isCalledOnce(fn: FunctionNode): boolean {
    const known = this.oneRun.get(fn);
    if (known !== undefined) return known;
    this.oneRun.set(fn, false); // of a function that calls itself
    const { name, parameters, isVararg } = fn;
    const isOnce =
      name !== undefined &&
      name.reads === 1 &&
      name.calledAt !== undefined &&
      parameters.length === 0 &&
      !isVararg &&
      this.runsOnce(name.calledAt);
    this.oneRun.set(fn, isOnce);
    return isOnce;
  }

  private nameOf(local: Local): string {
    const known = this.names.get(local);
    if (known !== undefined) return known;
    const count = this.counts.get(local.name) ?? 0;
    this.counts.set(local.name, count + 1);
    const name = `${local.name}$${count === 0 ? '' : count}`;
    this.names.set(local, name);
    return name;
  }

  private block(body: readonly Statement[]): string {
    let code = '';
    for (const each of body) code += this.statement(each); // a join would copy each block once for each around it
    return code;
  }

  private statement(node: Statement): string {
    switch (node.type) {
      case 'local':
        return this.local(node);
      case 'assignment':
        return this.assignment(node);
      case 'call':
        return `${this.call(node.call)};\n`;
      case 'localFunction':
        return this.define(node.local, node.fn);
      case 'function':
        return this.functionStatement(node);
      case 'if':
        return this.ifElse(node.clauses);
      case 'while':
        return `while(${this.condition(node.condition)}){${this.block(node.body)}}`;
      case 'do':
        return `{${this.block(node.body)}}`;
      case 'for':
        return this.forNumbers(node);
      case 'forIn':
        return this.forIn(node);
      case 'return':
        return this.returned(node.values);
      case 'break':
        return 'break;';
    }
  }

  private ifElse(clauses: Extract<Statement, { type: 'if' }>['clauses']): string {
    let code = '';
    for (const { condition, body } of clauses) {
      if (condition) code += `${code === '' ? '' : 'else '}if(${this.condition(condition)}){${this.block(body)}}`;
      else code += `else{${this.block(body)}}`;
    }
    return code;
  }

  /** Declares locals, each with the code of its value. Those that live beside the functions are only assigned. */
  private declare(locals: readonly Local[], valueOf: (i: number) => string): string {
    let code = '';
    locals.forEach((local, i) => {
      if (local.isEmpty && this.isShared(local)) return;
      const name = this.nameOf(local);
      const isOfScript = this.runsOnce(local.place);
      if (isOfScript) this.sharedLocals.push(name);
      code += `${isOfScript ? '' : 'let '}${name}=${valueOf(i)};`;
    });
    return code;
  }

  private local({ locals, values }: Extract<Statement, { type: 'local' }>): string {
    const listed = this.values(values, locals.length);
    if (listed.array !== undefined) {
      const held = `v_${this.ids++}`;
      return `const ${held}=${listed.array};${this.declare(locals, (i) => `${held}[${i}]`)}`;
    }
    const extra = listed.each.slice(locals.length).map((js) => `${js};`);
    return this.declare(locals, (i) => listed.each[i] ?? 'undefined') + extra.join('');
  }

  /** Returns the code of the values for some targets: one for each, or of an array that has them all. */
  private values(nodes: readonly Expression[], count: number): { each: string[]; array?: string } {
    const last = nodes.at(-1);
    if (last && nodes.length < count && this.isSeveral(last)) {
      const before = nodes.slice(0, -1).map((each) => this.one(each));
      const rest = this.array(last);
      return { each: [], array: before.length === 0 ? rest : `[${before.join(',')},...${rest}]` };
    }
    return { each: nodes.map((each) => this.one(each)) };
  }

  private assignment({ targets, values }: Extract<Statement, { type: 'assignment' }>): string {
    if (targets.length === 1 && values.length === 1) {
      return `${this.store(targets[0]!, this.one(values[0]!))};\n`;
    }
    // All values and subscripts are read before anything is assigned.
    const id = this.ids++;
    const listed = this.values(values, targets.length);
    const held =
      listed.array === undefined
        ? listed.each.map((js, i) => `const a${id}_${i}=${js};`).join('')
        : `const a${id}=${listed.array};`;
    const stores = targets.map((target, i) => {
      const value =
        listed.array === undefined ? (i < listed.each.length ? `a${id}_${i}` : 'undefined') : `a${id}[${i}]`;
      if (target.type !== 'index') return ['', this.store(target, value)];
      const before = `const b${id}_${i}=${this.one(target.base)},k${id}_${i}=${this.one(target.key)};`;
      return [before, `${this.use('set')}(b${id}_${i},k${id}_${i},${value})`];
    });
    return `{${stores.map(([before]) => before).join('')}${held}${stores.map(([, store]) => `${store};`).join('')}}\n`;
  }

  private store(target: Target, value: string): string {
    if (target.type === 'local') return `${this.nameOf(target.local)}=${value}`;
    if (target.type === 'global') return this.fail(target, `an assignment to the global ${target.name}`);
    return `${this.use('set')}(${this.one(target.base)},${this.one(target.key)},${value})`;
  }

  private functionStatement({ target, fn, place }: Extract<Statement, { type: 'function' }>): string {
    if (target.type !== 'local') {
      return `${this.store(target, this.functionValue(fn, place))};\n`;
    }
    const { local } = target;
    if (this.isShared(local)) return this.define(local, fn);
    return `${this.nameOf(local)}=${this.functionValue(fn, place)};\n`;
  }

  /** Returns the function that a local has wherever it has a value, if it has one. */
  private fnOf({ fn, assignments, isEmpty }: Local): FunctionNode | undefined {
    return assignments === (isEmpty ? 1 : 0) ? fn : undefined;
  }

  /**
   * Returns whether a local is a function beside the others. Its declaration may be `local f`, with `function f()`
   * later in the same branch. So the build writes a library in a block of its own.
   */
  private isShared(local: Local): boolean {
    const { place, definedAt } = local;
    if (definedAt === undefined || this.fnOf(local) === undefined) return false;
    return place.branch === definedAt.branch && this.runsOnce(place) && this.runsOnce(definedAt);
  }

  /** Declares a local as a function. */
  private define(local: Local, fn: FunctionNode): string {
    const name = this.nameOf(local);
    if (!this.isShared(local)) return this.declare([local], () => this.functionText(fn));
    this.shared.push(`const ${name}=${this.functionText(fn)};`);
    return '';
  }

  /** Returns the code of a function that is a value. */
  private functionValue(fn: FunctionNode, place: Place): string {
    const text = this.functionText(fn);
    if (!this.runsOnce(place)) return text;
    const name = `f${this.ids++}`;
    this.shared.push(`const ${name}=${text};`);
    return name;
  }

  private functionText(fn: FunctionNode): string {
    const outer = this.frame;
    const returns = this.returnsBy(fn);
    this.frame = { fn, returns, temps: 0 };
    const parameters = fn.parameters.map((each) => this.nameOf(each));
    if (fn.isVararg) parameters.push('...varargs');
    const body = this.block(fn.body);
    const end = returns === 'several' && fn.body.at(-1)?.type !== 'return' ? 'return R.NONE;' : '';
    const text = `(${parameters.join(',')})=>{${this.temps()}${body}${end}}`;
    this.frame = outer;
    return text;
  }

  /** Returns what a function returns, by its statements. */
  private returnsBy(fn: FunctionNode): Returns {
    const known = this.returnsOf.get(fn);
    if (known) return known;
    if (this.walking.has(fn)) return 'several';
    this.walking.add(fn);
    const found = new Set<Returns>();
    const walk = (body: readonly Statement[]): void => {
      for (const each of body) {
        if (each.type === 'return') found.add(this.returnsOfList(each.values));
        else if (each.type === 'if') each.clauses.forEach((clause) => walk(clause.body));
        else if ('body' in each) walk(each.body);
      }
    };
    walk(fn.body);
    this.walking.delete(fn);
    const returns = found.has('several') ? 'several' : found.has('single') ? 'single' : 'none';
    this.returnsOf.set(fn, returns);
    return returns;
  }

  private returnsOfList(values: readonly Expression[]): Returns {
    if (values.length === 0) return 'none';
    return values.length === 1 && !this.isSeveral(values[0]!) ? 'single' : 'several';
  }

  private returned(values: readonly Expression[]): string {
    const { returns } = this.frame;
    if (values.length === 0) return returns === 'several' ? 'return R.NONE;' : 'return;';
    const [only] = values;
    if (values.length > 1) return `return [${this.list(values)}];`;
    if (returns !== 'several' || !this.isSeveral(only!)) return `return ${this.one(only!)};`;
    return `return ${only!.type === 'varargs' ? 'varargs' : this.call(only as Call)};`;
  }

  private forNumbers(node: Extract<Statement, { type: 'for' }>): string {
    const { variable, from, to, step } = node;
    const id = this.ids++;
    const [start, end] = [this.number(from), this.number(to)];
    const by = step === undefined ? 1 : constantOf(step);
    const name = this.nameOf(variable);
    const body = `{let ${name}=i${id};${this.block(node.body)}}`;
    if (by !== undefined) {
      const test = by > 0 ? '<=' : '>=';
      return `for(let i${id}=${start},e${id}=${end};i${id}${test}e${id};i${id}+=${by})${body}`;
    }
    const test = `s${id}>0?i${id}<=e${id}:i${id}>=e${id}`;
    return `for(let i${id}=${start},e${id}=${end},s${id}=${this.number(step!)};${test};i${id}+=s${id})${body}`;
  }

  private forIn(node: Extract<Statement, { type: 'forIn' }>): string {
    const { iterator, variables } = node;
    const name = iterator.type === 'call' ? libraryName(iterator.callee) : undefined;
    if (iterator.type !== 'call' || name === undefined || !ITERATORS.has(name)) {
      return this.fail(node, 'an iterator other than pairs, ipairs and string.gmatch');
    }
    const id = this.ids++;
    const args = iterator.args.map((each) => this.one(each));
    const [first, second] = variables.map((each) => this.nameOf(each));
    if (name === 'string.gmatch') {
      this.checkLiteral(iterator.args[1], (pattern) => matchesOf('', pattern).next());
      const names = variables.map((each) => this.nameOf(each));
      const body = this.block(node.body);
      return `for(let [${names.join(',')}] of ${this.use('matchesOf')}(${args.join(',')})){${body}}`;
    }
    if (args.length !== 1 || variables.length > 2) this.fail(node, `this use of ${name}`);
    const table = `${this.use('tableOf')}(${args[0]},"${name}")`;
    if (name === 'ipairs') {
      const value = second ?? `v${id}`;
      const item = `let ${first}=i${id},${value}=l${id}.get(i${id});if(${value}===undefined)break;`;
      return `for(let i${id}=1,l${id}=${table};;i${id}++){${item}${this.block(node.body)}}`;
    }
    const value = second ?? `v${id}`;
    // A key that went since the loop began does not come.
    const item = `let ${first}=k${id},${value}=l${id}.raw(k${id});if(${value}===undefined)continue;`;
    return `{const l${id}=${table};for(const k${id} of ${this.use('keysOf')}(l${id})){${item}${this.block(node.body)}}}`;
  }

  /** Checks a literal that the runtime would refuse only when it comes there. */
  private checkLiteral(node: Expression | undefined, check: (literal: string) => unknown): void {
    if (node?.type !== 'string' || !this.isStrict) return;
    try {
      check(node.value);
    } catch (error) {
      const what =
        error instanceof LuaSubsetError
          ? error.what
          : `${JSON.stringify(node.value)} (${(error as Error).message})`;
      this.fail(node, what);
    }
  }

  private isSeveral(node: Expression): boolean {
    if (node.type === 'varargs') return true;
    return node.type === 'call' && this.returnsOfCall(node) !== 'single';
  }

  private returnsOfCall({ callee }: Call): Returns {
    const name = libraryName(callee);
    if (name !== undefined) return LIBRARY.get(name) ?? 'several';
    const fn = callee.type === 'local' ? this.fnOf(callee.local) : undefined;
    return fn ? this.returnsBy(fn) : 'several';
  }

  /** Returns the code of an array that has all values of an expression. */
  private array(node: Expression): string {
    if (node.type === 'varargs') return 'varargs';
    const call = node as Call;
    if (libraryName(call.callee) === 'unpack' && call.args.length === 1) {
      return `${this.use('unpacked')}(${this.one(call.args[0]!)})`;
    }
    const code = this.call(call);
    return this.returnsOfCall(call) === 'none' ? `(${code},R.NONE)` : `${this.use('many')}(${code})`;
  }

  /** Returns the code of the items of a list, the last with all its values. */
  private list(nodes: readonly Expression[]): string {
    let code = '';
    nodes.forEach((each, i) => {
      const isOpen = i === nodes.length - 1 && this.isSeveral(each);
      code += (i === 0 ? '' : ',') + (isOpen ? `...${this.array(each)}` : this.one(each));
    });
    return code;
  }

  /** Returns the code of one value. */
  private one(node: Expression): string {
    switch (node.type) {
      case 'nil':
        return 'undefined';
      case 'boolean':
      case 'number':
        return String(node.value);
      case 'string':
        return JSON.stringify(node.value);
      case 'varargs':
        return 'varargs[0]';
      case 'local':
        return this.nameOf(node.local);
      case 'global':
        return this.global(node);
      case 'index':
        return this.index(node);
      case 'call':
        return this.firstOf(node);
      case 'function':
        return `(${this.functionValue(node.fn, node.place)})`;
      case 'table':
        return this.table(node);
      case 'unary':
        return this.unary(node.operator, node.operand);
      case 'binary':
        return this.binary(node);
      case 'logical':
        return this.logical(node);
      case 'parens':
        return this.one(node.inner);
    }
  }

  private global(node: Extract<Expression, { type: 'global' }>): string {
    const js = Object.hasOwn(GLOBALS, node.name) ? GLOBALS[node.name] : undefined;
    if (js !== undefined) return js;
    if (LIBRARY.has(node.name)) return this.use(node.name);
    return this.fail(node, `the global ${node.name}`);
  }

  private index(node: Extract<Expression, { type: 'index' }>): string {
    const name = libraryName(node);
    if (name === 'math.huge') return 'Infinity';
    if (name !== undefined && LIBRARY.has(name)) return this.use(name);
    if (name !== undefined && node.base.type === 'global' && !Object.hasOwn(GLOBALS, node.base.name)) {
      return this.fail(node, name);
    }
    return `${this.use('get')}(${this.one(node.base)},${this.one(node.key)})`;
  }

  /** Returns the code of the first value of a call. */
  private firstOf(node: Call): string {
    if (this.returnsOfCall(node) !== 'several') return this.call(node);
    if (libraryName(node.callee) === 'unpack' && node.args.length === 1) return `${this.array(node)}[0]`;
    return `${this.use('first')}(${this.call(node)})`;
  }

  private call(node: Call): string {
    const { callee, args } = node;
    const name = libraryName(callee);
    if (name === undefined) {
      const isFunction =
        callee.type === 'local' &&
        this.fnOf(callee.local) !== undefined &&
        (!callee.local.isEmpty || this.isShared(callee.local));
      const base = isFunction ? this.one(callee) : `${this.use('callable')}(${this.one(callee)})`;
      return `${base}(${this.list(args)})`;
    }
    if (!LIBRARY.has(name)) return this.fail(node, `the function ${name}`);
    this.checkCall(name, node);
    const [command] = args;
    if ((name === 'redis.call' || name === 'redis.pcall') && command?.type === 'string') {
      const code = this.command(node, command.value, args.slice(1));
      return name === 'redis.call' ? code : `${this.use('caught')}(()=>${code})`;
    }
    return `${this.use(name)}(${this.list(args)})`;
  }

  /** Checks what can be known of a call of the library before it runs. */
  private checkCall(name: string, node: Call): void {
    const { args } = node;
    if ((name === 'tonumber' || name === 'next') && args.length !== 1) this.fail(node, `${name} of two values`);
    if (name === 'string.match' || name === 'string.gsub' || (name === 'string.find' && args.length < 4)) {
      this.checkLiteral(args[1], patternOf);
    }
    if (name === 'string.format') this.checkLiteral(args[0], partsOfFormat);
    if (name === 'setmetatable' && !isIndexTable(args[1])) this.fail(node, 'a metatable with more than __index');
  }

  /** Returns the code of a call of a command whose name is known. */
  private command(node: Call, given: string, args: readonly Expression[]): string {
    const name = given.toUpperCase();
    const isOpen = args.length > 0 && this.isSeveral(args.at(-1)!);
    if (this.checkCommand(name, isOpen ? Infinity : args.length) !== undefined) {
      this.fail(node, `the command ${given} with ${args.length} arguments`);
    }
    this.commands.add(name);
    const texts = args.map((each, i) =>
      isOpen && i === args.length - 1 ? `...${this.use('texts')}(${this.array(each)})` : this.text(each),
    );
    if (!isOpen) return `${name}(${texts.join(',')})`;
    return `${name}(...${this.use('counted')}("${name}",[${texts.join(',')}]))`;
  }

  /** Returns the code of an argument of a command. */
  private text(node: Expression): string {
    if (this.kind(node) === 'text') return this.one(node);
    if (node.type === 'number' && Number.isSafeInteger(node.value)) return JSON.stringify(precise(node.value));
    return `${this.use('text')}(${this.one(node)})`;
  }

  private table({ items, fields }: Table): string {
    const array = `[${this.list(items)}]`;
    if (fields.length === 0) return `new Table(${array})`;
    const pairs = fields.map(([key, value]) => `${this.one(key)},${this.one(value)}`);
    return `${this.use('make')}(${array},${pairs.join(',')})`;
  }

  private kind(node: Expression): Kind {
    switch (node.type) {
      case 'nil':
      case 'boolean':
      case 'number':
      case 'table':
        return node.type;
      case 'string':
        return 'text';
      case 'parens':
        return this.kind(node.inner);
      case 'unary':
        return node.operator === 'not' ? 'boolean' : 'number';
      case 'binary':
        if (node.operator === '..') return 'text';
        return /^[=~<>]/.test(node.operator) ? 'boolean' : 'number';
      case 'logical': {
        const kind = this.kind(node.left);
        return kind === this.kind(node.right) ? kind : 'any';
      }
      case 'index':
        return libraryName(node) === 'math.huge' ? 'number' : 'any';
      case 'call': {
        const name = libraryName(node.callee) ?? '';
        if (TEXT_FUNCTIONS.has(name)) return 'text';
        return name.startsWith('math.') ? 'number' : 'any';
      }
      default:
        return 'any';
    }
  }

  /** Returns the code of a condition. */
  private condition(node: Expression): string {
    if (node.type === 'parens') return this.condition(node.inner);
    if (node.type === 'logical') {
      const operator = node.operator === 'and' ? '&&' : '||';
      return `(${this.condition(node.left)}${operator}${this.condition(node.right)})`;
    }
    if (node.type === 'unary' && node.operator === 'not') return `!${this.condition(node.operand)}`;
    const kind = this.kind(node);
    if (kind === 'boolean') return this.one(node);
    if (kind === 'nil') return 'false';
    if (kind !== 'any') return `(${this.one(node)},true)`;
    const { name, read } = this.held(node);
    return `(${read}!==undefined&&${name}!==false)`;
  }

  /** Returns the code that reads a value, and a name for it then. */
  private held(node: Expression): { name: string; read: string } {
    if (node.type === 'local') {
      const name = this.nameOf(node.local);
      return { name, read: name };
    }
    const name = this.temp();
    return { name, read: `(${name}=${this.one(node)})` };
  }

  private logical(node: Extract<Expression, { type: 'binary' | 'logical' }>): string {
    const { operator, left, right } = node;
    if (this.kind(left) === 'boolean') {
      return `(${this.one(left)}${operator === 'and' ? '&&' : '||'}${this.one(right)})`;
    }
    // `a and b or c`, where b is true whatever it is.
    if (operator === 'or' && left.type === 'logical' && left.operator === 'and') {
      if (['number', 'text', 'table'].includes(this.kind(left.right))) {
        return `(${this.condition(left.left)}?${this.one(left.right)}:${this.one(right)})`;
      }
    }
    const { name, read } = this.held(left);
    return operator === 'and'
      ? `(${read}===undefined||${name}===false?${name}:${this.one(right)})`
      : `(${read}!==undefined&&${name}!==false?${name}:${this.one(right)})`;
  }

  /** Returns the code of an operand of arithmetic. */
  private number(node: Expression): string {
    return this.kind(node) === 'number' ? this.one(node) : `${this.use('num')}(${this.one(node)})`;
  }

  private unary(operator: string, operand: Expression): string {
    if (operator === 'not') return `!${this.condition(operand)}`;
    if (operator === '#') return `${this.use('len')}(${this.one(operand)})`;
    return `(-${this.number(operand)})`;
  }

  private binary(node: Extract<Expression, { type: 'binary' | 'logical' }>): string {
    const { operator, left, right } = node;
    switch (operator) {
      case '..':
        return `(${partsOf(node)
          .map((each) => this.part(each))
          .join('+')})`;
      case '==':
        return `(${this.one(left)}===${this.one(right)})`;
      case '~=':
        return `(${this.one(left)}!==${this.one(right)})`;
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.compare(operator, left, right);
      case '%':
        return `${this.use('mod')}(${this.number(left)},${this.number(right)})`;
      case '^':
        return `${this.use('pow')}(${this.number(left)},${this.number(right)})`;
      default:
        return `(${this.number(left)}${operator}${this.number(right)})`;
    }
  }

  /** Returns the code of a part of a text. */
  private part(node: Expression): string {
    if (node.type === 'number') return JSON.stringify(numberText(node.value));
    return this.kind(node) === 'text' ? this.one(node) : `${this.use('cat')}(${this.one(node)})`;
  }

  private compare(operator: keyof typeof COMPARISONS, left: Expression, right: Expression): string {
    if (this.kind(left) === 'number' && this.kind(right) === 'number') {
      return `(${this.one(left)}${operator}${this.one(right)})`;
    }
    return `${this.use(COMPARISONS[operator])}(${this.one(left)},${this.one(right)})`;
  }
}

/** Returns the code of the compiler, which says what compiled scripts expect of a runtime. */
export function codeOfCompiler(): string {
  return Compiler.toString();
}

/** The operators of {@link Runtime} that compare. */
const COMPARISONS = { '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge' } as const;

/** Returns the name of a function of the library, such as `string.sub`, if an expression is the name of one. */
function libraryName(node: Expression): string | undefined {
  if (node.type === 'global') return Object.hasOwn(GLOBALS, node.name) ? undefined : node.name;
  if (node.type !== 'index' || node.base.type !== 'global' || node.key.type !== 'string') return undefined;
  const { name } = node.base;
  return name === 'KEYS' || name === 'ARGV' ? undefined : `${name}.${node.key.value}`;
}
