// JSON as cjson of Redis writes and reads it.
import { type Dialect, general, readNumber } from './numbers.js';
import { LuaError, LuaNull, LuaTable, NULL, toBytes, typeOf, type LuaValue } from './values.js';

const MOST_DEPTH = 1_000;
/** An array may have at most twice as many places as values, above this many places. */
const SPARSE_SAFE = 10;
const SPARSE_RATIO = 2;

// oxlint-disable-next-line no-control-regex -- cjson escapes the control characters
const ESCAPED = /["\\/\x00-\x1f\x7f]/g;
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Returns a value as JSON. @throws LuaError for a value that JSON does not have */
export function encodeJson(value: LuaValue, { order }: Dialect): string {
  return encode(value, 0, order);
}

/** Reads JSON: also numbers as C reads them, and control characters in texts. @throws LuaError */
export function decodeJson(text: LuaValue): LuaValue {
  if (typeof text !== 'string' && typeof text !== 'number') {
    throw new LuaError(`bad argument #1 to 'decode' (string expected, got ${typeOf(text)})`);
  }
  return new Reader(typeof text === 'number' ? general(text, 14) : text).read();
}

function encode(value: LuaValue, depth: number, order: Dialect['order']): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new LuaError('Cannot serialise number: must not be NaN or Inf');
    return general(value, 14);
  }
  if (typeof value === 'boolean') return String(value);
  if (value === undefined || value instanceof LuaNull) return 'null';
  if (!(value instanceof LuaTable)) throw new LuaError(`Cannot serialise ${typeof value}: type not supported`);
  if (depth >= MOST_DEPTH) throw new LuaError('Cannot serialise, excessive depth');
  const length = arrayLength(value);
  if (length > 0) {
    const parts: string[] = [];
    for (let i = 1; i <= length; i++) parts.push(encode(value.raw(i), depth + 1, order));
    return `[${parts.join(',')}]`;
  }
  const parts = order(value.keys()).map((key) => `${keyOf(key)}:${encode(value.raw(key), depth + 1, order)}`);
  return `{${parts.join(',')}}`;
}

/** Returns the number of places of an array, or 0 for a table that becomes an object. */
function arrayLength({ items, fields }: LuaTable): number {
  if (fields === undefined || fields.size === 0) return items.length;
  let [last, count] = [items.length, items.length];
  for (const key of fields.keys()) {
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return 0;
    last = Math.max(last, key);
    count++;
  }
  if (last > SPARSE_SAFE && last > count * SPARSE_RATIO) {
    throw new LuaError('Cannot serialise table: excessively sparse array');
  }
  return last;
}

function keyOf(key: LuaValue): string {
  if (typeof key === 'number') return `"${general(key, 14)}"`;
  if (typeof key === 'string') return quoted(key);
  throw new LuaError('Cannot serialise table: table key must be a number or string');
}

function quoted(text: string): string {
  return `"${text.replace(ESCAPED, (char) => SHORT[char] ?? `\\u00${char.charCodeAt(0).toString(16).padStart(2, '0')}`)}"`;
}

const NUMBER =
  /[-+]?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][-+]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|inf(?:inity)?|nan)/iy;
const PLAIN = /[^"\\\0]*/y;
const HEX = /^[0-9a-fA-F]{4}$/;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  read(): LuaValue {
    const value = this.value(1);
    if (this.skip() !== '') this.fail('the end');
    return value;
  }

  private fail(expected: string): never {
    throw new LuaError(`Expected ${expected} but found invalid token at character ${this.at + 1}`);
  }

  /** Skips blanks, and returns the character behind them. */
  private skip(): string {
    const { text } = this;
    let char = text[this.at];
    while (char === ' ' || char === '\n' || char === '\t' || char === '\r') char = text[++this.at];
    return char ?? '';
  }

  private value(depth: number): LuaValue {
    const char = this.skip();
    if (char === '"') return this.string();
    if (char === '{' || char === '[') {
      if (depth > MOST_DEPTH) throw new LuaError(`Found too many nested data structures (${depth})`);
      return char === '{' ? this.object(depth) : this.array(depth);
    }
    if (this.word('true')) return true;
    if (this.word('false')) return false;
    if (this.word('null')) return NULL;
    return this.number(char);
  }

  private word(word: string): boolean {
    if (!this.text.startsWith(word, this.at)) return false;
    this.at += word.length;
    return true;
  }

  private number(first: string): number {
    NUMBER.lastIndex = this.at;
    const digits = NUMBER.exec(this.text)?.[0];
    if (digits === undefined || first === '.') return this.fail('value');
    this.at += digits.length;
    return readNumber(digits)!;
  }

  private string(): string {
    const { text } = this;
    let result = '';
    this.at++;
    for (;;) {
      PLAIN.lastIndex = this.at;
      const plain = PLAIN.exec(text)![0];
      result += plain;
      this.at += plain.length;
      const char = text[this.at++];
      if (char === '"') return result;
      if (char !== '\\') return this.fail('the end of a string');
      const escaped = text[this.at++] ?? '';
      result += escaped === 'u' ? this.unicode() : (ESCAPES[escaped] ?? this.fail('an escape code'));
    }
  }

  private unicode(): string {
    let code = this.hex();
    if (code >= 0xdc00 && code < 0xe000) return this.fail('a unicode escape code');
    if (code >= 0xd800 && code < 0xdc00) {
      if (!this.word('\\u')) return this.fail('a unicode escape code');
      const low = this.hex();
      if (low < 0xdc00 || low > 0xdfff) return this.fail('a unicode escape code');
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return toBytes(String.fromCodePoint(code));
  }

  private hex(): number {
    const digits = this.text.slice(this.at, this.at + 4);
    if (!HEX.test(digits)) return this.fail('a unicode escape code');
    this.at += 4;
    return Number.parseInt(digits, 16);
  }

  private array(depth: number): LuaTable {
    const values: LuaValue[] = [];
    this.at++;
    if (this.skip() === ']') {
      this.at++;
      return new LuaTable(values);
    }
    for (;;) {
      values.push(this.value(depth + 1));
      const char = this.skip();
      this.at++;
      if (char === ']') return new LuaTable(values);
      if (char !== ',') this.fail('comma or the end of an array');
    }
  }

  private object(depth: number): LuaTable {
    const table = new LuaTable();
    this.at++;
    if (this.skip() === '}') {
      this.at++;
      return table;
    }
    for (;;) {
      if (this.skip() !== '"') this.fail('a key');
      const key = this.string();
      if (this.skip() !== ':') this.fail('a colon');
      this.at++;
      table.set(key, this.value(depth + 1));
      const char = this.skip();
      this.at++;
      if (char === '}') return table;
      if (char !== ',') this.fail('comma or the end of an object');
    }
  }
}
