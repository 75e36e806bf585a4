// What compiled scripts call: the operators of Lua, and the functions of its library.
import { createHash } from 'node:crypto';
import { type Dialect, fixed, general, numberText, readNumber, toInteger, wholeText } from './numbers.js';
import { decodeJson, encodeJson } from './json.js';
import { matchesOf, matchFrom, patternOf } from './patterns.js';
import {
  LuaError,
  LuaSubsetError,
  LuaTable,
  shown,
  typeOf,
  type LuaFunction,
  type LuaValue,
  type Returned,
} from './values.js';

/** The commands of a server, by their names in capitals. They take and return bytes. */
export type CommandTable = Readonly<Record<string, (...args: string[]) => LuaValue>>;

/** Says what is wrong with a command and the number of its arguments, as a reply; undefined if nothing is. */
export type CheckCommand = (name: string, count: number) => string | undefined;

/** What a script is run with: by name, for the code that the compiler writes. */
export type Runtime = Readonly<Record<string, unknown>>;

const NONE: LuaValue[] = [];

/** The most values on the stack of a C function of Lua. */
const STACK = 8_000;

function fail(message: string): never {
  throw new LuaError(message);
}

function badArgument(at: number, name: string, expected: string, value: LuaValue): never {
  const found = value === undefined ? 'no value' : typeOf(value);
  return fail(`bad argument #${at} to '${name}' (${expected} expected, got ${found})`);
}

/** Returns an operand of arithmetic. */
function num(value: LuaValue): number {
  if (typeof value === 'number') return value;
  const number = typeof value === 'string' ? readNumber(value) : undefined;
  return number ?? fail(`attempt to perform arithmetic on a ${typeOf(value)} value`);
}

function get(base: LuaValue, key: LuaValue): LuaValue {
  if (base instanceof LuaTable) return base.get(key);
  return typeof base === 'string' ? fieldOfText(key) : notIndexed(base, key);
}

/** Returns nil for a field of a text, such as the `err` of a reply that is none. */
function fieldOfText(key: LuaValue): undefined {
  const name = shown(key);
  if (LIBRARY.has(`string.${name}`)) throw new LuaSubsetError(`the method ${name} of a text`);
}

function set(base: LuaValue, key: LuaValue, value: LuaValue): void {
  if (base instanceof LuaTable) base.set(key, value);
  else notIndexed(base, key);
}

function notIndexed(base: LuaValue, key: LuaValue): never {
  return fail(`attempt to index a ${typeOf(base)} value (key ${shown(key)})`);
}

function len(value: LuaValue): number {
  if (typeof value === 'string') return value.length;
  return value instanceof LuaTable ? value.items.length : fail(`attempt to get length of a ${typeOf(value)} value`);
}

/** Returns an operand of `..` as a text. */
function cat(value: LuaValue): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? numberText(value) : fail(`attempt to concatenate a ${typeOf(value)} value`);
}

function lt(a: LuaValue, b: LuaValue): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a < b : textOrder(a, b) < 0;
}

function le(a: LuaValue, b: LuaValue): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a <= b : textOrder(a, b) <= 0;
}

function gt(a: LuaValue, b: LuaValue): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a > b : textOrder(a, b) > 0;
}

function ge(a: LuaValue, b: LuaValue): boolean {
  return typeof a === 'number' && typeof b === 'number' ? a >= b : textOrder(a, b) >= 0;
}

function textOrder(a: LuaValue, b: LuaValue): number {
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  const [one, other] = [typeOf(a), typeOf(b)];
  return fail(one === other ? `attempt to compare two ${one} values` : `attempt to compare ${one} with ${other}`);
}

/** Returns a power as C does: 1 to any power is 1, and so is -1 to an infinite one. */
function pow(a: number, b: number): number {
  return a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b;
}

function callable(value: LuaValue): LuaFunction {
  return typeof value === 'function' ? value : fail(`attempt to call a ${typeOf(value)} value`);
}

function first(value: Returned): LuaValue {
  return Array.isArray(value) ? value[0] : value;
}

function many(value: Returned): LuaValue[] {
  return Array.isArray(value) ? value : [value];
}

function isTrue(value: LuaValue): boolean {
  return value !== undefined && value !== false;
}

function tableOf(value: LuaValue, name: string): LuaTable {
  return value instanceof LuaTable ? value : badArgument(1, name, 'table', value);
}

/** Makes a table of an array and of pairs of a key and a value. An item of the array wins over a pair of its place. */
function make(items: LuaValue[], ...fields: LuaValue[]): LuaTable {
  const [table, count] = [new LuaTable(items), items.length];
  for (let i = 0; i < fields.length; i += 2) {
    const key = fields[i];
    if (typeof key !== 'number' || !(key >= 1 && key <= count)) table.set(key, fields[i + 1]);
  }
  return table;
}

/** Returns the values of `unpack(table)`. */
function unpacked(value: LuaValue): LuaValue[] {
  const { items } = tableOf(value, 'unpack');
  return items.length < STACK ? items : fail('too many results to unpack');
}

/** The operators, by their names in compiled code. */
const OPERATORS = {
  Table: LuaTable,
  NONE,
  num,
  get,
  set,
  len,
  cat,
  lt,
  le,
  gt,
  ge,
  mod: (a: number, b: number): number => a - Math.floor(a / b) * b,
  pow,
  callable,
  first,
  many,
  tableOf,
  make,
  unpacked,
  matchesOf: (text: LuaValue, pattern: LuaValue) =>
    matchesOf(textArgument(text, 1, 'gmatch'), textArgument(pattern, 2, 'gmatch')),
};

function textArgument(value: LuaValue, at: number, name: string): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? numberText(value) : badArgument(at, name, 'string', value);
}

function numberArgument(value: LuaValue, at: number, name: string): number {
  return tonumber(value) ?? badArgument(at, name, 'number', value);
}

function wholeArgument(value: LuaValue, at: number, name: string): number {
  return toInteger(numberArgument(value, at, name));
}

function tonumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? readNumber(value) : undefined;
}

function tostring(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value);
  if (value === undefined) return 'nil';
  if (typeof value === 'boolean') return String(value);
  return `${typeOf(value)}: 0x0`;
}

/** A conversion of a format, such as `%-5.2f`. */
interface Conversion {
  readonly kind: string;
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
}

const CONVERSION = /%(?:%|([-+ 0]*)(\d{0,2})(?:\.(\d{0,2}))?([a-zA-Z]))/g;
const MOST_FORMATS = 1_000;
const formats = new Map<string, (string | Conversion)[]>();

/** Returns the parts of a format. @throws LuaSubsetError for a conversion that the runner does not know */
export function partsOfFormat(format: string): (string | Conversion)[] {
  let parts = formats.get(format);
  if (!parts) {
    if (formats.size >= MOST_FORMATS) formats.clear();
    parts = readFormat(format);
    formats.set(format, parts);
  }
  return parts;
}

function readFormat(format: string): (string | Conversion)[] {
  const parts: (string | Conversion)[] = [];
  let at = 0;
  const text = (to: number) => {
    const between = format.slice(at, to);
    if (between.includes('%')) throw new LuaSubsetError(`the format ${JSON.stringify(format)}`);
    if (between !== '') parts.push(between);
  };
  for (const found of format.matchAll(CONVERSION)) {
    text(found.index);
    at = found.index + found[0].length;
    const [whole, flags = '', width = '', precision, kind = ''] = found;
    if (whole === '%%') parts.push('%');
    else if (!/[dsfgxi]/.test(kind)) throw new LuaSubsetError(`the conversion ${whole} of a format`);
    else {
      const digits = precision === undefined ? undefined : Number(precision);
      parts.push({ kind, flags, width: Number(width), precision: digits });
    }
  }
  text(format.length);
  return parts;
}

function formatted(pattern: LuaValue, ...args: LuaValue[]): string {
  let result = '';
  let at = 0;
  for (const part of partsOfFormat(textArgument(pattern, 1, 'format'))) {
    if (typeof part === 'string') result += part;
    else if (part.kind === 's') result += formattedText(textArgument(args[at], at++ + 2, 'format'), part);
    else result += padded(converted(part, args[at], at++ + 2), part);
  }
  return result;
}

/** The length from which `%s` takes a text as it is. A shorter one goes through C, and ends at a zero byte. */
const LONG_TEXT = 100;

function formattedText(text: string, conversion: Conversion): string {
  const { precision } = conversion;
  if (precision === undefined && text.length >= LONG_TEXT) return text;
  const end = text.indexOf('\0');
  return padded((end < 0 ? text : text.slice(0, end)).slice(0, precision), conversion);
}

function converted({ kind, precision, flags }: Conversion, value: LuaValue, at: number): string {
  const number = numberArgument(value, at, 'format');
  if (kind === 'x') return BigInt.asUintN(64, BigInt(toInteger(number))).toString(16);
  const text =
    kind === 'f'
      ? fixed(number, precision ?? 6)
      : kind === 'g'
        ? general(number, precision === undefined ? 6 : precision || 1)
        : integerText(number, precision ?? 1);
  const sign = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  return text.startsWith('-') ? text : sign + text;
}

/** Formats as `%.{digits}d`. */
function integerText(value: number, digits: number): string {
  const text = wholeText(toInteger(value));
  const sign = text.startsWith('-') ? '-' : '';
  const padding = text.slice(sign.length).padStart(digits, '0');
  return sign + (digits === 0 && padding === '0' ? '' : padding);
}

function padded(text: string, { kind, flags, width, precision }: Conversion): string {
  if (text.length >= width) return text;
  if (flags.includes('-')) return text.padEnd(width);
  const isWhole = kind === 'd' || kind === 'i' || kind === 'x';
  const isPaddedByZeros =
    flags.includes('0') && kind !== 's' && !(isWhole && precision !== undefined) && !/inf|nan/.test(text);
  if (!isPaddedByZeros) return text.padStart(width);
  const sign = /^[-+ ]/.exec(text)?.[0] ?? '';
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}

/** Returns a place in a text that may be counted from its end; 0 if it is before the start. */
function placeIn(length: number, place: number): number {
  return Math.max(0, place < 0 ? place + length + 1 : place);
}

function sub(value: LuaValue, from: LuaValue, to?: LuaValue): string {
  const text = textArgument(value, 1, 'sub');
  const start = Math.max(1, placeIn(text.length, wholeArgument(from, 2, 'sub')));
  const end = placeIn(text.length, to === undefined ? -1 : wholeArgument(to, 3, 'sub'));
  return start > end ? '' : text.slice(start - 1, end);
}

function byte(value: LuaValue, from?: LuaValue, to?: LuaValue): LuaValue[] {
  const text = textArgument(value, 1, 'byte');
  const start = placeIn(text.length, from === undefined ? 1 : wholeArgument(from, 2, 'byte'));
  const end = placeIn(text.length, to === undefined ? start : wholeArgument(to, 3, 'byte'));
  const codes: LuaValue[] = [];
  for (let i = Math.max(1, start); i <= Math.min(end, text.length); i++) codes.push(text.charCodeAt(i - 1));
  return codes;
}

function rep(value: LuaValue, count: LuaValue): string {
  const text = textArgument(value, 1, 'rep');
  const times = Math.max(0, wholeArgument(count, 2, 'rep'));
  return times * text.length < 2 ** 29 ? text.repeat(times) : fail('not enough memory');
}

/** Returns where a search begins, counted from 0. A start behind the end is the end. */
function startIn(text: string, init: LuaValue, name: string): number {
  const place = init === undefined ? 1 : placeIn(text.length, wholeArgument(init, 3, name));
  return Math.min(text.length, Math.max(0, place - 1));
}

const SPECIAL = /[\^$*+?.([%-]/;

function find(value: LuaValue, pattern: LuaValue, init?: LuaValue, isPlain?: LuaValue): Returned {
  const text = textArgument(value, 1, 'find');
  const wanted = textArgument(pattern, 2, 'find');
  const from = startIn(text, init, 'find');
  if (isTrue(isPlain) || !SPECIAL.test(wanted)) {
    const at = text.indexOf(wanted, from);
    return at < 0 ? undefined : [at + 1, at + wanted.length];
  }
  const found = matchFrom(text, wanted, from);
  return found ? [found.index + 1, found.index + found[0].length, ...found.slice(1)] : undefined;
}

function match(value: LuaValue, pattern: LuaValue, init?: LuaValue): Returned {
  const text = textArgument(value, 1, 'match');
  const found = matchFrom(text, textArgument(pattern, 2, 'match'), startIn(text, init, 'match'));
  if (!found) return undefined;
  return found.length === 1 ? found[0] : found.slice(1);
}

function gsub(value: LuaValue, pattern: LuaValue, by: LuaValue, most?: LuaValue): [string, number] {
  const text = textArgument(value, 1, 'gsub');
  const { regex, isAnchored } = patternOf(textArgument(pattern, 2, 'gsub'));
  const limit = most === undefined ? Infinity : wholeArgument(most, 4, 'gsub');
  let result = '';
  let at = 0;
  let count = 0;
  while (count < limit && at <= text.length) {
    regex.lastIndex = at;
    const found = regex.exec(text);
    if (!found) break;
    count++;
    result += text.slice(at, found.index) + replacement(by, found);
    at = found.index + found[0].length;
    if (found[0] === '') result += text.slice(at, ++at);
    if (isAnchored) break;
  }
  return [result + text.slice(at), count];
}

function replacement(by: LuaValue, found: RegExpExecArray): string {
  if (typeof by === 'string' || typeof by === 'number') {
    return tostring(by).replace(/%([^])/g, (_, char: string) => captureOf(char, found));
  }
  const captures: LuaValue[] = found.length > 1 ? found.slice(1) : [found[0]];
  const value =
    typeof by === 'function'
      ? first(by(...captures))
      : by instanceof LuaTable
        ? by.get(captures[0])
        : badArgument(3, 'gsub', 'string/function/table', by);
  if (!isTrue(value)) return found[0];
  return typeof value === 'string' || typeof value === 'number'
    ? tostring(value)
    : fail(`invalid replacement value (a ${typeOf(value)})`);
}

function captureOf(char: string, found: RegExpExecArray): string {
  if (char < '0' || char > '9') return char;
  if (char === '0' || (char === '1' && found.length === 1)) return found[0];
  return found[Number(char)] ?? fail('invalid capture index');
}

function concat(value: LuaValue, separator?: LuaValue, from?: LuaValue, to?: LuaValue): string {
  const table = tableOf(value, 'concat');
  const between = separator === undefined ? '' : textArgument(separator, 2, 'concat');
  const start = from === undefined ? 1 : wholeArgument(from, 3, 'concat');
  const end = to === undefined ? table.items.length : wholeArgument(to, 4, 'concat');
  const parts: string[] = [];
  for (let i = start; i <= end; i++) {
    const item = table.raw(i);
    parts.push(
      typeof item === 'string' || typeof item === 'number'
        ? tostring(item)
        : fail(`invalid value (${typeOf(item)}) at index ${i} in table for 'concat'`),
    );
  }
  return parts.join(between);
}

function insert(value: LuaValue, ...rest: LuaValue[]): LuaValue[] {
  const table = tableOf(value, 'insert');
  const end = table.items.length + 1;
  if (rest.length === 1) {
    table.set(end, rest[0]);
    return NONE;
  }
  if (rest.length !== 2) return fail("wrong number of arguments to 'insert'");
  const at = wholeArgument(rest[0], 2, 'insert');
  for (let i = end; i > at; i--) table.set(i, table.raw(i - 1));
  table.set(at, rest[1]);
  return NONE;
}

function remove(value: LuaValue, place?: LuaValue): Returned {
  const table = tableOf(value, 'remove');
  const { length } = table.items;
  const at = place === undefined ? length : wholeArgument(place, 2, 'remove');
  return at < 1 || at > length ? NONE : table.remove(at);
}

function sort(value: LuaValue, less?: LuaValue): LuaValue[] {
  const isBefore = typeof less === 'function' ? (a: LuaValue, b: LuaValue) => isTrue(first(less(a, b))) : lt;
  tableOf(value, 'sort').items.sort((a, b) => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0));
  return NONE;
}

function unpack(value: LuaValue, from?: LuaValue, to?: LuaValue): LuaValue[] {
  const table = tableOf(value, 'unpack');
  const start = from === undefined ? 1 : wholeArgument(from, 2, 'unpack');
  const end = to === undefined ? table.items.length : wholeArgument(to, 3, 'unpack');
  if (end - start >= STACK - 3) fail('too many results to unpack');
  const values: LuaValue[] = [];
  for (let i = start; i <= end; i++) values.push(table.raw(i));
  return values;
}

function select(at: LuaValue, ...rest: LuaValue[]): Returned {
  if (at === '#') return rest.length;
  const from = wholeArgument(at, 1, 'select');
  if (from === 0 || -from > rest.length) return fail("bad argument #1 to 'select' (index out of range)");
  return rest.slice(from < 0 ? from : from - 1);
}

function pcall(run: LuaValue, ...args: LuaValue[]): LuaValue[] {
  try {
    return [true, ...many(callable(run)(...args))];
  } catch (error) {
    if (error instanceof LuaError) return [false, caughtValue(error.value)];
    throw error; // a fault of the runner, which must not look like one of the script
  }
}

/** Returns what `pcall` shows of an error: of an error reply its text, as in Redis. */
function caughtValue(value: LuaValue): LuaValue {
  const err = value instanceof LuaTable ? value.raw('err') : undefined;
  return typeof err === 'string' || typeof err === 'number' ? err : value;
}

function setmetatable(table: LuaValue, meta: LuaValue): LuaTable {
  const changed = tableOf(table, 'setmetatable');
  changed.meta = meta instanceof LuaTable ? meta : undefined;
  return changed;
}

/** The functions that return one value. */
const SINGLE = {
  'string.sub': sub,
  'string.format': formatted,
  'string.rep': rep,
  'string.lower': (value: LuaValue) =>
    textArgument(value, 1, 'lower').replace(/[A-Z]+/g, (part) => part.toLowerCase()),
  'string.upper': (value: LuaValue) =>
    textArgument(value, 1, 'upper').replace(/[a-z]+/g, (part) => part.toUpperCase()),
  // Not those of JavaScript, which return NaN wherever there is one.
  'math.min': (...values: LuaValue[]) => bestOf(values, 'min', (a, b) => a < b),
  'math.max': (...values: LuaValue[]) => bestOf(values, 'max', (a, b) => a > b),
  'math.floor': (value: LuaValue) => Math.floor(numberArgument(value, 1, 'floor')),
  'math.ceil': (value: LuaValue) => Math.ceil(numberArgument(value, 1, 'ceil')),
  'math.abs': (value: LuaValue) => Math.abs(numberArgument(value, 1, 'abs')),
  'table.concat': concat,
  'cjson.decode': (...values: LuaValue[]) => decodeJson(onlyOne(values)),
  tonumber,
  tostring,
  type: typeOf,
  setmetatable,
};

/** Returns the only argument of a function of cjson, which refuses more. */
function onlyOne(values: readonly LuaValue[]): LuaValue {
  return values.length === 1 ? values[0] : fail('bad argument #1 (expected 1 argument)');
}

function bestOf(values: LuaValue[], name: string, isBetter: (a: number, b: number) => boolean): number {
  let best = numberArgument(values[0], 1, name);
  for (let i = 1; i < values.length; i++) {
    const value = numberArgument(values[i], i + 1, name);
    if (isBetter(value, best)) best = value;
  }
  return best;
}

/** The functions that return several values, or none. */
const SEVERAL = {
  'string.byte': byte,
  'string.find': find,
  'string.match': match,
  'string.gsub': gsub,
  'table.insert': insert,
  'table.remove': remove,
  'table.sort': sort,
  unpack,
  select,
  pcall,
  error: (value: LuaValue): never => {
    throw new LuaError(value);
  },
};

/** The functions of the server, each of which returns one value. */
const OF_SERVER = [
  'redis.call',
  'redis.pcall',
  'redis.sha1hex',
  'redis.acl_check_cmd',
  'redis.error_reply',
  'redis.status_reply',
  'cjson.encode',
  'next',
];

/** How many values each function of the library returns. */
export const LIBRARY: ReadonlyMap<string, 'single' | 'several'> = new Map([
  ...[...Object.keys(SINGLE), ...OF_SERVER].map((name) => [name, 'single'] as const),
  ...Object.keys(SEVERAL).map((name) => [name, 'several'] as const),
]);

/** Runs a command, and returns the error of one that is refused. */
function caught(run: () => LuaValue): LuaValue {
  try {
    return run();
  } catch (error) {
    if (error instanceof LuaError && error.value instanceof LuaTable) return error.value;
    throw error;
  }
}

/** Returns what the scripts of a server run with. */
export function runtimeOf(commands: CommandTable, checkCommand: CheckCommand, dialect: Dialect): Runtime {
  /** Returns an argument of a command as bytes. */
  const text = (value: LuaValue): string => {
    if (typeof value === 'string') return value;
    if (typeof value === 'number') return dialect.argument(value);
    throw replyError('ERR Lua redis lib command arguments must be strings or integers');
  };
  /** Returns the arguments of a command, if it may have so many. */
  const counted = (name: string, args: string[]): string[] => {
    const problem = checkCommand(name, args.length);
    if (problem !== undefined) throw replyError(problem);
    return args;
  };
  const call = (name: LuaValue, ...args: LuaValue[]): LuaValue => {
    const command = textArgument(name, 1, 'call').toUpperCase();
    const texts = counted(command, args.map(text));
    return commands[command]!(...texts);
  };
  const ofServer: Readonly<Record<string, LuaFunction>> = {
    'redis.call': call,
    'redis.pcall': (name, ...args) => caught(() => call(name, ...args)),
    'redis.sha1hex': (value) =>
      createHash('sha1')
        .update(typeof value === 'string' || typeof value === 'number' ? tostring(value) : '', 'latin1')
        .digest('hex'),
    'redis.acl_check_cmd': () => true,
    'redis.error_reply': (err) => LuaTable.of({ err }),
    'redis.status_reply': (ok) => LuaTable.of({ ok }),
    'cjson.encode': (...values) => encodeJson(onlyOne(values), dialect),
    /** Returns the first key, as the scripts ask only whether there is one. */
    next: (table) => dialect.order(tableOf(table, 'next').keys())[0],
  };
  const redis = Object.entries(ofServer).flatMap(([name, run]) =>
    name.startsWith('redis.') ? [[name.slice('redis.'.length), run]] : [],
  );
  return {
    ...OPERATORS,
    ...SINGLE,
    ...SEVERAL,
    ...ofServer,
    text,
    caught,
    counted,
    texts: (values: LuaValue[]) => values.map(text),
    keysOf: (table: LuaTable) => dialect.order(table.keys()),
    redis: LuaTable.of(Object.fromEntries(redis) as Record<string, LuaFunction>),
  };
}

/** Returns the error of a refused command. */
export function replyError(err: string): LuaError {
  return new LuaError(LuaTable.of({ err }));
}
